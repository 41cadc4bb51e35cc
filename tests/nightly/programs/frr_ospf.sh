# FRR (OSPF): how long after a neighbour's last hello its route goes.
. "$(dirname "$0")/net.sh"
PATH=$PATH:/usr/lib/frr
two_hosts
ip -n b addr add 10.9.9.9/32 dev lo
TZ=UTC ip -n a -ts monitor route > monitor.txt &
$A tcpdump -tt -n -i a-b proto ospf -l > ospf.txt 2>/dev/null &
sleep 0.1
mkdir -p /var/run/frr /tmp/frr; chmod 777 /tmp/frr
for n in a b; do
    mkdir -p /var/run/frr/$n; chown frr:frr /var/run/frr/$n
    cat > /tmp/frr/$n.conf <<C
hostname $n
router ospf
 ospf router-id 1.1.1.$([ $n = a ] && echo 1 || echo 2)
 network 10.0.0.0/8 area 0
C
    for daemon in zebra ospfd; do
        ip netns exec $n $daemon -d -N $n -f /tmp/frr/$n.conf -i /tmp/frr/$n.$daemon --vty_socket /var/run/frr/$n
    done
done
sleep 100
$A ip route show 10.9.9.9 | grep -q 'via 10.0.0.2'
tc -n b qdisc add dev b-a root netem loss 100%
sleep 60
. "$(dirname "$0")/ospf_times.sh"

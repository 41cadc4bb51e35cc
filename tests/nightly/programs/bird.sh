# BIRD (OSPF): how long after a neighbour's last hello its route goes.
. "$(dirname "$0")/net.sh"
two_hosts
ip -n b addr add 10.9.9.9/32 dev lo
TZ=UTC ip -n a -ts monitor route > monitor.txt &
$A tcpdump -tt -n -i a-b proto ospf -l > ospf.txt 2>/dev/null &
sleep 0.1
for n in a b; do
    cat > /tmp/$n.conf <<C
router id 1.1.1.$([ $n = a ] && echo 1 || echo 2);
protocol device {}
protocol kernel { ipv4 { export all; }; }
protocol ospf v2 { ipv4 {}; area 0 { interface "*" { hello 10; dead 40; }; }; }
C
    ip netns exec $n bird -c /tmp/$n.conf -s /tmp/$n.ctl -P /tmp/$n.pid
done
sleep 100
$A birdc -s /tmp/a.ctl show ospf neighbors
$A ip route show 10.9.9.9 | grep -q 'via 10.0.0.2'
tc -n b qdisc add dev b-a root netem loss 100%
sleep 60
. "$(dirname "$0")/ospf_times.sh"

# FRR at a and BIRD at b (BGP): how long after the last message a withdraws what it learned. Hold time 9 s.
. "$(dirname "$0")/net.sh"
PATH=$PATH:/usr/lib/frr
two_hosts
TZ=UTC ip -n a -ts monitor route > monitor.txt &
$A tcpdump -tt -n -i a-b 'tcp port 179 and src 10.0.0.2 and greater 80' -l > bgp.txt 2>/dev/null &
sleep 0.1
mkdir -p /var/run/frr/a /tmp/frr; chmod 777 /tmp/frr; chown frr:frr /var/run/frr/a
cat > /tmp/frr/a.conf <<C
hostname a
router bgp 65001
 bgp router-id 1.1.1.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65002
 neighbor 10.0.0.2 timers 3 9
C
for daemon in zebra bgpd; do
    $A $daemon -d -N a -f /tmp/frr/a.conf -i /tmp/frr/$daemon --vty_socket /var/run/frr/a
done
cat > /tmp/b.conf <<C
router id 1.1.1.2;
protocol device {}
protocol static { ipv4; route 10.9.9.9/32 blackhole; }
protocol bgp { local 10.0.0.2 as 65002; neighbor 10.0.0.1 as 65001; hold time 9; keepalive time 3; ipv4 { import none; export all; }; }
C
$B bird -c /tmp/b.conf -s /tmp/b.ctl -P /tmp/b.pid
sleep 60
$A ip route show 10.9.9.9 | grep -q 'via 10.0.0.2'
tc -n b qdisc add dev b-a root netem loss 100%
sleep 30
last=$(awk '{ print $1 }' bgp.txt | tail -1)
gone=$(sed -n 's/^\[\(.*\)T\(.*\)\] Deleted 10\.9\.9\.9.*/\1 \2/p' monitor.txt | tail -1)
number withdrawn_after_s "$(awk -v a="$last" -v b="$(date -u -d "$gone" +%s.%N)" 'BEGIN { printf "%.3f\n", b - a }')"

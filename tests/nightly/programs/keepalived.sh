# keepalived (VRRP): how long after the master's last advertisement the backup takes over.
. "$(dirname "$0")/net.sh"
two_hosts
for n in a b; do
    if [ $n = a ]; then priority=150 peer=b; else priority=100 peer=a; fi
    cat > /tmp/k$n.conf <<C
global_defs {
    vrrp_skip_check_adv_addr
}
vrrp_instance V {
    state BACKUP
    interface $n-$peer
    virtual_router_id 51
    priority $priority
    advert_int 1
    virtual_ipaddress {
        10.0.0.100/24
    }
}
C
    ip netns exec $n keepalived -n -l -f /tmp/k$n.conf -p /tmp/k$n.pid -r /tmp/kv$n.pid --dont-fork > k$n.log 2>&1 &
done
$B tcpdump -tt -n -i b-a proto 112 -l > vrrp.txt 2>/dev/null &
sleep 20
$A tc qdisc add dev a-b root netem loss 100%
sleep 20
last=$(awk '/10.0.0.1 >/ { print $1 }' vrrp.txt | tail -1)
first=$(awk '/10.0.0.2 >/ { print $1 }' vrrp.txt | awk -v last=$last '$1 > last' | head -1)
number takeover_s "$(awk -v a=$last -v b=$first 'BEGIN { printf "%.6f\n", b - a }')"
$B ip -br addr show b-a | grep -q 10.0.0.100

# etcd: three members at a bridge, 5 ms each way to it; the leader is cut off, another is elected, and it comes back.
. "$(dirname "$0")/net.sh"
export ETCDCTL_API=3
ip link add br0 type bridge; ip link set br0 up
members="" endpoints=""
for i in 1 2 3; do
    members="$members,n$i=http://10.0.0.$i:2380"; endpoints="$endpoints,http://10.0.0.$i:2379"
    host n$i
    ip link add v$i type veth peer name eth0 netns n$i
    ip link set v$i master br0 up
    ip -n n$i addr add 10.0.0.$i/24 dev eth0; ip -n n$i link set eth0 up
    tc -n n$i qdisc add dev eth0 root netem delay 5ms rate 100mbit
done
members=${members#,} endpoints=${endpoints#,}
for i in 1 2 3; do
    ip netns exec n$i etcd --name n$i --data-dir /tmp/e$i --initial-cluster $members \
        --initial-advertise-peer-urls http://10.0.0.$i:2380 --listen-peer-urls http://10.0.0.$i:2380 \
        --advertise-client-urls http://10.0.0.$i:2379 --listen-client-urls http://10.0.0.$i:2379 > $i.log 2>&1 &
done
sleep 10
leader() { ip netns exec n$1 etcdctl --endpoints $2 endpoint status 2>/dev/null | awk -F, '$5 ~ /true/ { print $1 }' | sed 's/.*10.0.0.//; s/:.*//'; }
first=$(leader 1 $endpoints)
number leaders "$(echo "$first" | wc -w)"
ip netns exec n$first etcdctl --endpoints http://10.0.0.$first:2379 put a 0
number put_ms "$(milliseconds ip netns exec n$first etcdctl --endpoints http://10.0.0.$first:2379 put a 1)"
tc -n n$first qdisc change dev eth0 root netem delay 5ms rate 100mbit loss 100%
sleep 10
other=$((first % 3 + 1))
ip netns exec n$other etcdctl --endpoints http://10.0.0.$other:2379 put a 2
tc -n n$first qdisc change dev eth0 root netem delay 5ms rate 100mbit loss 0%
sleep 5
number read_at_the_old_leader "$(ip netns exec n$first etcdctl --endpoints http://10.0.0.$first:2379 get a --print-value-only)"

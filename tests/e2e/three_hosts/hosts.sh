#!/bin/sh
# The study's client, bottleneck and server as namespaces with its addresses, routes and names of interfaces (its figures
# 2 to 4), then `hosts.sh COMMAND...` on the client, which finds `ssh`, `scp`, `sudo` and `pkill` that mean these hosts.
# The two remote ones have processes and a /tmp of their own.
set -e

mkdir -p /run/hosts/bin
for host in client bottleneck server; do
    ip netns add $host
    ip -n $host link set lo up
done
for host in bottleneck server; do
    mkdir -p /run/hosts/$host/tmp
    ip netns exec $host unshare --pid --fork --mount-proc sh -c \
        "mount --bind /run/hosts/$host/tmp /tmp && touch /tmp/up && exec sleep infinity" &
    until test -e /run/hosts/$host/tmp/up; do sleep 0.01; done
    pgrep -P $! > /run/hosts/$host/pid
done

ip link add enp0s3 netns client type veth peer name enp0s3 netns bottleneck
ip link add enp0s8 netns bottleneck type veth peer name enp0s8 netns server
ip -n client addr add 192.168.56.104/24 dev enp0s3
ip -n bottleneck addr add 192.168.56.105/24 dev enp0s3
ip -n bottleneck addr add 192.168.214.103/24 dev enp0s8
ip -n server addr add 192.168.214.104/24 dev enp0s8
for end in "client enp0s3" "bottleneck enp0s3" "bottleneck enp0s8" "server enp0s8"; do
    ip -n ${end% *} link set ${end#* } up
done
ip -n client route add default via 192.168.56.105
ip -n server route add 192.168.56.0/24 via 192.168.214.103
ip netns exec bottleneck sysctl -q -w net.ipv4.ip_forward=1

cat > /run/hosts/bin/host_of <<'end'
#!/bin/sh
case ${1#*@} in
192.168.56.104) echo client ;;
192.168.56.105 | 192.168.214.103) echo bottleneck ;;
192.168.214.104) echo server ;;
*) echo "no such host: $1" >&2; exit 255 ;;
esac
end
cat > /run/hosts/bin/enter <<'end'
#!/bin/sh
host=$1; shift
if [ "$host" = client ]; then exec ip netns exec client "$@"; fi
exec nsenter -t "$(cat /run/hosts/$host/pid)" --net --pid --mount "$@"
end
cat > /run/hosts/bin/ssh <<'end'
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$(host_of "$1") || exit 255; shift
exec enter "$host" bash -c "$*"
end
cat > /run/hosts/bin/scp <<'end'
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$(host_of "${1%%:*}") || exit 255
exec cp "/run/hosts/$host${1#*:}" "$2"
end
cat > /run/hosts/bin/sudo <<'end'
#!/bin/sh
exec "$@"
end
cat > /run/hosts/bin/pkill <<'end'
#!/bin/sh
exec /usr/bin/pkill --ns $$ --nslist pid "$@"
end
chmod +x /run/hosts/bin/*
PATH=/run/hosts/bin:$PATH

# The study's machines had network cards; a veth without a rate has none, and iperf3 -u -b 0 would send for ever.
enter client tc qdisc add dev enp0s3 root tbf rate 10mbit burst 15140 limit 2mb
# Its table 40: 3 Mbit/s and a queue of its choice.
enter bottleneck tc qdisc add dev enp0s8 root handle 1: tbf rate 3mbit burst 32kbit latency 50ms
enter bottleneck tc qdisc add dev enp0s8 parent 1: handle 10: ${QUEUE:-fq_codel}
exec enter client "$@"

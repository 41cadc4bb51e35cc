# Networks and measurements that the scripts beside this file share.
set -e
A="ip netns exec a"; B="ip netns exec b"; C="ip netns exec c"

# host NAME: a namespace with its loopback up.
host() { ip netns add "$1"; ip -n "$1" link set lo up; }

# wire NAME NAME NETWORK DELAY RATE: a link between two hosts, 10.0.NETWORK.1 and .2, with a delay and a rate each way.
# Segments are as on a wire, so times can be calculated; and each end knows the other's address already.
wire() {
    ip link add "$1-$2" netns "$1" type veth peer name "$2-$1" netns "$2"
    _end "$1" "$2" "10.0.$3.1" "$4" "$5"; _end "$2" "$1" "10.0.$3.2" "$4" "$5"
    _know "$1" "$2" "10.0.$3.2"; _know "$2" "$1" "10.0.$3.1"
}
_end() {
    ip netns exec "$1" ethtool -K "$1-$2" tso off gso off gro off >/dev/null 2>&1
    ip -n "$1" addr add "$3/24" dev "$1-$2"; ip -n "$1" link set "$1-$2" up
    if [ -n "$4" ]; then tc -n "$1" qdisc add dev "$1-$2" root netem delay "$4" rate "$5" limit 2000; fi
}
_know() {
    ip -n "$1" neigh replace "$3" dev "$1-$2" nud permanent \
        lladdr "$(ip -n "$2" -br link show "$2-$1" | awk '{print $3}')"
}

# two_hosts [DELAY RATE]: a (10.0.0.1) and b (10.0.0.2).
two_hosts() { host a; host b; wire a b 0 "$1" "$2"; }

# three_hosts DELAY RATE: a - b - c, with 10.0.0.1, 10.0.0.2 and 10.0.1.1, 10.0.1.2.
three_hosts() { host a; host b; host c; wire a b 0 "$1" "$2"; wire b c 1 "$1" "$2"; }

# number NAME VALUE: what programs.toml compares.
number() { printf '%s = %s\n' "$1" "$2"; }

# milliseconds COMMAND...: how long it takes, with three digits; its output goes to standard error.
milliseconds() {
    _begin=$(date +%s%N); "$@" >&2; _end=$(date +%s%N)
    awk -v ns=$((_end - _begin)) 'BEGIN { printf "%.3f\n", ns / 1e6 }'
}

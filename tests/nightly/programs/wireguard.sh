# WireGuard: a handshake, then echo requests through the tunnel.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
umask 077
for n in a b; do wg genkey > /tmp/$n.key; wg pubkey < /tmp/$n.key > /tmp/$n.pub; done
for n in a b; do
    if [ $n = a ]; then peer=b own=1 other=2; else peer=a own=2 other=1; fi
    ip -n $n link add wg0 type wireguard
    ip netns exec $n wg set wg0 listen-port 51820 private-key /tmp/$n.key \
        peer "$(cat /tmp/$peer.pub)" allowed-ips 10.8.0.$other/32 endpoint 10.0.0.$other:51820
    ip -n $n addr add 10.8.0.$own/24 dev wg0; ip -n $n link set wg0 up
done
$A ping -c 1 -W 5 10.8.0.2 > first.txt
number first_ping_ms "$(awk -F'time=' '/time=/ { print $2 + 0 }' first.txt)"
$A ping -c 5 -i 0.5 -W 5 10.8.0.2 | tee ping.txt
number ping_avg_ms "$(awk -F/ '/^rtt/ { print $5 }' ping.txt)"

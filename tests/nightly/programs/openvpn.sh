# OpenVPN with a shared key: echo requests through the tunnel.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
openvpn --genkey secret /tmp/key
common="--dev tun --proto udp --secret /tmp/key --cipher AES-256-CBC --auth SHA256 --verb 1"
$A openvpn $common --local 10.0.0.1 --remote 10.0.0.2 --ifconfig 10.8.0.1 10.8.0.2 > a.log 2>&1 &
$B openvpn $common --local 10.0.0.2 --remote 10.0.0.1 --ifconfig 10.8.0.2 10.8.0.1 > b.log 2>&1 &
sleep 10
$A ping -c 5 -i 0.5 -W 5 10.8.0.2 | tee ping.txt
number ping_avg_ms "$(awk -F/ '/^rtt/ { print $5 }' ping.txt)"
number received "$(awk '/received/ { print $4 }' ping.txt)"

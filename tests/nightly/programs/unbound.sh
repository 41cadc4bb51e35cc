# unbound: a resolver at b that forwards to one at c, which has the data; b's second answer comes from its cache.
. "$(dirname "$0")/net.sh"
three_hosts 10ms 100mbit
common='do-daemonize: no
    username: ""
    chroot: ""
    pidfile: ""
    use-syslog: no
    do-not-query-localhost: no
    module-config: "iterator"
    access-control: 0.0.0.0/0 allow'
cat > /tmp/c.conf <<C
server:
    interface: 10.0.1.2
    $common
    local-zone: "example." static
    local-data: "www.example. 300 IN A 192.0.2.1"
C
cat > /tmp/b.conf <<C
server:
    interface: 10.0.0.2
    $common
forward-zone:
    name: "."
    forward-addr: 10.0.1.2
C
$C unbound -d -c /tmp/c.conf 2>c.log &
$B unbound -d -c /tmp/b.conf 2>b.log &
sleep 10
for which in forwarded cached; do
    $A dig +tries=1 +noedns @10.0.0.2 www.example. A > $which.txt
    number ${which}_ms "$(awk '/Query time/ { print $4 }' $which.txt)"
done
grep -q 192.0.2.1 cached.txt

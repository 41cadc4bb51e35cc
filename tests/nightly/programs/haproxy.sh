# HAProxy at b in front of nginx at c: connections on both sides, a request through both.
. "$(dirname "$0")/net.sh"
three_hosts 10ms 100mbit
cat > /tmp/nginx.conf <<C
daemon off; master_process off; pid /tmp/nginx.pid; error_log stderr; user root;
events { }
http { access_log off; server { listen 10.0.1.2:80; location / { return 200 "hello\n"; } } }
C
cat > /tmp/haproxy.cfg <<C
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
frontend f
    bind 10.0.0.2:8080
    default_backend s
backend s
    http-reuse always
    server c 10.0.1.2:80
C
$C nginx -c /tmp/nginx.conf &
$B haproxy -q -f /tmp/haproxy.cfg &
sleep 1
$A curl -s -o one.txt -w '%{time_total}\n' http://10.0.0.2:8080/ > time.txt
grep -q hello one.txt
number first_request_ms "$(awk '{ printf "%.3f\n", $1 * 1000 }' time.txt)"
# The second finds a connection to c, which HAProxy keeps.
$A curl -s -o two.txt -w '%{time_total}\n' http://10.0.0.2:8080/ > time.txt
number second_request_ms "$(awk '{ printf "%.3f\n", $1 * 1000 }' time.txt)"

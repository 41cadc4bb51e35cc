# aioquic: an HTTP/3 request over a fresh connection, and one over the same connection.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=b \
    -keyout /tmp/key.pem -out /tmp/cert.pem 2>/dev/null
here=$(dirname "$0")
$B "$PYTHON" "$here/http3.py" server &
sleep 2
$A "$PYTHON" "$here/http3.py" client

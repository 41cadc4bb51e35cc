# Go: net/http at both ends, two requests over one connection. The program is compiled on the host (programs.toml).
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
$B ./http_requests server &
sleep 1
$A ./http_requests client

# Redis: requests of one client, one after another.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 100mbit
$B redis-server --bind 10.0.0.2 --protected-mode no --save '' --daemonize yes --dir /tmp >/dev/null
sleep 1
$A redis-cli -h 10.0.0.2 set key value
$A redis-benchmark -h 10.0.0.2 -c 1 -n 100 -t get --csv | tee out.csv
number get_p50_ms "$(awk -F'"' '/GET/ { print $10 }' out.csv)"
number get_max_ms "$(awk -F'"' '/GET/ { print $16 }' out.csv)"

# From what tcpdump and `ip -ts monitor` wrote: from b's last packet to the end of its route at a.
last=$(awk '/10.0.0.2 >/ { print $1 }' ospf.txt | tail -1)
gone=$(sed -n 's/^\[\(.*\)T\(.*\)\] Deleted 10\.9\.9\.9.*/\1 \2/p' monitor.txt | tail -1)
number dead_after_s "$(awk -v a="$last" -v b="$(date -u -d "$gone" +%s.%N)" 'BEGIN { printf "%.3f\n", b - a }')"

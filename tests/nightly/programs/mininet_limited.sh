# Mininet's example simpleperf.py: hosts with a share of the CPU each, links of 10 Mbit/s.
. "$(dirname "$0")/net.sh"
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-monitor >&2
/usr/bin/python3 /usr/share/doc/mininet/examples/simpleperf.py testmode > lab.txt 2>&1
cat lab.txt >&2
number hosts "$(grep -c '^h[0-9]* h[0-9]*-eth0:s1-eth' lab.txt)"
number received_mbps "$(sed -n "s/.*Results: \['[^']*', '\([0-9.]*\) Mbits.*/\1/p" lab.txt)"

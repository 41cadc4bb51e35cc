# Mininet's example simpleperf.py: hosts with a share of the CPU each, links of 10 Mbit/s.
. "$(dirname "$0")/net.sh"
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-monitor >&2
# Mininet 2.3.0 knows control groups of version 1 only, and mounts cpuset by itself.
umount /sys/fs/cgroup; mount -t tmpfs cgroup /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpu; mount -t cgroup -o cpu,cpuacct cpu /sys/fs/cgroup/cpu
/usr/bin/python3 /usr/share/doc/mininet/examples/simpleperf.py testmode > lab.txt 2>&1
cat lab.txt >&2
number hosts "$(grep -c '^h[0-9]* h[0-9]*-eth0:s1-eth' lab.txt)"
number received_mbps "$(sed -n "s/.*Results: \['[^']*', '\([0-9.]*\) Mbits.*/\1/p" lab.txt)"

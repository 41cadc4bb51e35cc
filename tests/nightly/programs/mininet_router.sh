# Mininet's example linuxrouter.py, whose prompt is asked for two things.
. "$(dirname "$0")/net.sh"
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-monitor >&2
printf 'pingall\nr0 ip -br addr\n' | /usr/bin/python3 /usr/share/doc/mininet/examples/linuxrouter.py > lab.txt 2>&1
number dropped_percent "$(sed -n 's/.*Results: \([0-9]*\)% dropped.*/\1/p' lab.txt)"
number received "$(sed -n 's/.*dropped (\([0-9]*\)\/.*/\1/p' lab.txt)"

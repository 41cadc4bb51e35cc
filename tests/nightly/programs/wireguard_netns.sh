# The kernel's own test of WireGuard (tools/testing/selftests/wireguard/netns.sh).
. "$(dirname "$0")/net.sh"
code=0
bash ./netns.sh > /tmp/said.txt 2>&1 || code=$?
tail -5 /tmp/said.txt >&2
number exit_code "$code"

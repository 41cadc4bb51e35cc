# The kernel's own packetdrill scripts (tools/testing/selftests/net/packetdrill), at a tolerance of 100 us instead of 4 ms.
# Each prints KTAP, for IPv4 and IPv6.
. "$(dirname "$0")/net.sh"
real=$(command -v packetdrill)
mkdir /tmp/bin; printf '#!/bin/sh\nexec %s --tolerance_usecs=100 "$@"\n' "$real" > /tmp/bin/packetdrill
chmod +x /tmp/bin/packetdrill; PATH=/tmp/bin:$PATH
cd selftests/net/packetdrill
for script in *.pkt; do
    bash ./ksft_runner.sh "$script" > "/tmp/$script.txt" 2> "/tmp/$script.err" || true
    sed "s/^\(\(not \)\?ok [0-9]*\) /\1 $script /" "/tmp/$script.txt"
    cat "/tmp/$script.err" >&2
done > /tmp/all.txt
cat /tmp/all.txt
number passed "$(grep -c '^ok ' /tmp/all.txt || true)"
number failed "$(grep -c '^not ok ' /tmp/all.txt || true)"

# The kernel's own tests of queueing disciplines (tools/testing/selftests/tc-testing), which print TAP.
. "$(dirname "$0")/net.sh"
cp -r tc-testing /tmp; cd /tmp/tc-testing
files=$(printf 'tc-tests/qdiscs/%s.json ' choke codel drr fifo fq fq_codel hhf pfifo_fast prio red sfb sfq tbf)
/usr/bin/python3 tdc.py -f $files > tests.txt 2> messages.txt || true
cat tests.txt
number passed "$(grep -c '^ok ' tests.txt)"
number failed "$(grep -c '^not ok ' tests.txt || true)"

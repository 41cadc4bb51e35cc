# ffmpeg: ten seconds of video over RTP, which are sent as they are due.
. "$(dirname "$0")/net.sh"
two_hosts 10ms 10mbit
$B tcpdump -tt -n -i b-a udp port 5004 -l > rtp.txt 2>/dev/null &
sleep 1
$A ffmpeg -hide_banner -loglevel error -re -f lavfi -i testsrc=size=320x240:rate=10 -t 10 -threads 1 \
    -c:v mpeg2video -f rtp rtp://10.0.0.2:5004 > session.sdp
sleep 1
number stream_s "$(awk 'NR == 1 { first = $1 } { last = $1 } END { printf "%.3f\n", last - first }' rtp.txt)"

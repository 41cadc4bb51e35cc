# ffmpeg: how much virtual time its start takes, for which a library reads the clock 131,072 times.
. "$(dirname "$0")/net.sh"
number version_ms "$(milliseconds ffmpeg -version)"

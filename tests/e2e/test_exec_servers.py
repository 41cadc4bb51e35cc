"""Real servers and clients between two namespaces, compared with calculated times: twice with the same bytes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from e2e_exec import twice

WIRE = """
set -e
ip netns add client; ip netns add server
ip link add c0 netns client type veth peer name s0 netns server
ip -n client addr add 10.0.0.1/24 dev c0; ip -n server addr add 10.0.0.2/24 dev s0
for end in "client c0" "server s0"; do
    set -- $end
    ip -n $1 link set lo up; ip -n $1 link set $2 up
    ip netns exec $1 ethtool -K $2 tso off gso off
done
"""
"""Two namespaces and a veth. Its packets are not merged, so that tc counts as many bytes as a wire would carry."""

WEB = """
tc -n server qdisc add dev s0 root tbf rate 10mbit burst 1514 limit 1mb
tc -n client qdisc add dev c0 root netem delay 20ms
mkdir /run/web; head -c {size} /dev/zero > /run/web/file
cat > /run/nginx.conf <<end
pid /run/nginx.pid;
error_log stderr;
events {{}}
http {{ access_log off; server {{ listen 10.0.0.2:80; root /run/web; }} }}
end
ip netns exec server nginx -c /run/nginx.conf
ip netns exec client ping -c 1 10.0.0.2 >&2    # so that ARP has been done
ip netns exec client curl -sS -o /dev/null -w '%{{json}}' http://10.0.0.2/file
kill $(cat /run/nginx.pid)
"""

RTT_S, BIT_S = 0.020, 1 / 10e6
HEADERS_BYTES, MSS_BYTES, FRAME_BYTES = 66, 1448, 1514
"""Ethernet, IPv4 and TCP with timestamps; the rest of 1514 bytes."""

INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""


def transfer_s(payload_bytes: int) -> float:
    """When the last byte of an HTTP response arrives, counted from the beginning of the connection.

    The handshake and the request take a round trip each. The first window of 10 segments is shorter than the path, so
    the bottleneck is idle until the first ACK is back; from then on it is busy, since slow start doubles the
    20 segments of the second round trip, and the path holds 16.5. The token bucket lets one frame through at once; the
    server's ACK of the request has taken 66 of its bytes, for which the first segment waits.
    """
    first_s = 2 * RTT_S + HEADERS_BYTES * 8 * BIT_S
    wire_bytes = payload_bytes + math.ceil(payload_bytes / MSS_BYTES) * HEADERS_BYTES
    remaining_bytes = wire_bytes - (INITIAL_WINDOW + 1) * FRAME_BYTES
    return first_s + RTT_S + remaining_bytes * 8 * BIT_S


@pytest.mark.parametrize("size", [200_000, 2_000_000])
def test_nginx_and_curl(size: int, tmp_path: Path) -> None:
    """The kernel keeps a token's price in whole units of 64 ns, which is up to 0.2 µs a frame."""
    made = twice(tmp_path, "sh", "-c", WIRE + WEB.format(size=size))
    measured: dict[str, Any] = json.loads((made / "command.out").read_text())
    assert measured["size_download"] == size
    assert measured["time_connect"] == pytest.approx(RTT_S, abs=1e-6)
    assert measured["time_starttransfer"] == pytest.approx(2 * RTT_S + HEADERS_BYTES * 8 * BIT_S, abs=2e-6)
    assert measured["time_total"] == pytest.approx(transfer_s(size + measured["size_header"]), rel=2e-4)


IRTT = """
tc -n client qdisc add dev c0 root netem delay 10ms
tc -n server qdisc add dev s0 root netem delay 10ms
ip netns exec server irtt server >&2 &
sleep 1
ip netns exec client irtt client --tstamp=midpoint -i 20ms -d 5s -q -o - 10.0.0.2
kill $!
"""


def test_irtt(tmp_path: Path) -> None:
    """Every one of the 250 round trips takes 20 ms to the nanosecond, and half of that in each direction."""
    made = twice(tmp_path, "sh", "-c", WIRE + IRTT)
    stats = json.loads((made / "command.out").read_text())["stats"]
    for name, delay_ns in (("rtt", 20_000_000), ("send_delay", 10_000_000), ("receive_delay", 10_000_000)):
        assert (stats[name]["n"], stats[name]["min"], stats[name]["max"]) == (250, delay_ns, delay_ns), name
    assert stats["packet_loss_percent"] == 0


OWN_IRTT = """#!/bin/sh
case $1 in
client) shift; exec /usr/bin/irtt client --tstamp=midpoint "$@" ;;
*) exec /usr/bin/irtt "$@" ;;
esac
"""
"""flent cannot pass the option (docs/exec.md)."""
FLENT = """
set -e
for node in client router server; do ip netns add $node; done
ip link add c0 netns client type veth peer name r0 netns router
ip link add s0 netns server type veth peer name r1 netns router
for end in "client c0 10.0.1.1" "router r0 10.0.1.2" "router r1 10.0.0.1" "server s0 10.0.0.2"; do
    set -- $end
    ip -n $1 addr add $3/24 dev $2; ip -n $1 link set lo up; ip -n $1 link set $2 up
    ip netns exec $1 ethtool -K $2 tso off gso off gro off
done
ip -n client route add default via 10.0.1.2; ip -n server route add default via 10.0.0.1
ip netns exec router sysctl -qw net.ipv4.ip_forward=1
tc -n server qdisc add dev s0 root netem delay 20ms
tc -n router qdisc add dev r1 root tbf rate 10mbit burst 1514 limit 151400
ip netns exec server irtt server >&2 &
ip netns exec server iperf3 -s -D >&2
export PATH=$PWD:$PATH
sleep 1
ip netns exec client ping -c 1 10.0.0.2 >&2    # so that ARP has been done
measure() {
    ip netns exec client flent $1 -H 10.0.0.2 -l 5 -D . >&2
    gunzip -c $1-*.flent.gz > $2.json
    rm $1-*.flent.gz
}
measure ping idle
measure voip voip
ip netns exec client iperf3 -c 10.0.0.2 -t 30 >&2 &
sleep 10
measure ping loaded
"""


@pytest.mark.nightly
def test_flent(tmp_path: Path) -> None:
    """Its tests that need no netperf: 20 ms to the nanosecond, and up to 100 frames more in a queue that TCP fills."""
    (tmp_path / "work").mkdir()
    own = tmp_path / "work/irtt"
    own.write_text(OWN_IRTT)
    own.chmod(0o755)
    made = twice(tmp_path, "sh", "-c", FLENT)

    def values(name: str) -> dict[str, list[float]]:
        results = json.loads((made / f"files/{name}.json").read_text())["results"]
        return {series: [one for one in ms if one is not None] for series, ms in results.items()}

    idle, voip, loaded = (values(name) for name in ("idle", "voip", "loaded"))
    assert set(idle) == set(loaded) == {"Ping (ms) ICMP", "Ping (ms) UDP"}
    for series, ms in idle.items():
        assert len(ms) >= 20, series
        assert set(ms) == {20.0}, series
    assert set(voip["VoIP::rtt"]) == {20.0}
    frames_ms = 100 * FRAME_BYTES * 8 * BIT_S * 1e3
    for series, ms in loaded.items():
        # CUBIC's window falls to 0.7 of what path and queue hold, 117 packets.
        assert 20 + 0.5 * frames_ms < min(ms) < max(ms) < 20 + 1.01 * frames_ms, series
    means = [sum(ms) / len(ms) for ms in loaded.values()]
    assert means[0] == pytest.approx(means[1], rel=0.05)

"""Values from arithmetic: transmission times, and goodput after headers."""

from __future__ import annotations

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import by_axis, metric
from netwarp.verify.row import Family, Range, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, FRAME_BYTES, SEGMENT_BYTES, dumbbell, flow, frame_ms

_RATES_MBPS = {"1mbit": 1, "10mbit": 10, "100mbit": 100}
_LIMITS = (20, 60, 100)
_SIZES = {56: 98, 1472: 1514}
"""Payload of an echo request → its frame: 14 of Ethernet, 20 of IPv4 and 8 of ICMP more."""
_SEGMENTS = {10: 1, 30: 2, 70: 3, 150: 4, 310: 5}
"""Segments → rounds of slow start from an initial window of 10, which doubles: 10, 20, 40, 80, 160."""
_RTT_MS = 100.0
_CAKE = {"ethernet": 1538, "bridged-ptm": 1546, "pppoe-ptm": 1554, "pppoe-llcsnap": 1749}
"""Keyword of tc-cake(8) → the bytes that it counts for an IP packet of 1500: an overhead of 38, 22, 30 and 40, of which
PTM's codes add one byte to every 64, and ATM fills whole cells of 48 bytes, of 53 on the line."""
_SHAPED_MBPS = 20
_PAYLOAD_BYTES = 1500 - 28


def _rtt_ms(run: RunDir) -> float | None:
    """The round trip that is farthest from the expected one."""
    times = run.scan("pings").collect()["rtt_ns"].drop_nulls().to_list()
    expected = _round_trip_ms(int(str(run.description.point["flows.ping.size"])))
    return max((one / 1e6 for one in times), key=lambda one: abs(one - expected), default=None)


def _round_trip_ms(size: int) -> float:
    return 2 * (10 + frame_ms(10, _SIZES[size]) + frame_ms(1000, _SIZES[size]))


def _rounds(run: RunDir) -> float | None:
    """The rounds that a transfer took, in RTTs: a handshake, all rounds but the last, and half an RTT for the last."""
    ends = run.scan("transfers").collect()
    if ends.height != 1 or ends["end_ns"][0] is None:
        return None
    return float(ends["end_ns"][0] - ends["start_ns"][0]) / 1e6 / _RTT_MS - 0.5


FAMILY = Family(
    "Arithmetic",
    (
        Row(
            "goodput",
            "A TCP flow alone on a link gets the part of the rate that headers leave: 1448 of 1514 bytes.",
            "RFC 9293 and RFC 7323: 20 bytes and 12 of timestamps; RFC 894: 14 of Ethernet",
            "Mbit/s",
            {rate: mbps * SEGMENT_BYTES / FRAME_BYTES for rate, mbps in _RATES_MBPS.items()},
            share(0.001, "payload is counted in segments, at 1 Mbit/s 2,480 of them"),
            dumbbell(
                "goodput",
                flows=flow("bulk", "bulk"),
                duration="40s",
                warmup="10s",
                sweep='"links.bottleneck.rate" = ["1mbit", "10mbit", "100mbit"]',
            ),
            metric("flow", "bulk", "goodput_mbps", "links.bottleneck.rate"),
        ),
        Row(
            "full-fifo",
            "A packet that takes the last place of a tail-drop queue waits for those before it.",
            "arithmetic: the limit × 1514 × 8 / 10 Mbit/s, less the part of the packet in service that is already sent",
            "ms",
            {f"pfifo limit {limit}": (limit - 0.5) * frame_ms(10) for limit in _LIMITS},
            within(frame_ms(10) / 2, "the packet in service has between none and all of its bits sent"),
            dumbbell(
                "full-fifo",
                flows=flow("bulk", "bulk"),
                duration="30s",
                sweep=f'"links.bottleneck.queue" = {[f"pfifo limit {limit}" for limit in _LIMITS]}',
            ),
            metric("queue", BOTTLENECK, "sojourn_ms_max", "links.bottleneck.queue"),
        ),
        Row(
            "lone-packet",
            "A packet alone takes the delay of each link, and the time of its frame on it.",
            "arithmetic: 2 × (10 ms + 8 × frame / 10 Mbit/s + 8 × frame / 1 Gbit/s)",
            "ms",
            {str(size): _round_trip_ms(size) for size in _SIZES},
            within(0.001, "times are whole ns at each of four links; programs take no time"),
            dumbbell(
                "lone-packet",
                flows=flow("ping", "ping", interval="100ms", size=56),
                duration="5s",
                sweep='"flows.ping.size" = [56, 1472]',
            ),
            by_axis("flows.ping.size", _rtt_ms),
            phases="it is the time of single packets to 1 µs",
        ),
        Row(
            "initial-window",
            "A sender begins with ten segments, and doubles them each round trip.",
            "RFC 6928, section 2; RFC 5681, section 3.1",
            "RTT",
            {str(segments * SEGMENT_BYTES): float(rounds) for segments, rounds in _SEGMENTS.items()},
            Range(0.001, 0.05, "310 frames take 0.04 RTT on the link of 1 Gbit/s"),
            dumbbell(
                "initial-window",
                flows=flow("bulk", "bulk", cc="reno", bytes=14480),
                duration="2s",
                rate="1gbit",
                delay="50ms",
                queue="pfifo limit 1000",
                sweep=f'"flows.bulk.bytes" = {[segments * SEGMENT_BYTES for segments in _SEGMENTS]}',
            ),
            by_axis("flows.bulk.bytes", _rounds),
            explained=Range(
                0.001,
                0.05 + 2 * 0.4,
                "the receiver delays the ACK of a segment without a second one by 40 ms (RFC 9293, 3.8.6.3; "
                "TCP_DELACK_MIN), 0.4 RTT, once it has left its quick ACKs; no transfer here has more than two",
            ),
        ),
        Row(
            "cake-overhead",
            "CAKE's shaper counts the bytes of the line, and a payload of 1472 of them gets what framing leaves.",
            "tc-cake(8), overhead keywords; net/sched/sch_cake.c, cake_calc_overhead()",
            "share of the rate",
            {f"cake bandwidth {_SHAPED_MBPS}mbit {word}": _PAYLOAD_BYTES / on_line for word, on_line in _CAKE.items()},
            within(1e-4, "one datagram more or less is 1e-5 of what is sent in 50 s"),
            dumbbell(
                "cake-overhead",
                flows=flow("udp", "cbr", rate="30mbit"),
                duration="60s",
                warmup="10s",
                rate="100mbit",
                sweep=f'"links.bottleneck.queue" = {[f"cake bandwidth {_SHAPED_MBPS}mbit {word}" for word in _CAKE]}',
            ),
            metric("flow", "udp", "goodput_mbps", "links.bottleneck.queue", 1 / _SHAPED_MBPS),
        ),
    ),
)

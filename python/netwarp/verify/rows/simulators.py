"""Other implementations: values that ns-3 and the authors of kernel changes have published."""

from __future__ import annotations

from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow

_NS3 = "ns-3 3.37, TcpCubic: 10 Mbit/s, round trip of 20 ms, a FIFO of 100 packets, one flow for 60 s"
_PHASE = "two implementations of one standard: each loss may come a packet earlier or later"
_CUBIC = dumbbell("ns3-cubic", flows=flow("bulk", "bulk", cc="cubic"), duration="60s", warmup="20s")
_HYSTART = dumbbell(
    "hystart-published",
    flows=flow("bulk", "bulk", to="h3", cc="cubic"),
    duration="1500ms",
    rate="50mbit",
    delay="75ms",
    queue="pfifo limit 619",
    more='[run]\nstart_jitter = "0ms"\n[nodes.h3]\n[links.last]\nends = ["h2", "h3"]\nrate = "1gbit"\noffload = true',
    settings=("links.access.offload=true", "nodes.h2.forward=true"),
)

FAMILY = Family(
    "Other implementations",
    (
        Row(
            "ns3-cubic-goodput",
            "A flow of CUBIC alone has the goodput that ns-3 gives it.",
            _NS3,
            "Mbit/s",
            {"goodput_mbps": 9.564},
            share(0.001, "the link is never idle, so this is arithmetic in both"),
            _CUBIC,
            metric("flow", "bulk", "goodput_mbps"),
        ),
        Row(
            "ns3-cubic-queue",
            "Its queue has the mean and the least length that ns-3's has.",
            _NS3,
            "packets",
            {"length_pkts_mean": 83.4, "length_pkts_min": 63.0},
            within(2, _PHASE),
            _CUBIC,
            lambda run: {
                **metric("queue", BOTTLENECK, "length_pkts_mean")(run),
                **metric("queue", BOTTLENECK, "length_pkts_min")(run),
            },
        ),
        Row(
            "ns3-cubic-window",
            "Its window has the mean that ns-3's has.",
            _NS3,
            "packets",
            {"cwnd_pkts_mean": 102.5},
            within(2, _PHASE),
            _CUBIC,
            metric("flow", "bulk", "cwnd_pkts_mean"),
        ),
        Row(
            "hystart-published",
            "With 150 ms, 50 Mbit/s and a queue of as much, HyStart's ACK train ends slow start at 632 packets.",
            "message of the upstream change 25c1a9ca53db, tcp_cubic: fix incorrect HyStart round start detection",
            "packets",
            {"cwnd_pkts_slow_start_end": 632.0},
            within(6, "an ACK here is for two packets or more, and a flight begins a packet earlier or later: 1 %"),
            _HYSTART,
            metric("flow", "bulk", "cwnd_pkts_slow_start_end"),
        ),
    ),
)

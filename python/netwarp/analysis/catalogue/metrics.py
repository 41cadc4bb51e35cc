"""Every metric by name: its meaning, its formula, the weight of a value, and its source table.

An entry also has the direction that is better, and the smallest difference that matters.

`make generate` writes it as docs/metrics.md (tools/metrics_page.py).
"""

from netwarp.analysis.catalogue.energy_entries import (
    FLOW_ENERGY_ENTRIES,
    LINK_ENTRIES,
    NODE_ENTRIES,
    RUN_ENTRIES,
)
from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry
from netwarp.analysis.catalogue.flow_entries import FLOW_ENTRIES
from netwarp.analysis.catalogue.mptcp_entries import SUBFLOW_ENTRIES

_SPREAD = "mean, percentiles and maximum of "

CATALOGUE: dict[str, tuple[Entry, ...]] = {
    "flow": (*FLOW_ENTRIES, *FLOW_ENERGY_ENTRIES),
    "subflow": SUBFLOW_ENTRIES,
    "queue": (
        entry(
            "sojourn_ms: mean p50 p95 p99 max",
            "dequeue_ns − enqueue_ns of packets that left the queue in the window to be sent",
            "packets",
            "`packets`",
            better=LOWER,
            min_effect=(0.05, 0.1),
            basis="all packets; from arrival at the queue to departure; those that left in the run's window",
            axis=Axis("time in the queue", "ms"),
            spread="packets",
            overview="sojourn_ms_p95",
            topic="queue",
        ),
        entry(
            "length_pkts: min mean max",
            "length of the queue in packets (an aggregate counts as its segments, with exact records "
            "only); an unused queue has 0. Under one flow, with a warm-up that leaves slow "
            "start out, the minimum is the "
            "sawtooth's valley",
            "time",
            "`packets`, else `queues`",
            min_effect=(0.05, 1),
            basis="all packets in the queue, headers and all traffic included; after each arrival and departure; "
            "the run's window",
            axis=Axis("queue length", "packets"),
            main={"length_pkts_mean": "queue mean\npackets"},
            spread="time",
            overview="length_pkts_mean",
            topic="queue",
        ),
        entry(
            "drops",
            "packets dropped in the window, on arrival or later; an aggregate counts as its segments (if sampled, as "
            "one)",
            "sum",
            "`packets`, else `queues`",
            min_effect=(0.2, 5),
            basis="all packets; when they are dropped; the run's window",
            axis=Axis("dropped packets", "packets"),
            digits=0,
            main={"drops": "drops"},
        ),
        entry(
            "drops: REASON",
            "of these, by the kernel's reason (docs/records.md)",
            "sum",
            "`packets`",
            min_effect=(0.2, 5),
            basis="the same",
            axis=Axis("dropped packets", "packets"),
        ),
        entry(
            "marks",
            "packets that arrived without a mark and left with Congestion Experienced; an "
            "aggregate counts as its segments",
            "sum",
            "`packets`",
            min_effect=(0.2, 5),
            basis="all packets; when they leave; the run's window",
            axis=Axis("marked packets", "packets"),
        ),
        entry(
            "drop_pct",
            "100 × packets dropped in the window / packets that arrived in it",
            "packets",
            "`packets`",
            min_effect=(0.2, 0.05),
            basis="the same as `drops`",
            axis=Axis("drop", "%"),
        ),
        entry(
            "mark_pct",
            "100 × packets marked / packets that left to be sent, in the window",
            "packets",
            "`packets`",
            min_effect=(0.2, 0.05),
            basis="the same as `marks`",
            axis=Axis("mark", "%"),
        ),
    ),
    "place": (
        entry(
            "drops",
            "packets dropped in the window anywhere but in a queue; the name says where: `bottleneck:r1 egress "
            "filter`, `… ingress filter`, `… input` (no route, TTL, header checksum), `… output`; `h2 closed port`, "
            "`h2 receive buffer`, `h2 checksum`, `h2 transport`. Only places where something was dropped have a row. "
            "Losses on a wire do not count, nor what TCP discards because it is a duplicate "
            "or its connection is closed",
            "sum",
            "`drops`",
            min_effect=(0.2, 5),
            basis="all packets of the wire; when they are dropped; the run's window",
            axis=Axis("dropped packets", "packets"),
        ),
        entry(
            "drops: REASON",
            "of these, by the kernel's reason (docs/records.md)",
            "sum",
            "`drops`",
            min_effect=(0.2, 5),
            basis="the same",
            axis=Axis("dropped packets", "packets"),
        ),
    ),
    "link": (
        entry(
            "utilisation",
            "bits sent in frames with their Ethernet header (for an aggregate, one for each segment) / "
            "what the rate allows in the window, 0 to 1; for a link with a Mahimahi trace, packets as "
            "its opportunities count them "
            "(IP and 4 bytes) / 1504 bytes for each opportunity in the window",
            "time",
            "`packets`, else `links`",
            better=HIGHER,
            min_effect=(0.02, 0.01),
            basis="all frames, with their Ethernet header; when they leave the queue; the run's window",
            axis=Axis("utilisation", "share of the rate"),
            digits=3,
            main={"utilisation": "utili-\nsation"},
            overview="utilisation",
        ),
        *LINK_ENTRIES,
    ),
    "node": NODE_ENTRIES,
    "run": (
        entry(
            "jain_index",
            "(Σx)² / (n Σx²) of the goodputs x of the n flows that are bulk or iperf3 over TCP, or streams of QUIC "
            "(`quic`; not `quic_datagrams`, which may have a rate) (Jain, Chiu, Hawe 1984)",
            "flows",
            "`flow.goodput_mbps`",
            better=HIGHER,
            min_effect=(0, 0.02),
            basis="as `goodput_mbps`, each flow's in its own interval",
            axis=Axis("Jain's fairness index"),
            overview="jain_index",
        ),
        entry(
            "goodput_ratio",
            "the largest goodput of these flows divided by the smallest; absent if that is 0",
            "flows",
            "`flow.goodput_mbps`",
            better=LOWER,
            min_effect=(0.05, 0.05),
            basis="as `jain_index`",
            axis=Axis("largest to smallest goodput"),
        ),
        entry(
            "loss_correlation",
            "global synchronisation: the mean, over all pairs of these flows, of the correlation between having lost "
            "something in an interval; 0 if they lose independently, 1 if always together",
            "pairs of flows that lost something",
            "`packets`",
            better=LOWER,
            min_effect=(0.05, 0.05),
            basis="data packets that a queue dropped or marked; intervals of two mean RTTs of the run's window",
            axis=Axis("correlation of losses"),
        ),
        entry(
            "jain_media_index",
            "the same of the adaptive media streams",
            "flows",
            "`flow.goodput_mbps`",
            better=HIGHER,
            min_effect=(0, 0.02),
            basis="as `goodput_mbps`, each flow's in its own interval",
            axis=Axis("Jain's fairness index of media"),
        ),
        entry(
            "jain_index_1s: mean p5",
            "Jain's index of each second in which at least two such flows were active throughout: "
            "its mean, and its 5th percentile",
            "seconds",
            "`arrivals`",
            better=HIGHER,
            min_effect=(0, 0.02),
            basis="payload, each byte once; when it reaches the receiver; whole seconds of the run's window",
            axis=Axis("Jain's fairness index in each second"),
        ),
        *RUN_ENTRIES,
    ),
}


def entry_of(scope: str, metric: str) -> Entry | None:
    """Find the entry of a metric; None if the catalogue does not have it."""
    if scope in ("queue", "place") and metric.startswith("drops_"):
        metric = "drops_REASON"
    return next((one for one in CATALOGUE.get(scope, ()) if metric in one.names), None)


def label_of(scope: str, metric: str) -> str:
    """A metric, or the stem of some, with its unit, for an axis; its name if the catalogue does not know it."""
    entry = entry_of(scope, metric) or stem_entry(scope, metric)
    return entry.label(metric) if entry else f"{scope} {metric.replace('_', ' ')}"


def axis_of(scope: str, stem: str) -> Axis:
    """The axis of metrics that begin alike, such as `rtt_ms`. Raises KeyError if the catalogue has none."""
    if (entry := stem_entry(scope, stem)) is None:
        raise KeyError(f"{scope}.{stem}")
    return entry.axis


def stem_entry(scope: str, stem: str) -> Entry | None:
    """Find the entry of metrics that begin alike, such as `rtt_ms`; None if the catalogue has none."""
    return next((one for one in CATALOGUE.get(scope, ()) if one.stem == stem), None)

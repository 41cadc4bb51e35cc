"""Every metric by name: what it means, how it is reckoned, what a value counts for, from which table it comes.

It also says which way is better, and how much of a difference matters.

`make generate` writes it as `docs/metrics.md`.
"""

from collections.abc import Iterator

from netwarp.analysis.entry import HIGHER, LOWER, Entry, entry
from netwarp.analysis.flow_catalogue import FLOW_ENTRIES

_SPREAD = "mean, percentiles and maximum of "

CATALOGUE: dict[str, tuple[Entry, ...]] = {
    "flow": FLOW_ENTRIES,
    "queue": (
        entry(
            "length_pkts_min length_pkts_mean length_pkts_max",
            "length of the queue in packets of the wire (an aggregate counts as its segments, exact records only); an "
            "unused queue has 0. Under one flow, with a warm-up that leaves slow start out, the minimum is the "
            "sawtooth's valley",
            "time",
            "`packets`, else `queues`",
            better=None,
            min_effect=(0.05, 1),
            basis="all packets in the queue, headers and all traffic included; after each arrival and departure; "
            "the run's window",
        ),
        entry(
            "sojourn_ms_mean sojourn_ms_p50 sojourn_ms_p95 sojourn_ms_p99 sojourn_ms_max",
            "dequeue_ns − enqueue_ns of packets that left the queue in the window to be sent",
            "packets",
            "`packets`",
            better=LOWER,
            min_effect=(0.05, 0.1),
            basis="all packets; from arrival at the queue to departure; those that left in the run's window",
        ),
        entry(
            "drops",
            "packets of the wire dropped in the window, on arrival or later (sampled: aggregates as one)",
            "sum",
            "`packets`, else `queues`",
            better=None,
            min_effect=(0.2, 5),
            basis="all packets; when they are dropped; the run's window",
        ),
        entry(
            "drops_REASON",
            "of these, by the kernel's reason (docs/records.md)",
            "sum",
            "`packets`",
            better=None,
            min_effect=(0.2, 5),
            basis="the same",
        ),
        entry(
            "marks",
            "packets of the wire that came without and left with congestion experienced",
            "sum",
            "`packets`",
            better=None,
            min_effect=(0.2, 5),
            basis="all packets; when they leave; the run's window",
        ),
        entry(
            "drop_pct",
            "100 × packets dropped in the window / packets that came in it",
            "packets",
            "`packets`",
            min_effect=(0.2, 0.05),
            basis="the same as `drops`",
        ),
        entry(
            "mark_pct",
            "100 × packets marked / packets that left to be sent, in the window",
            "packets",
            "`packets`",
            min_effect=(0.2, 0.05),
            basis="the same as `marks`",
        ),
    ),
    "place": (
        entry(
            "drops",
            "packets dropped in the window at a place that is no queue; the name says where: `bottleneck:r1 egress "
            "filter`, `… ingress filter`, `… input` (no route, TTL, header checksum), `… output`; `h2 closed port`, "
            "`h2 receive buffer`, `h2 checksum`, `h2 transport`. Only places where something was dropped have a row. "
            "Not what was lost on a wire, nor what TCP throws away because it has it already or because its "
            "connection is closed",
            "sum",
            "`drops`",
            better=None,
            min_effect=(0.2, 5),
            basis="all packets of the wire; when they are dropped; the run's window",
        ),
        entry(
            "drops_REASON",
            "of these, by the kernel's reason (docs/records.md)",
            "sum",
            "`drops`",
            better=None,
            min_effect=(0.2, 5),
            basis="the same",
        ),
    ),
    "link": (
        entry(
            "utilisation",
            "bits sent, frames with their Ethernet header (of an aggregate one for each segment), / what the rate "
            "allows in the window, 0 to 1; of a link with a Mahimahi trace packets as its opportunities count them "
            "(IP and 4 bytes) / 1504 bytes for each opportunity in the window",
            "time",
            "`packets`, else `links`",
            better=HIGHER,
            min_effect=(0.02, 0.01),
            basis="all frames, with their Ethernet header; when they leave the queue; the run's window",
        ),
    ),
    "run": (
        entry(
            "jain_index",
            "(Σx)² / (n Σx²) of the goodputs x of the n bulk and iperf3 flows over TCP (Jain, Chiu, Hawe 1984)",
            "flows",
            "`flow.goodput_mbps`",
            better=HIGHER,
            min_effect=(0, 0.02),
            basis="as `goodput_mbps`, each flow's in its own interval",
        ),
        entry(
            "jain_index_1s_mean jain_index_1s_p5",
            "Jain's index of each second in which at least two such flows were active throughout: its mean, and what "
            "it is above in 95 % of them",
            "seconds",
            "`arrivals`",
            better=HIGHER,
            min_effect=(0, 0.02),
            basis="payload, each byte once; when it reaches the receiver; whole seconds of the run's window",
        ),
    ),
}


def entry_of(scope: str, metric: str) -> Entry | None:
    """The entry that has the metric; None if the catalogue does not know it."""
    if scope in ("queue", "place") and metric.startswith("drops_"):
        metric = "drops_REASON"
    return next((one for one in CATALOGUE.get(scope, ()) if metric in one.names), None)


def is_known(scope: str, metric: str) -> bool:
    """Whether the catalogue has the metric."""
    return entry_of(scope, metric) is not None


def markdown() -> str:
    """The catalogue as the page `docs/metrics.md`."""
    return "\n".join(_page()) + "\n"


_ON_GOODPUT = """\
**Clock.** A run has one clock, which sender, queues and receiver share: there are no offsets. What differs is where
something is seen. Payload counts when it reaches the receiver's socket (`arrivals`), each byte once: a cumulative ACK
after a repair acknowledges at one moment what arrived before, and half a round trip late. A flow's life is from its
start to its end, a transfer's ends with its last byte. Without exact records there are the sender's counters, looked at
now and then, and what programs count by themselves.

**Checked.** After every run with exact records: no goodput, of a flow as a whole or in an interval of the figures,
exceeds what any link on its path carries of its payload in that time (rate × time × payload of a full frame / its
length; changes of the rate and the spread of transit times behind the link included). Else the run is suspect."""


def _page() -> Iterator[str]:
    yield "# Metrics"
    yield ""
    yield "Made by `make generate`: change `python/netwarp/analysis/catalogue.py` instead."
    yield ""
    yield "A metric is a row of `summary.parquet` and `metrics.parquet`: scope, name, metric, value. It covers the"
    yield "window from the scenario's `warmup` to the end of the run, of a flow the part of it in which the flow was"
    yield "active. What was not measured has no row. States (RTT, windows, lengths) are weighted by time, packets and"
    yield "transfers count once each. Percentiles are of type 1 (Hyndman and Fan 1996): the smallest value that p %"
    yield "do not exceed. Flows of one name appear each (`bulk.0` …) and together (`bulk`): sums add up, states,"
    yield "packets and transfers are pooled."
    yield ""
    yield from _ON_GOODPUT.split("\n")
    yield ""
    yield "The tables are those of [records.md](records.md). Which way is better, and from which difference on it"
    yield "matters (in percent of the value, and at least so much in the metric's unit), is for"
    yield "[compare.md](compare.md)."
    for scope, entries in CATALOGUE.items():
        yield ""
        yield f"## {scope}"
        yield ""
        yield (
            "| metric | how it is computed | whose; seen where; in which interval | weighted by | from | better "
            "| matters from |"
        )
        yield "|---|---|---|---|---|---|---|"
        for one in entries:
            names = "<br>".join(f"`{name}`" for name in one.names)
            better = one.better or "neither"
            cells = (names, one.formula, one.basis, one.counts, one.source, better, one.min_effect)
            yield f"| {' | '.join(map(str, cells))} |"

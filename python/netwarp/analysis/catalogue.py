"""Every metric by name: what it means, how it is reckoned, what a value counts for, from which table it comes.

It also says which way is better, and how much of a difference matters.

`python -m netwarp.analysis.catalogue` prints it as `docs/metrics.md`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Least:
    """The least difference that matters: this share of the value, and at least so much in the metric's own unit."""

    relative: float
    absolute: float

    def of(self, value: float) -> float:
        """The least difference from this value that matters."""
        return max(self.relative * abs(value), self.absolute)

    def __str__(self) -> str:
        """Such as `5 %, at least 0.1`."""
        parts = [f"{100 * self.relative:g} %"] if self.relative else []
        return ", at least ".join([*parts, *([f"{self.absolute:g}"] if self.absolute or not parts else [])])


@dataclass(frozen=True)
class Entry:
    """One metric, or several that differ by a suffix; `counts` says what a value of it is weighted by.

    `better` is `higher`, `lower`, or None where a difference is neither: a means, not an end.
    """

    names: tuple[str, ...]
    formula: str
    counts: str
    source: str
    better: str | None = None
    least: Least = Least(0.05, 0.0)


def _entry(
    names: str,
    formula: str,
    counts: str,
    source: str,
    *,
    better: str | None = None,
    least: tuple[float, float] = (0.05, 0),
) -> Entry:
    return Entry(tuple(names.split()), formula, counts, source, better, Least(*least))


_ACKS = "`acks`, else `sockets`"
_SPREAD = "mean, percentiles and maximum of "

CATALOGUE: dict[str, tuple[Entry, ...]] = {
    "flow": (
        _entry(
            "goodput_mbps",
            "payload × 8 / length of the flow's life in the window: for TCP what was acknowledged in it, for UDP what "
            "arrived in it (copies not counted); where neither is recorded: the flow's own account, else samples",
            "sum over flows",
            "`acks`; `datagrams`; `flows`; `sockets`",
            better=HIGHER,
            least=(0.02, 0),
        ),
        _entry(
            "rtt_ms_mean rtt_ms_p50 rtt_ms_p95 rtt_ms_p99 rtt_ms_max",
            _SPREAD + "the RTT: of each ACK's own sample, not smoothed; of echo replies",
            "time (a sample holds until the next)",
            "`acks`; `pings`",
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "srtt_ms_mean",
            "mean of the sender's smoothed RTT (RFC 6298)",
            "time",
            _ACKS,
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "retransmits",
            "segments retransmitted in the window",
            "sum over flows",
            "`acks`, else `flows`, `sockets`",
            better=LOWER,
            least=(0.2, 5),
        ),
        _entry(
            "cwnd_pkts_mean",
            "mean congestion window; of iperf3 -P the sum of its connections'",
            "time",
            _ACKS,
            better=None,
            least=(0.05, 1),
        ),
        _entry(
            "loss_pct",
            "100 × lost / sent: datagrams sent in the window that never arrived, echo requests without reply. What was "
            "sent within the longest delay seen before the end may only have been cut off: it counts as neither",
            "packets",
            "`datagrams` and `flows`; `pings`",
            better=LOWER,
            least=(0.1, 0.1),
        ),
        _entry(
            "jitter_ms_mean",
            "mean of abs D(i−1, i), the difference of the transit times of successive arrivals, of which the J of RFC "
            "3550 (6.4.1) is a moving average; of echo replies the difference of successive RTTs; iperf3: its own J",
            "packets",
            "`datagrams`; `pings`; `flows`",
            better=LOWER,
            least=(0.1, 0.1),
        ),
        _entry(
            "delay_ms_mean delay_ms_p50 delay_ms_p95 delay_ms_p99 delay_ms_max",
            _SPREAD + "received_ns − sent_ns (one way, one clock) of datagrams sent in the window, copies not counted",
            "packets",
            "`datagrams`",
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "reordered_pct",
            "100 × datagrams that arrived after one with a higher number / datagrams that arrived (RFC 4737)",
            "packets",
            "`datagrams`",
            better=LOWER,
            least=(0.1, 0.1),
        ),
        _entry(
            "duplicates",
            "datagrams that arrived again",
            "sum over flows",
            "`datagrams`",
            better=LOWER,
            least=(0.1, 1),
        ),
        _entry(
            "transfers",
            "requests answered, or flows of a given size complete, in the window",
            "sum",
            "`transfers`",
            better=HIGHER,
            least=(0.02, 1),
        ),
        _entry(
            "completion_ms_mean completion_ms_p50 completion_ms_p95 completion_ms_p99 completion_ms_max",
            _SPREAD + "the time from request (or the flow's start) to the last byte, of those that ended in the window",
            "transfers",
            "`transfers`",
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "requests_per_s",
            "requests answered per second of the flows' life",
            "transfers",
            "`transfers`",
            better=HIGHER,
            least=(0.02, 0),
        ),
        _entry(
            "drops",
            "data packets of the flow dropped by queues, all along its way",
            "sum",
            "`packets`",
            better=None,
            least=(0.2, 5),
        ),
        _entry(
            "marks",
            "data packets of the flow given an ECN mark by queues (RFC 3168)",
            "sum",
            "`packets`",
            better=None,
            least=(0.2, 5),
        ),
        _entry(
            "queue_ms_mean queue_ms_p95 queue_ms_max",
            _SPREAD + "the sojourn of its data packets in its bottleneck: the queue where they waited longest in all",
            "packets",
            "`packets`",
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "bbr_startup_pct bbr_drain_pct bbr_probe_bw_pct bbr_probe_rtt_pct",
            "100 × time in the phase / time since the first ACK. By the gains after each ACK (tcp_bbr.c, in 1/256): "
            "Startup paces by 739, Drain by 88 with a window gain of 739, ProbeRTT has both at 256, else ProbeBW",
            "time",
            "`acks`",
            better=None,
            least=(0.1, 1),
        ),
    ),
    "queue": (
        _entry(
            "length_pkts_mean length_pkts_max",
            "length of the queue in packets; an unused queue has 0",
            "time",
            "`packets`, else `queues`",
            better=None,
            least=(0.05, 1),
        ),
        _entry(
            "sojourn_ms_mean sojourn_ms_p95 sojourn_ms_max",
            "dequeue_ns − enqueue_ns of packets that left the queue in the window to be sent",
            "packets",
            "`packets`",
            better=LOWER,
            least=(0.05, 0.1),
        ),
        _entry(
            "drops",
            "packets dropped in the window, on arrival or later",
            "sum",
            "`packets`, else `queues`",
            better=None,
            least=(0.2, 5),
        ),
        _entry(
            "drops_REASON",
            "of these, by the kernel's reason (docs/records.md)",
            "sum",
            "`packets`",
            better=None,
            least=(0.2, 5),
        ),
        _entry(
            "marks",
            "packets that came without and left with congestion experienced",
            "sum",
            "`packets`",
            better=None,
            least=(0.2, 5),
        ),
    ),
    "link": (
        _entry(
            "utilisation",
            "bits sent, frames with their Ethernet header, / what the rate allows in the window, 0 to 1",
            "time",
            "`packets`, else `links`",
            better=HIGHER,
            least=(0.02, 0.01),
        ),
    ),
    "run": (
        _entry(
            "jain_index",
            "(Σx)² / (n Σx²) of the goodputs x of the n bulk and iperf3 flows over TCP (Jain, Chiu, Hawe 1984)",
            "flows",
            "`flow.goodput_mbps`",
            better=HIGHER,
            least=(0, 0.02),
        ),
    ),
}


def entry_of(scope: str, metric: str) -> Entry | None:
    """The entry that has the metric; None if the catalogue does not know it."""
    if scope == "queue" and metric.startswith("drops_"):
        metric = "drops_REASON"
    return next((entry for entry in CATALOGUE.get(scope, ()) if metric in entry.names), None)


def is_known(scope: str, metric: str) -> bool:
    """Whether the catalogue has the metric."""
    return entry_of(scope, metric) is not None


def markdown() -> str:
    """The catalogue as the page `docs/metrics.md`."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Metrics"
    yield ""
    yield "Made by `python -m netwarp.analysis.catalogue > docs/metrics.md`: change `analysis/catalogue.py` instead."
    yield ""
    yield "A metric is a row of `summary.parquet` and `metrics.parquet`: scope, name, metric, value. It covers the"
    yield "window from the scenario's `warmup` to the end of the run, of a flow the part of it in which the flow was"
    yield "active. What was not measured has no row. States (RTT, windows, lengths) are weighted by time, packets and"
    yield "transfers count once each. Percentiles are of type 1 (Hyndman and Fan 1996): the smallest value that p %"
    yield "do not exceed. Flows of one name appear each (`bulk.0` …) and together (`bulk`): sums add up, states,"
    yield "packets and transfers are pooled."
    yield "The tables are those of [records.md](records.md). Which way is better, and from which difference on it"
    yield "matters (in percent of the value, and at least so much in the metric's unit), is for"
    yield "[compare.md](compare.md)."
    for scope, entries in CATALOGUE.items():
        yield ""
        yield f"## {scope}"
        yield ""
        yield "| metric | how it is reckoned | weighted by | from | better | matters from |"
        yield "|---|---|---|---|---|---|"
        for entry in entries:
            names = "<br>".join(f"`{name}`" for name in entry.names)
            better = entry.better or "neither"
            yield f"| {names} | {entry.formula} | {entry.counts} | {entry.source} | {better} | {entry.least} |"


if __name__ == "__main__":
    sys.stdout.write(markdown())

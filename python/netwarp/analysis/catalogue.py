"""Every metric by name: what it means, how it is reckoned, what a value counts for, and from which table it comes.

`python -m netwarp.analysis.catalogue` prints it as `docs/metrics.md`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One metric, or several that differ by a suffix; `counts` says what a value of it is weighted by."""

    names: tuple[str, ...]
    formula: str
    counts: str
    source: str


def _entry(names: str, formula: str, counts: str, source: str) -> Entry:
    return Entry(tuple(names.split()), formula, counts, source)


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
        ),
        _entry(
            "rtt_ms_mean rtt_ms_p50 rtt_ms_p95 rtt_ms_p99 rtt_ms_max",
            _SPREAD + "the RTT: of each ACK's own sample, not smoothed; of echo replies",
            "time (a sample holds until the next)",
            "`acks`; `pings`",
        ),
        _entry("srtt_ms_mean", "mean of the sender's smoothed RTT (RFC 6298)", "time", _ACKS),
        _entry(
            "retransmits", "segments retransmitted in the window", "sum over flows", "`acks`, else `flows`, `sockets`"
        ),
        _entry("cwnd_pkts_mean", "mean congestion window; of iperf3 -P the sum of its connections'", "time", _ACKS),
        _entry(
            "loss_pct",
            "100 × lost / sent: datagrams sent in the window that never arrived, echo requests without reply. What was "
            "sent within the longest delay seen before the end may only have been cut off: it counts as neither",
            "packets",
            "`datagrams` and `flows`; `pings`",
        ),
        _entry(
            "jitter_ms_mean",
            "mean of abs D(i−1, i), the difference of the transit times of successive arrivals, of which the J of RFC "
            "3550 (6.4.1) is a moving average; of echo replies the difference of successive RTTs; iperf3: its own J",
            "packets",
            "`datagrams`; `pings`; `flows`",
        ),
        _entry(
            "delay_ms_mean delay_ms_p50 delay_ms_p95 delay_ms_p99 delay_ms_max",
            _SPREAD + "received_ns − sent_ns (one way, one clock) of datagrams sent in the window, copies not counted",
            "packets",
            "`datagrams`",
        ),
        _entry(
            "reordered_pct",
            "100 × datagrams that arrived after one with a higher number / datagrams that arrived (RFC 4737)",
            "packets",
            "`datagrams`",
        ),
        _entry("duplicates", "datagrams that arrived again", "sum over flows", "`datagrams`"),
        _entry(
            "transfers", "requests answered, or flows of a given size complete, in the window", "sum", "`transfers`"
        ),
        _entry(
            "completion_ms_mean completion_ms_p50 completion_ms_p95 completion_ms_p99 completion_ms_max",
            _SPREAD + "the time from request (or the flow's start) to the last byte, of those that ended in the window",
            "transfers",
            "`transfers`",
        ),
        _entry("requests_per_s", "requests answered per second of the flows' life", "transfers", "`transfers`"),
        _entry("drops", "data packets of the flow dropped by queues, all along its way", "sum", "`packets`"),
        _entry("marks", "data packets of the flow given an ECN mark by queues (RFC 3168)", "sum", "`packets`"),
        _entry(
            "queue_ms_mean queue_ms_p95 queue_ms_max",
            _SPREAD + "the sojourn of its data packets in its bottleneck: the queue where they waited longest in all",
            "packets",
            "`packets`",
        ),
        _entry(
            "bbr_startup_pct bbr_drain_pct bbr_probe_bw_pct bbr_probe_rtt_pct",
            "100 × time in the phase / time since the first ACK. By the gains after each ACK (tcp_bbr.c, in 1/256): "
            "Startup paces by 739, Drain by 88 with a window gain of 739, ProbeRTT has both at 256, else ProbeBW",
            "time",
            "`acks`",
        ),
    ),
    "queue": (
        _entry(
            "length_pkts_mean length_pkts_max",
            "length of the queue in packets; an unused queue has 0",
            "time",
            "`packets`, else `queues`",
        ),
        _entry(
            "sojourn_ms_mean sojourn_ms_p95 sojourn_ms_max",
            "dequeue_ns − enqueue_ns of packets that left the queue in the window to be sent",
            "packets",
            "`packets`",
        ),
        _entry("drops", "packets dropped in the window, on arrival or later", "sum", "`packets`, else `queues`"),
        _entry("drops_REASON", "of these, by the kernel's reason (docs/records.md)", "sum", "`packets`"),
        _entry("marks", "packets that came without and left with congestion experienced", "sum", "`packets`"),
    ),
    "link": (
        _entry(
            "utilisation",
            "bits sent, frames with their Ethernet header, / what the rate allows in the window, 0 to 1",
            "time",
            "`packets`, else `links`",
        ),
    ),
    "run": (
        _entry(
            "jain_index",
            "(Σx)² / (n Σx²) of the goodputs x of the n bulk and iperf3 flows over TCP (Jain, Chiu, Hawe 1984)",
            "flows",
            "`flow.goodput_mbps`",
        ),
    ),
}


def is_known(scope: str, metric: str) -> bool:
    """Whether the catalogue has the metric."""
    names = {name for entry in CATALOGUE.get(scope, ()) for name in entry.names}
    return metric in names or (scope == "queue" and metric.startswith("drops_"))


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
    yield "The tables are those of [records.md](records.md)."
    for scope, entries in CATALOGUE.items():
        yield ""
        yield f"## {scope}"
        yield ""
        yield "| metric | how it is reckoned | weighted by | from |"
        yield "|---|---|---|---|"
        for entry in entries:
            names = "<br>".join(f"`{name}`" for name in entry.names)
            yield f"| {names} | {entry.formula} | {entry.counts} | {entry.source} |"


if __name__ == "__main__":
    sys.stdout.write(markdown())

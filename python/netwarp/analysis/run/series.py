"""Series over time: the frames behind the figures, with times in seconds from the start of the run."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from netwarp.analysis.flow.flows import FlowData, run_window
from netwarp.analysis.flow.iperf3 import reported_intervals
from netwarp.analysis.flow.latency import Pings
from netwarp.analysis.queue.network import root_qdisc
from netwarp.analysis.queue.packets import queue_lengths
from netwarp.analysis.queue.throughput import sampled_per_interval
from netwarp.analysis.thinning import WHOLE_ROWS, Thinning, is_long
from netwarp.stats.weighting import Times, Values, Window
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

LONG_NS = 1200 * 10**9


def cwnd(data: FlowData) -> pl.DataFrame:
    """Congestion window: time_s, cwnd_pkts; a row per ACK (or sample), a step function. Empty without records."""
    if data.sender is None:
        return _series("cwnd_pkts", np.empty(0), np.empty(0))
    return _series("cwnd_pkts", data.sender.times_ns / 1e9, data.sender.cwnd_pkts)


def rtt(data: FlowData) -> pl.DataFrame:
    """RTT samples of ACKs or echo replies, unsmoothed: time_s, rtt_ms; a missing reply is NaN, a gap."""
    if data.pings is not None:
        return ping_rtts(data.pings)
    if data.sender is None:
        return _series("rtt_ms", np.empty(0), np.empty(0))
    return _series("rtt_ms", data.sender.rtt_times_ns / 1e9, data.sender.rtts_ms)


def ping_rtts(pings: Pings) -> pl.DataFrame:
    """RTT samples of echo requests: time_s of the reply, and rtt_ms.

    The time is that of the reply, as for ACKs: at the time of sending, an RTT of seconds would rise before its cause.
    The gap of a missing reply is after the replies to the requests before it.
    """
    arrived_ns = pings.sent_ns + np.where(pings.answered, pings.rtts_ms, 0) * 1e6
    arrived_ns = np.where(pings.answered, arrived_ns, np.maximum.accumulate(arrived_ns))
    order = np.argsort(arrived_ns, kind="stable")
    return _series("rtt_ms", arrived_ns[order] / 1e9, pings.rtts_ms[order])


def queue_length(run: RunDir, end: End, *, whole: bool = False, closely: Window | None = None) -> pl.DataFrame:
    """Length of the queue at a link's end: time_s, length_pkts; a step function. Empty without records.

    Of a long run the extremes of each second are kept, and all steps of the part that is shown `closely`, unless all
    are wanted (`whole`).
    """
    if run.has_rows("packets"):
        thinning = (
            Thinning(run_window(run.description), {}, 0, closely) if is_long(run, "packets") and not whole else None
        )
        parts = [one for one in _thinned(queue_lengths(run, end.interface_index), thinning) if len(one[0])]
        if parts:
            times, lengths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            return _series("length_pkts", times / 1e9, lengths)
    samples = (
        run.scan("queues")
        .filter(pl.col("interface_index") == end.interface_index)
        .sort("time_ns", maintain_order=True)
        .collect()
    )
    root = root_qdisc(samples)
    return _series("length_pkts", root["time_ns"].to_numpy() / 1e9, root["length_pkts"].to_numpy().astype(np.float64))


def _thinned(parts: Iterable[tuple[Times, Values]], thinning: Thinning | None) -> Iterator[tuple[Times, Values]]:
    """The parts of a series; with `thinning` of a long run."""
    read = 0
    for times, values in parts:
        at = slice(None) if thinning is None or read < WHOLE_ROWS else thinning.kept(times, [], (values,))
        read += len(times)
        yield times[at], values[at]


def delay(data: FlowData) -> pl.DataFrame:
    """One-way delay of each datagram by when it was sent: time_s, delay_ms. Empty for other flows."""
    if data.arrivals is None:
        return _series("delay_ms", np.empty(0), np.empty(0))
    order = np.argsort(data.arrivals.sent_ns, kind="stable")
    return _series("delay_ms", data.arrivals.sent_ns[order] / 1e9, data.arrivals.delays_ns[order] / 1e6)


def interface_rate(run: RunDir, end: End, interval_ns: int) -> pl.DataFrame:
    """The rate of the interface at a link's end in each interval: time_s (its middle), rate_mbps with headers.

    It is from samples of the counter, as in ifstat. Empty without records.
    """
    samples = (
        run.scan("links")
        .filter(pl.col("interface_index") == end.interface_index)
        .sort("time_ns", maintain_order=True)
        .collect()
    )
    if samples.height < 2:
        return _series("rate_mbps", np.empty(0), np.empty(0))
    times, counter = samples["time_ns"].to_numpy(), samples["tx_bytes"].to_numpy()
    seen = Window(0, int(times[-1]))
    return _series("rate_mbps", *sampled_per_interval(times, counter, seen, interval_ns))


def reported_rates(run: RunDir, data: FlowData) -> dict[str, pl.DataFrame]:
    """The rates that iperf3 printed for each interval, by side (sender, receiver): time_s (the middle), rate_mbps."""
    sides = reported_intervals(run, data.flow)
    start_s = data.start_ns / 1e9
    return {side: _series("rate_mbps", start_s + part[:, :2].mean(axis=1), part[:, 2]) for side, part in sides.items()}


def interval_ns(run: RunDir, flows: Sequence[FlowData]) -> int:
    """The length of an interval of a goodput figure: 1 s; 0.1 s for runs below 10 s; 10 s for runs of 20 minutes and
    more, because a figure has no room for thousands of points; at least the interval of samples of a sampled flow."""
    looks = run.description.sample_ns if any(data.sender and data.sender.sampled for data in flows) else 0
    length_ns = whole_run(run).length_ns
    return max(10**10 if length_ns >= LONG_NS else 10**9 if length_ns >= 10**10 else 10**8, looks)


def throughput(flows: Sequence[FlowData], window: Window, interval_ns: int = 10**9) -> pl.DataFrame:
    """Goodput of the flows together in each interval: time_s (its middle), throughput_mbps. Empty without records.

    It counts the bytes that the application could read, in order; without records of arrivals, acknowledged bytes.
    """
    total = None
    times = np.empty(0)
    for data in flows:
        if (found := _throughput(data, window, interval_ns)) is not None:
            times, values = found
            total = values if total is None else total + values
    return _series("throughput_mbps", times, np.empty(0) if total is None else total)


def lived(flows: Sequence[FlowData], goodput: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """The part of the flows' goodput over time in which they were active, or in which their bytes still arrived."""
    born_s = min(data.flow.start_ns for data in flows) / 1e9 - interval_ns / 1e9
    ended_s = max(max(data.window.end_ns, data.flow.end_ns) for data in flows) / 1e9
    moved_s: float | None = goodput.filter(pl.col("throughput_mbps") > 0)["time_s"].max()  # type: ignore[assignment]
    dead_s = max(ended_s, moved_s or 0.0) + 2 * interval_ns / 1e9
    return goodput.filter(pl.col("time_s").is_between(born_s, dead_s))


def _throughput(data: FlowData, window: Window, interval_ns: int) -> tuple[Values, Values] | None:
    """Goodput of one flow; None without records.

    If only samples exist, its first and last values come from the flow's own totals. The bytes in its sockets at its
    end are acknowledged later: at the times of samples if there are any, otherwise at the end.
    """
    known = data.to_application
    if known is None:
        return None
    if not known.sampled:
        return known.per_interval(window, interval_ns)
    times, counter = known.times_ns, known.total_bytes
    total = data.account.get("received_bytes")
    if isinstance(total, int):
        seen = (times > data.start_ns) & (counter <= total)
        times, counter = times[seen], counter[seen]
        step_ns = int(times[-1] - times[-2]) if len(times) > 1 else 0
        last_ns = max(data.window.end_ns, int(times[-1]) + step_ns) if len(times) else data.window.end_ns
        times = np.concatenate([[data.start_ns], times, [last_ns]])
        counter = np.concatenate([[0], counter, [total]])
    return sampled_per_interval(times, counter, window, interval_ns)


def whole_run(run: RunDir) -> Window:
    """The window of a figure: from the start of the run, warm-up included."""
    return Window(0, run_window(run.description).end_ns)


def _series(name: str, times_s: np.ndarray, values: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"time_s": times_s, name: values}, schema={"time_s": pl.Float64, name: pl.Float64})

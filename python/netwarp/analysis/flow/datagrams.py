"""UDP flows: arrivals, their times and order, and losses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, Values, Window, percentile
from netwarp.store.rundir import RunDir
from netwarp.store.streams import StreamState


@dataclass(frozen=True)
class Datagrams:
    """A flow's datagrams that arrived by the run's end, columns of equal length in order of arrival.

    `first` is False for a copy of one that arrived before; `sent_pkts` is the number of sent ones, numbered from 0. If
    they are sent in frames, `frames_ns` are the time of the first frame and that between two.
    """

    sequence: NDArray[np.int64]
    sent_ns: Times
    received_ns: Times
    payload_bytes: NDArray[np.int64]
    first: NDArray[np.bool_]
    sent_pkts: int
    frames_ns: tuple[int, int] | None = None

    @property
    def delays_ns(self) -> Times:
        """One-way delays; sender and receiver have one clock."""
        delays: Times = self.received_ns - self.sent_ns
        return delays


@dataclass(frozen=True)
class Received:
    """The fate of the datagrams sent in a window; `lost` of `sent` (those whose fate is known) never arrived."""

    delays_ms: Values
    jumps_ms: Values
    reordered: int
    duplicates: int
    lost: int
    sent: int


def load_datagrams(run: RunDir) -> dict[int, Datagrams]:
    """Load datagrams by flow id, including flows without arrivals if their account says that they sent some.

    Empty without the table of datagrams: then only the accounts have totals.
    """
    udp = {flow.id for flow in run.description.flows if flow.kind.datagrams}
    if not udp or run.state("datagrams") is StreamState.MISSING:
        return {}
    rows = run.scan("datagrams").filter(pl.col("received_ns") <= run.description.duration_ns)
    parts = rows.collect().partition_by("flow_id", as_dict=True, include_key=False)
    frames = _load_frames(run)
    sent = run.scan("flows").select("flow_id", "sent_pkts").drop_nulls().collect()
    found = {}
    for flow_id, sent_pkts in sent.iter_rows():
        part = parts.get((flow_id,))
        if flow_id in udp and sent_pkts:
            found[int(flow_id)] = replace(_datagrams(part, int(sent_pkts)), frames_ns=frames.get(flow_id))
    return found


def _load_frames(run: RunDir) -> dict[int, tuple[int, int]]:
    """The time of the first frame and that between two, of media streams by flow id."""
    if not any(flow.kind.media for flow in run.description.flows):
        return {}
    media = {flow.id for flow in run.description.flows if flow.kind.media}
    return {flow.id: (flow.start_ns, flow.number("interval_ns")) for flow in run.lab.flows if flow.id in media}


def _datagrams(part: pl.DataFrame | None, sent_pkts: int) -> Datagrams:
    if part is None:
        none = np.empty(0, np.int64)
        return Datagrams(none, none, none, none, np.empty(0, np.bool_), sent_pkts)
    sequence = part["sequence"].cast(pl.Int64).to_numpy()
    return Datagrams(
        sequence=sequence,
        sent_ns=part["sent_ns"].to_numpy(),
        received_ns=part["received_ns"].to_numpy(),
        payload_bytes=part["payload_bytes"].cast(pl.Int64).to_numpy(),
        first=part["sequence"].is_first_distinct().to_numpy(),
        sent_pkts=sent_pkts,
    )


def received(datagrams: Datagrams, window: Window, run_end_ns: int) -> Received:
    """Return the fate of the datagrams sent in the window.

    Datagrams sent within the longest delay before the run's end may only have been cut off. For losses none of them
    counts, arrived or not: counting only the arrived ones would make the loss too small. Nor do those after the last
    that arrived, unless nothing has arrived for longer than that delay: it may still grow, and the times at which they
    were sent are estimates.
    """
    inside = window.mask(datagrams.sent_ns) & datagrams.first
    delays = datagrams.delays_ns[inside]
    arrived = np.zeros(datagrams.sent_pkts, np.bool_)
    arrived[datagrams.sequence] = True
    sent_ns = sending_times(datagrams, window)
    longest = int(delays.max(initial=0))
    known = window.mask(sent_ns) & (sent_ns <= run_end_ns - longest)
    if len(datagrams.sequence) and run_end_ns - int(datagrams.received_ns.max()) <= longest:
        known[int(datagrams.sequence.max()) + 1 :] = False
    sequence = datagrams.sequence[datagrams.first]
    late = sequence < np.maximum.accumulate(sequence) if len(sequence) else np.empty(0, np.bool_)
    return Received(
        delays_ms=delays / 1e6,
        jumps_ms=np.abs(np.diff(delays)) / 1e6,
        reordered=int((late & window.mask(datagrams.sent_ns[datagrams.first])).sum()),
        duplicates=int((~datagrams.first & window.mask(datagrams.sent_ns)).sum()),
        lost=int((known & ~arrived).sum()),
        sent=int(known.sum()),
    )


def sending_times(datagrams: Datagrams, window: Window) -> Times:
    """Return the time at which each datagram was sent, by its number.

    It is known for those that arrived; the others are assumed to have been sent evenly between their neighbours, or
    between the first or last arrival and the window's end, and in a frame if there are any.
    """
    numbers = np.arange(datagrams.sent_pkts)
    order = np.argsort(datagrams.sequence, kind="stable")
    known, times = datagrams.sequence[order], datagrams.sent_ns[order]
    low = min(window.start_ns, int(times[0])) if len(times) else window.start_ns
    high = max(window.end_ns, int(times[-1])) if len(times) else window.end_ns
    if len(known) == datagrams.sent_pkts and (known == numbers).all():
        return times
    known = np.concatenate([[-1], known, [datagrams.sent_pkts]])
    estimate: Times = np.round(np.interp(numbers, known, np.concatenate([[low], times, [high]]))).astype(np.int64)
    if datagrams.frames_ns is not None:
        start_ns, interval_ns = datagrams.frames_ns
        estimate = start_ns - (start_ns - estimate) // interval_ns * interval_ns
    estimate[datagrams.sequence] = datagrams.sent_ns
    return estimate


def receipt_metrics(parts: Sequence[Received]) -> dict[str, float | int | None]:
    """Return delay, jitter, order and copies of the datagrams of some flows; empty without datagrams.

    The jitter is the mean of |D(i−1, i)|, the difference of transit times of successive arrivals, of which the J of
    RFC 3550 (6.4.1) is a moving average that remembers the last 16.
    """
    if not parts:
        return {}
    delays = np.concatenate([p.delays_ms for p in parts])
    jumps = np.concatenate([p.jumps_ms for p in parts])
    return {
        "jitter_ms_mean": float(jumps.mean()) if len(jumps) else None,
        "delay_ms_mean": float(delays.mean()) if len(delays) else None,
        "delay_ms_p50": percentile(delays, 50),
        "delay_ms_p95": percentile(delays, 95),
        "delay_ms_p99": percentile(delays, 99),
        "delay_ms_max": percentile(delays, 100),
        "reordered_pct": 100 * sum(p.reordered for p in parts) / len(delays) if len(delays) else None,
        "duplicates": sum(p.duplicates for p in parts),
    }

"""Senders of a long run: their rows are read part by part, counted, and thinned."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.senders import Counted, Sender, by_time, first_threshold, load_senders, load_whole, together
from netwarp.analysis.parts import Columns, join_arrays, parts_by
from netwarp.analysis.thinning import WHOLE_ROWS, Grid, Thinning
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.stats.distinct import HeldTally
from netwarp.stats.weighting import Times, Window
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir

_COLUMNS = (
    pl.col("tuple_id"),
    pl.col("time_ns"),
    pl.col("bytes_acked"),
    pl.col("snd_cwnd_pkts").cast(pl.Int64),
    pl.col("srtt_us").cast(pl.Int64),
    pl.col("rtt_us").cast(pl.Int64),
    pl.col("retransmits").cast(pl.Int64),
    pl.col("snd_ssthresh_pkts"),
    pl.col("mss_bytes"),
)
_NAMES = [column.meta.output_name() for column in _COLUMNS]


def load_long_senders(run: RunDir, flows: tuple[Flow, ...], thinning: Thinning | None) -> dict[int, Sender]:
    """Load senders as `load_senders` does; with `thinning` only some rows of flows whose lives it has.

    Flows whose connections come and go are loaded whole. Raises StoreError.
    """
    if thinning is None or not run.has_rows("acks"):
        return load_senders(run, flows)
    few = {flow.id: flow for flow in flows if flow.id in thinning.lives and not flow.kind.reconnects}
    whole = {flow.id for flow in flows} - few.keys()
    return (load_whole(run, flows, whole) if whole else {}) | _thinned(run, flows, few, thinning)


def _thinned(run: RunDir, flows: tuple[Flow, ...], few: dict[int, Flow], thinning: Thinning) -> dict[int, Sender]:
    flow_of = flow_of_tuples(run.scan("tuples").collect(), flows)
    of = {number: few[flow_id] for number, flow_id in flow_of.items() if flow_id in few}
    connections: dict[int, _Connection] = {}
    read = 0
    for frame in run.batches("acks", _NAMES):
        mine = frame.filter(pl.col("tuple_id").is_in(list(of))).select(_COLUMNS)
        for number, acks in parts_by(mine, "tuple_id").items():
            if number not in connections:
                grids = thinning.grids(of[number], finely=False)
                connections[number] = _Connection(
                    thinning, grids, thinning.lives[of[number].id].within(thinning.window)
                )
            connections[number].add(by_time(acks), whole=read < WHOLE_ROWS)
        read += frame.height
    parts: dict[int, list[_Connection]] = defaultdict(list)
    for number, connection in connections.items():
        parts[of[number].id].append(connection)
    return {
        flow_id: together([one.sender(ends=few[flow_id].kind.owns_sockets and len(listed) > 1) for one in listed])
        for flow_id, listed in parts.items()
    }


@dataclass
class _Connection:
    """The counts and rows of one connection after some of its ACKs."""

    thinning: Thinning
    grids: list[Grid]
    life: Window
    rows: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    sample_times_ns: list[Times] = field(default_factory=list)
    samples_us: list[NDArray[np.int64]] = field(default_factory=list)
    mss_bytes: int = 0
    threshold: float | None = None
    peak: float | None = None
    window_pkts: int | None = None
    last_ns: int = 0
    tallies: tuple[HeldTally, HeldTally, HeldTally] = field(init=False)

    def __post_init__(self) -> None:
        self.tallies = HeldTally(self.life), HeldTally(self.life), HeldTally(self.life)

    def add(self, acks: Columns, *, whole: bool) -> None:
        """Count ACKs in the order of time, and keep some, or the `whole` of them."""
        times, windows, smoothed = acks["time_ns"], acks["snd_cwnd_pkts"], acks["srtt_us"]
        sampled = acks["rtt_us"] >= 0
        rtt_times, rtts = times[sampled], acks["rtt_us"][sampled]
        for tally, at, values in zip(self.tallies, (rtt_times, times, times), (rtts, smoothed, windows), strict=True):
            tally.add(at, values)
        self.mss_bytes = max(self.mss_bytes, int(acks["mss_bytes"].max(initial=0)))
        if self.threshold is None:
            self.threshold = first_threshold(acks["snd_ssthresh_pkts"])
        self._find_peak(windows)
        self.last_ns = int(times[-1])
        at = np.arange(len(times)) if whole else self.thinning.kept(times, self.grids, (windows, smoothed))
        for name in ("time_ns", "bytes_acked", "snd_cwnd_pkts", "srtt_us", "retransmits"):
            self.rows[name].append(acks[name][at])
        at = np.arange(len(rtts)) if whole else self.thinning.kept(rtt_times, [], (rtts,))
        self.sample_times_ns.append(rtt_times[at])
        self.samples_us.append(rtts[at])

    def _find_peak(self, windows: NDArray[np.int64]) -> None:
        if self.peak is None:
            known = windows if self.window_pkts is None else np.concatenate([[self.window_pkts], windows])
            shrinks = np.flatnonzero(np.diff(known) < 0)
            self.peak = float(known[shrinks[0]]) if len(shrinks) else None
        self.window_pkts = int(windows[-1])

    def sender(self, *, ends: bool) -> Sender:
        """The connection as a sender; if it `ends`, its states count until its last ACK. Nothing can be added then."""
        units = {"rtts_ms": 1e3, "srtt_ms": 1e3, "cwnd_pkts": 1.0}
        until = self.last_ns if ends else None
        return Sender(
            times_ns=join_arrays(self.rows["time_ns"]),
            bytes_acked=join_arrays(self.rows["bytes_acked"]),
            cwnd_pkts=join_arrays(self.rows["snd_cwnd_pkts"]).astype(np.float64),
            srtt_ms=join_arrays(self.rows["srtt_us"]) / 1e3,
            retransmits=join_arrays(self.rows["retransmits"]),
            rtt_times_ns=join_arrays(self.sample_times_ns),
            rtts_ms=join_arrays(self.samples_us) / 1e3,
            mss_bytes=self.mss_bytes,
            first_ssthresh_pkts=self.threshold,
            held={
                name: Counted(self.life, tally.weighted(unit, until))
                for (name, unit), tally in zip(units.items(), self.tallies, strict=True)
            },
            thinned=True,
            peak_pkts=self.peak,
        )

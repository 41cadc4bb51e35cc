"""BBR's phases, derived from its gains.

N. Cardwell et al.: BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016; the gains are those of
net/ipv4/tcp_bbr.c, in units of 1/256: bbr_high_gain = 739 (2/ln 2), bbr_drain_gain = 88, bbr_cwnd_gain = 512.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.rundir import RunDir

UNIT = 256
"""A gain of 1."""
_HIGH_GAIN = 700
_DRAIN_GAIN = 100


class Phase(StrEnum):
    """A mode of BBR (`enum bbr_mode`)."""

    STARTUP = "Startup"
    DRAIN = "Drain"
    PROBE_BW = "ProbeBW"
    PROBE_RTT = "ProbeRTT"


@dataclass(frozen=True)
class Span:
    """A phase, and its begin and end in seconds from the start of the run."""

    phase: Phase
    start_s: float
    end_s: float


def bbr_spans(
    times_ns: NDArray[np.int64], pacing_gains: NDArray[np.int64], window_gains: NDArray[np.int64], end_ns: int
) -> list[Span]:
    """Derive the phases from the gains after each ACK (in 1/256); each lasts until the next, the last to `end_ns`.

    Startup paces and sizes its window by the high gain; Drain keeps that window but paces slowly; ProbeRTT has both at
    1; everything else is ProbeBW, whose window gain is 2 whatever its pacing cycle does.
    """
    if len(times_ns) == 0:
        return []
    order = list(Phase)
    high = window_gains >= _HIGH_GAIN
    codes = np.full(len(times_ns), order.index(Phase.PROBE_BW))
    codes[high] = order.index(Phase.STARTUP)
    codes[high & (pacing_gains < _DRAIN_GAIN)] = order.index(Phase.DRAIN)
    codes[(window_gains == UNIT) & (pacing_gains == UNIT)] = order.index(Phase.PROBE_RTT)
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    moments = np.append(times_ns[starts], max(end_ns, int(times_ns[-1]))) / 1e9
    return [Span(order[codes[at]], *moments[number : number + 2].tolist()) for number, at in enumerate(starts)]


@dataclass(frozen=True)
class BbrState:
    """BBR's state after each ACK: times in ns, gains in 1/256, the estimate of the bandwidth in bit/s."""

    times_ns: NDArray[np.int64]
    pacing_gains: NDArray[np.int64]
    window_gains: NDArray[np.int64]
    bandwidths_bps: NDArray[np.int64]


def bbr_states(run: RunDir, flows: Sequence[FlowData]) -> dict[str, BbrState]:
    """The state of every flow under BBR, by the flow's name. This needs exact records: samples are too far apart."""
    if not run.has_rows("acks"):
        return {}
    wanted = ("time_ns", "bbr_pacing_gain", "bbr_cwnd_gain", "bbr_bw_bps")
    frame = run.scan("acks").select("tuple_id", *wanted).drop_nulls().collect()
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    names = {data.flow.id: data.flow.name for data in flows}
    found: dict[int, BbrState] = {}
    for (tuple_id,), part in frame.partition_by("tuple_id", as_dict=True).items():
        if (flow_id := flow_of.get(int(tuple_id))) in names:
            ordered = part.sort("time_ns", maintain_order=True)
            found[flow_id] = BbrState(*(ordered[name].cast(pl.Int64).to_numpy() for name in wanted))
    return {names[flow_id]: found[flow_id] for flow_id in sorted(found)}


def flow_phases(run: RunDir, flows: Sequence[FlowData]) -> dict[str, list[Span]]:
    """The phases of every flow under BBR, by the flow's name."""
    ends = {data.flow.name: data.window.end_ns for data in flows}
    return {
        name: bbr_spans(state.times_ns, state.pacing_gains, state.window_gains, ends[name])
        for name, state in bbr_states(run, flows).items()
    }

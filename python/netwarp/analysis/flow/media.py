"""Media streams: packets too late for their playout, the delay from mouth to ear, the E-model, and the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.datagrams import Datagrams, sending_times
from netwarp.lab_format.model import LabFlow
from netwarp.stats.e_model import MOST_LOSS_PCT, equipment_impairment, mean_opinion_score, rating
from netwarp.stats.weighting import Times, TimeWeighted, Values, Window, pool, time_weighted, weighted_mean
from netwarp.store.rundir import RunDir
from netwarp.store.streams import StreamState
from netwarp.values.codecs import CODECS, CodecName
from netwarp.values.constants import NS_PER_MS, NS_PER_S

_ADAPTED_NS = NS_PER_S
"""How often a playout buffer adapts: about the length of a talkspurt (1.004 s: ITU-T P.59)."""


@dataclass(frozen=True)
class Playout:
    """How a stream is played out: its frames' interval, its buffer or deadline, its codec."""

    interval_ns: int
    playout_ns: int
    deadline_ns: int | None
    codec: CodecName | None

    @property
    def before_sending_ms(self) -> float:
        """The age of the first sample of a frame when it is sent: the frame itself, and the codec's lookahead."""
        return self.interval_ns / NS_PER_MS + (CODECS[self.codec].lookahead_ms if self.codec else 0.0)

    def delays_ns(self, datagrams: Datagrams, sent_ns: Times) -> Times:
        """The time from sending to playout of packets that were sent at these times.

        An adaptive buffer takes, for each second, the median delay of the packets that arrived in the last second in
        which any did, and its playout time; in the first second the delay of the first packet.
        """
        if self.deadline_ns is not None:
            return np.full(len(sent_ns), self.deadline_ns, np.int64)
        if not len(datagrams.received_ns):
            return np.full(len(sent_ns), self.playout_ns, np.int64)
        base_ns = int(datagrams.received_ns[0])
        arrived = pl.DataFrame(
            {"second": (datagrams.received_ns - base_ns) // _ADAPTED_NS, "delay": datagrams.delays_ns}
        )
        medians = arrived.group_by("second").agg(pl.col("delay").median()).sort("second", maintain_order=True)
        seconds, usual = medians["second"].to_numpy(), medians["delay"].to_numpy()
        # A second begins with the first arrival, so that packets of the first one have its delay.
        at = np.searchsorted(seconds, (sent_ns - base_ns) // _ADAPTED_NS, side="left") - 1
        first = float(datagrams.delays_ns[0])
        chosen = np.where(at >= 0, usual[np.maximum(at, 0)], first)
        return np.round(chosen).astype(np.int64) + self.playout_ns


@dataclass(frozen=True)
class Played:
    """The fate of the packets sent in a window, where it is known, in the order in which they were sent."""

    lost: NDArray[np.bool_]
    late: NDArray[np.bool_]
    delays_ms: Values
    """From sending to playout."""
    playout: Playout


def played(datagrams: Datagrams, playout: Playout, window: Window, run_end_ns: int) -> Played:
    """Play out the packets sent in the window.

    As for losses, those sent within the longest delay before the run's end do not count: they may only be cut off.
    """
    sent_ns = sending_times(datagrams, window)
    delays_ns = playout.delays_ns(datagrams, sent_ns)
    taken_ns = np.full(datagrams.sent_pkts, -1, np.int64)
    first = datagrams.first
    taken_ns[datagrams.sequence[first]] = datagrams.delays_ns[first]
    longest_ns = int(datagrams.delays_ns[window.mask(datagrams.sent_ns)].max(initial=0))
    known = window.mask(sent_ns) & (sent_ns <= run_end_ns - longest_ns)
    lost = taken_ns < 0
    late = ~lost & (taken_ns > delays_ns)
    return Played(lost[known], late[known], delays_ns[known] / NS_PER_MS, playout)


def playout_metrics(parts: Sequence[Played]) -> dict[str, float | int | None]:
    """Return the late and lost packets and the quality of the call, for some streams together."""
    packets = sum(len(part.lost) for part in parts)
    if not packets:
        return {}
    late = sum(int(part.late.sum()) for part in parts)
    gone = late + sum(int(part.lost.sum()) for part in parts)
    delay_ms = float(np.concatenate([part.delays_ms + part.playout.before_sending_ms for part in parts]).mean())
    lost_pct = 100 * gone / packets
    found: dict[str, float | int | None] = {
        "late_pct": 100 * late / packets,
        "media_loss_pct": lost_pct,
        "mouth_to_ear_ms_mean": delay_ms,
    }
    codecs = {part.playout.codec for part in parts}
    if len(codecs) == 1 and (name := codecs.pop()) is not None and lost_pct <= MOST_LOSS_PCT:
        codec = CODECS[name]
        bursts = _burst_ratio(parts, gone / packets)
        impairment = equipment_impairment(codec.impairment, codec.robustness, lost_pct, bursts)
        r = rating(delay_ms, impairment)
        found |= {"r_factor": r, "mos": mean_opinion_score(r)}
    return found


def _burst_ratio(parts: Sequence[Played], share: float) -> float:
    """BurstR of G.107: the mean length of bursts of losses, late packets included, in place of that of independent
    ones, 1 / (1 − share)."""
    lost = bursts = 0
    for part in parts:
        gone = part.lost | part.late
        lost += int(gone.sum())
        bursts += int((gone & ~np.concatenate([[False], gone[:-1]])).sum())
    return lost / bursts * (1 - share) if bursts else 1.0


def load_playouts(run: RunDir) -> dict[int, Playout]:
    """Load how media streams are played out, by flow id."""
    if not any(flow.kind.media for flow in run.description.flows):
        return {}
    media = {flow.id for flow in run.description.flows if flow.kind.media}
    return {flow.id: _playout(flow) for flow in run.lab.flows if flow.id in media}


def _playout(flow: LabFlow) -> Playout:
    deadline_ns = None if flow.own.get("deadline_ns") is None else flow.number("deadline_ns")
    codec = next((name for name in CODECS if name == flow.own.get("codec")), None)
    return Playout(flow.number("interval_ns"), flow.number("playout_ns"), deadline_ns, codec)


@dataclass(frozen=True)
class RateControl:
    """The reports that the sender of an adaptive stream acted on, in order of time: a row of the table each."""

    frame: pl.DataFrame

    def targets_mbps(self, window: Window) -> TimeWeighted:
        """The rates of media that it took in the window, each until the next report."""
        times: Times = self.frame["time_ns"].to_numpy()
        return time_weighted(times, self.frame["target_bps"].to_numpy() / 1e6, window)


def load_rate_controls(run: RunDir) -> dict[int, RateControl]:
    """Load the reports by flow id; empty if no stream is adaptive."""
    if run.state("rate_control") is StreamState.MISSING:
        return {}
    rows = run.scan("rate_control").sort("flow_id", "time_ns", maintain_order=True).collect()
    parts = rows.partition_by("flow_id", as_dict=True, include_key=False)
    return {int(flow_id): RateControl(part) for (flow_id,), part in parts.items()}


def target_mean_mbps(parts: Sequence[tuple[RateControl, Window]]) -> float | None:
    """The mean rate of media that the senders of some streams took, over time; None if none is adaptive."""
    return weighted_mean(pool([control.targets_mbps(window) for control, window in parts]))

"""Distributions of what has one within a run: RTTs, windows and queue lengths by time, sojourns by packet."""

from collections.abc import Sequence

import numpy as np

from netwarp.analysis.flows import load_flows, run_window
from netwarp.analysis.packets import as_packets, load_packets
from netwarp.analysis.queues import SENT, length_steps
from netwarp.analysis.weighting import Held, hold, pool
from netwarp.store.rundir import RunDir

# What is distributed: stem → (scope, what a value's share is a share of).
DISTRIBUTED = {
    "rtt_ms": ("flow", "time"),
    "cwnd_pkts": ("flow", "time"),
    "srtt_ms": ("flow", "time"),
    "length_pkts": ("queue", "time"),
    "sojourn_ms": ("queue", "packets"),
}


def distributed_stem(metric: str) -> str | None:
    """The stem of a metric that sums up a distribution: `rtt_ms_p95` → `rtt_ms`; None if it does not."""
    stem = next((stem for stem in DISTRIBUTED if metric == stem or metric.startswith(stem + "_")), None)
    return stem


def distribution(run: RunDir, scope: str, stem: str, name: str) -> Held:
    """Values and their weights (ns, or 1 a packet) in the run's window; empty without records of it."""
    if scope == "flow":
        parts = []
        for data in load_flows(run, passages=False):
            if name in (data.flow.name, data.flow.group):
                parts.append(data.rtts_ms() if stem == "rtt_ms" else data.state(stem))
        return pool(parts)
    return _queue(run, stem, name)


def _queue(run: RunDir, stem: str, name: str) -> Held:
    window = run_window(run.description)
    end = next((end for end in run.description.ends if end.name == name), None)
    if end is None or not run.has_rows("packets"):
        return pool([])
    packets = as_packets(load_packets(run, end.interface_index).get(end.interface_index))
    if stem == "length_pkts":
        return hold(*length_steps(packets), window)
    sent = (packets.fate == SENT) & window.mask(packets.dequeue_ns)
    sojourns = (packets.dequeue_ns[sent] - packets.enqueue_ns[sent]) / 1e6
    return Held(sojourns, np.ones(len(sojourns), np.int64))


def cumulative(held: Held, points: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """The empirical distribution function: (values, sorted; share of the weight at or below each), about `points`.

    Thinned evenly in the share, with both ends kept, so that a steep part keeps its shape.
    """
    if len(held) == 0:
        return np.empty(0), np.empty(0)
    order = np.argsort(held.values, kind="stable")
    values = held.values[order]
    shares = np.cumsum(held.weights_ns[order]) / int(held.weights_ns.sum())
    if len(values) > points:
        kept = np.unique(np.append(np.searchsorted(shares, np.linspace(0, 1, points)), len(values) - 1))
        kept = kept[kept < len(values)]
        values, shares = values[kept], shares[kept]
    return values, shares


def pooled(parts: Sequence[Held]) -> Held:
    """The distributions of several runs as one, each run with the weight it has."""
    return pool(list(parts))

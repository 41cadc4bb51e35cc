"""Exchanges that were completed: requests with their responses, and flows of a given size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netwarp.analysis.weighting import Times, Window, percentile
from netwarp.store.rundir import RunDir
from netwarp.store.streams import StreamState


@dataclass(frozen=True)
class Transfers:
    """A flow's completed exchanges, columns of equal length in order of completion."""

    start_ns: Times
    end_ns: Times


def load_transfers(run: RunDir) -> dict[int, Transfers]:
    """Completed exchanges by flow id: of flows that have any, and of all that make requests."""
    if run.state("transfers") is StreamState.MISSING:
        return {}
    frame = run.scan("transfers").select("flow_id", "start_ns", "end_ns").collect().sort("end_ns", maintain_order=True)
    none = np.empty(0, np.int64)
    found = {flow.id: Transfers(none, none) for flow in run.description.flows if flow.tool == "request"}
    for (flow_id,), part in frame.partition_by("flow_id", as_dict=True).items():
        found[int(flow_id)] = Transfers(part["start_ns"].to_numpy(), part["end_ns"].to_numpy())
    return found


def transfer_metrics(parts: Sequence[Transfers], window: Window, *, requests: bool) -> dict[str, float | int | None]:
    """Completion times of the exchanges that ended in the window, each counting once; of `requests` their rate, too."""
    inside = [(p, window.mask(p.end_ns)) for p in parts]
    times = np.concatenate([np.empty(0), *((p.end_ns[mask] - p.start_ns[mask]) / 1e6 for p, mask in inside)])
    if not parts:
        return {}
    return {
        "transfers": len(times),
        "completion_ms_mean": float(times.mean()) if len(times) else None,
        "completion_ms_p50": percentile(times, 50),
        "completion_ms_p95": percentile(times, 95),
        "completion_ms_p99": percentile(times, 99),
        "completion_ms_max": percentile(times, 100),
        "requests_per_s": len(times) / window.seconds if requests and window.length_ns else None,
    }

"""Exchanges that began: requests with their responses, flows of a given size; with their completion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.stats import censoring
from netwarp.stats.censoring import Durations
from netwarp.stats.weighting import Times, Window
from netwarp.store.rundir import RunDir
from netwarp.store.streams import StreamState


@dataclass(frozen=True)
class Transfers:
    """A flow's exchanges, columns of equal length: first those that were complete by the flow's end, in order.

    For the others `end_ns` is the end of the flow or the run: they took longer than until then.
    """

    start_ns: Times
    end_ns: Times
    complete: NDArray[np.bool_]
    payload_bytes: NDArray[np.int64]

    def durations_ms(self, window: Window) -> Durations:
        """The durations of exchanges that ended in the window, and the lower bounds of those under way at its end."""
        kept = self.counts_in(window)
        until = np.minimum(self.end_ns[kept], window.end_ns)
        return Durations((until - self.start_ns[kept]) / 1e6, self.complete[kept] & (self.end_ns[kept] <= until))

    def counts_in(self, window: Window) -> NDArray[np.bool_]:
        """The exchanges that ended in the window, or were under way at its end, as a mask."""
        # An exchange may end after the run, by packets that were still on the wires: at the run's end it had not ended.
        return (window.mask(self.end_ns) & self.complete) | self._under_way(window)

    def _under_way(self, window: Window) -> NDArray[np.bool_]:
        begun: NDArray[np.bool_] = self.start_ns < window.end_ns
        return begun & (~self.complete | (self.end_ns > window.end_ns))

    def delivered(self, window: Window) -> tuple[int, Window] | None:
        """Payload and time of the last exchange that ended in the window; None if none did."""
        ended = np.flatnonzero(window.mask(self.end_ns) & self.complete)
        if not len(ended):
            return None
        last = int(ended[-1])
        return int(self.payload_bytes[last]), Window(int(self.start_ns[last]), int(self.end_ns[last]))


def load_transfers(run: RunDir) -> dict[int, Transfers]:
    """Load exchanges by flow id, for flows that began any, and for all that make requests."""
    if run.state("transfers") is StreamState.MISSING:
        return {}
    none = np.empty(0, np.int64)
    requesting = [flow.id for flow in run.description.flows if flow.kind.requests or flow.kind.new_connections]
    found = {flow_id: Transfers(none, none, np.empty(0, np.bool_), none) for flow_id in requesting}
    if not run.has_rows("transfers"):
        return found
    # A transfer that began in time may go on after its flow's time if it has its own connection.
    whole_ns = run.description.duration_ns
    ends = {
        flow.id: whole_ns if flow.kind.new_connections else min(flow.end_ns, whole_ns) for flow in run.description.flows
    }
    frame = run.scan("transfers").select("flow_id", "start_ns", "end_ns", "bytes").collect()
    frame = frame.with_columns(complete=pl.col("end_ns").is_not_null())
    frame = frame.with_columns(pl.col("end_ns").fill_null(pl.col("flow_id").replace_strict(ends, default=0)))
    frame = frame.sort(~pl.col("complete"), "end_ns", maintain_order=True)
    for (flow_id,), part in frame.partition_by("flow_id", as_dict=True).items():
        found[int(flow_id)] = Transfers(
            part["start_ns"].to_numpy(),
            part["end_ns"].to_numpy(),
            part["complete"].to_numpy(),
            part["bytes"].cast(pl.Int64).to_numpy(),
        )
    return found


def transfer_metrics(
    parts: Sequence[tuple[Transfers, Window]], window: Window, *, requests: bool
) -> dict[str, float | int | None]:
    """Completion times of exchanges, each flow's in its own window, and for `requests` their rate."""
    if not parts:
        return {}
    durations = censoring.together([transfers.durations_ms(own) for transfers, own in parts])
    ended = int(durations.ended.sum())
    percentiles = ((f"p{percent}", percent) for percent in (50, 95, 99))
    return {
        "transfers": ended,
        "transfers_incomplete": durations.unended,
        "completion_ms_mean": censoring.mean_of(durations),
        **{
            f"completion_ms_{name}": censoring.percentile_of(durations, percent)
            for name, percent in (*percentiles, ("max", 100))
        },
        "requests_per_s": ended / window.seconds if requests and window.length_ns else None,
    }

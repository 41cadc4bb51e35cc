"""Completion times of transfers that each have their own connection: by size, beside those of an empty path, and
the load that they offer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.flow.transfers import Transfers
from netwarp.stats import censoring
from netwarp.stats.censoring import Durations
from netwarp.stats.weighting import Window
from netwarp.store.empty_path import EmptyPath
from netwarp.values.size_ranges import SIZES

_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Completions:
    """The transfers of one flow: those that count in its `window`, the time `arriving` in which they begin there, and
    the flow's path if that is known."""

    transfers: Transfers
    window: Window
    arriving: Window
    path: EmptyPath | None

    def durations_ms(self) -> Durations:
        """The durations of the transfers that count."""
        return self.transfers.durations_ms(self.window)

    def sizes_bytes(self) -> NDArray[np.int64]:
        """The sizes of the same transfers."""
        return self.transfers.payload_bytes[self.transfers.counts_in(self.window)]

    def slowdowns(self) -> Durations:
        """Their durations as multiples of those on an empty path; empty if the path is not known."""
        found = self.durations_ms()
        if self.path is None:
            return Durations(np.empty(0), np.empty(0, np.bool_))
        return Durations(found.values / (self.path.ideal_ns(self.sizes_bytes()) / 1e6), found.ended)

    def offered_bytes(self) -> NDArray[np.int64]:
        """The sizes of the transfers that begin in the window."""
        start_ns = self.transfers.start_ns
        begun = (start_ns >= self.arriving.start_ns) & (start_ns < self.arriving.end_ns)
        return self.transfers.payload_bytes[begun]

    def offered_ns(self) -> float:
        """The time that the slowest link of the path takes to send these; 0 if the path is not known."""
        return float(self.path.busy_ns(self.offered_bytes()).sum()) if self.path else 0.0


def completion_metrics(flows: Sequence[Completions]) -> dict[str, float | int | None]:
    """Slowdowns, completion times and numbers of transfers by size, and the offered load, of flows together."""
    if not flows:
        return {}
    durations = censoring.together([flow.durations_ms() for flow in flows])
    sizes = np.concatenate([flow.sizes_bytes() for flow in flows])
    known = all(flow.path is not None for flow in flows)
    slowdowns = censoring.together([flow.slowdowns() for flow in flows]) if known else None
    return {
        **(_spread("slowdown", slowdowns, 100) if slowdowns else {}),
        **dict(_by_size(sizes, durations, slowdowns)),
        "offered_mbps": _over_time([8e3 * int(flow.offered_bytes().sum()) for flow in flows], flows),
        "offered_load_pct": _over_time([100 * flow.offered_ns() for flow in flows], flows) if known else None,
    }


def _by_size(
    sizes: NDArray[np.int64], durations: Durations, slowdowns: Durations | None
) -> Iterator[tuple[str, float | int | None]]:
    """Metrics of each range of sizes of which there are transfers."""
    for name, (above, most) in SIZES.items():
        kept = (sizes > above) & (sizes <= most)
        if not kept.any():
            continue
        part = _part(durations, kept)
        yield f"transfers_{name}", int(part.ended.sum())
        yield f"transfers_incomplete_{name}", part.unended
        yield from _spread(f"completion_{name}_ms", part).items()
        if slowdowns is not None:
            yield from _spread(f"slowdown_{name}", _part(slowdowns, kept)).items()


def _part(durations: Durations, kept: NDArray[np.bool_]) -> Durations:
    return Durations(durations.values[kept], durations.ended[kept])


def _spread(stem: str, durations: Durations, *more: int) -> dict[str, float | None]:
    names = {percent: "max" if percent == 100 else f"p{percent}" for percent in (*_PERCENTILES, *more)}
    return {
        f"{stem}_mean": censoring.mean_of(durations),
        **{f"{stem}_{name}": censoring.percentile_of(durations, percent) for percent, name in names.items()},
    }


def _over_time(amounts: Sequence[float], flows: Sequence[Completions]) -> float | None:
    """The sum of the amounts of flows, per ns of the time from the first beginning to the last end."""
    begin, end = min(flow.arriving.start_ns for flow in flows), max(flow.arriving.end_ns for flow in flows)
    return sum(amounts) / (end - begin) if end > begin else None

"""Pages that clients of HTTP load: how long each takes, in time and in round trips of its path."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.transfers import Transfers
from netwarp.lab_format.model import LabFlow
from netwarp.stats import censoring
from netwarp.stats.censoring import Durations
from netwarp.stats.weighting import Times, Window
from netwarp.store.empty_path import empty_path
from netwarp.store.rundir import RunDir
from netwarp.values.constants import NS_PER_MS


@dataclass(frozen=True)
class Pages:
    """The pages of one flow: their loads, the times to the first byte of their documents, and their objects, from when
    the client knew of each.

    `together`: for each object that was completed, at `ended_ns`, whether another of its page was at the same instant,
    before it. Both are empty if no two objects of a page are under way at a time.

    `round_trip_ns`: the delays of the path there and back; None if they are unknown, or 0.
    """

    loads: Transfers
    first_bytes: Transfers
    objects: Transfers
    ended_ns: Times
    together: NDArray[np.bool_]
    round_trip_ns: int | None

    def in_round_trips(self, durations: Durations) -> Durations:
        """Durations in ms as multiples of the round trip; empty if that is not known."""
        if self.round_trip_ns is None:
            return Durations(np.empty(0), np.empty(0, np.bool_))
        return Durations(durations.values * NS_PER_MS / self.round_trip_ns, durations.ended)


def load_pages(run: RunDir) -> dict[int, Pages]:
    """Load the pages of HTTP flows by flow id. A flow that failed before its first page has none."""
    ids = {flow.id for flow in run.description.flows if flow.kind.pages}
    if not ids:
        return {}
    end_ns = run.description.duration_ns
    pages = run.scan("pages").with_columns(pl.col("bytes").cast(pl.Int64)).collect()
    known = run.scan("objects").filter(pl.col("known_ns").is_not_null())
    objects = known.with_columns(pl.col("bytes").cast(pl.Int64), start_ns="known_ns").collect()
    found: dict[int, Pages] = {}
    for flow in run.lab.flows:
        if flow.id not in ids:
            continue
        own = pages.filter(flow_id=flow.id)
        its_objects = objects.filter(flow_id=flow.id)
        ended = its_objects.filter(pl.col("end_ns").is_not_null()).sort("page", "end_ns", maintain_order=True)
        if not _several_at_a_time(flow):
            ended = ended.clear()
        together = ended.select(pl.col("end_ns").eq_missing(pl.col("end_ns").shift(1).over("page"))).to_series()
        path = empty_path(run.lab, flow)
        found[flow.id] = Pages(
            _until(own, "end_ns", end_ns),
            _until(own, "first_byte_ns", end_ns),
            _until(its_objects, "end_ns", end_ns),
            ended["end_ns"].to_numpy(),
            together.to_numpy(),
            (path.round_trip_ns or None) if path else None,
        )
    return found


def _several_at_a_time(flow: LabFlow) -> bool:
    """Whether objects of a page may be under way together: one that names another, as the document does, is complete
    before that is requested, and a single connection of HTTP/1.1 has one object at a time."""
    one_by_one = flow.own["version"] == "1.1" and flow.number("most_connections") == 1
    return flow.number("objects") > flow.number("depth") and not one_by_one


def _until(rows: pl.DataFrame, column: str, run_end_ns: int) -> Transfers:
    """Pages or objects as transfers that end at a time of theirs, those where this came first."""
    frame = rows.select(
        "start_ns", "bytes", complete=pl.col(column).is_not_null(), until_ns=pl.col(column).fill_null(run_end_ns)
    ).sort(~pl.col("complete"), "until_ns", maintain_order=True)
    return Transfers(
        frame["start_ns"].to_numpy(),
        frame["until_ns"].to_numpy(),
        frame["complete"].to_numpy(),
        frame["bytes"].to_numpy(),
    )


def page_metrics(parts: Sequence[tuple[Pages, Window]]) -> dict[str, float | int | None]:
    """Load times and times to the first byte of some flows together, each in its own window; empty without pages."""
    if not parts:
        return {}
    loads = [pages.loads.durations_ms(window) for pages, window in parts]
    firsts = [pages.first_bytes.durations_ms(window) for pages, window in parts]
    objects = [pages.objects.durations_ms(window) for pages, window in parts]
    known = all(pages.round_trip_ns is not None for pages, _ in parts)
    all_loads = censoring.together(loads)
    found: dict[str, float | int | None] = {
        "pages": int(all_loads.ended.sum()),
        "pages_incomplete": all_loads.unended,
        **_spread("page_load_ms", all_loads, (50, 95, 99, 100)),
        **_spread("ttfb_ms", censoring.together(firsts), (50, 95)),
        **_spread("object_ms", censoring.together(objects), (50, 95, 99)),
    }
    held = np.concatenate([pages.together[window.mask(pages.ended_ns)] for pages, window in parts])
    found["objects_together_pct"] = 100 * float(held.mean()) if len(held) else None
    if known:
        for stem, durations in (("page_load_rtts", loads), ("ttfb_rtts", firsts)):
            trips = [pages.in_round_trips(one) for (pages, _), one in zip(parts, durations, strict=True)]
            found |= _spread(stem, censoring.together(trips), (50,))
    return found


def _spread(stem: str, durations: Durations, percentiles: Sequence[int]) -> dict[str, float | None]:
    names = {percent: "max" if percent == 100 else f"p{percent}" for percent in percentiles}
    return {
        f"{stem}_mean": censoring.mean_of(durations),
        **{f"{stem}_{name}": censoring.percentile_of(durations, percent) for percent, name in names.items()},
    }

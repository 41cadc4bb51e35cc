"""The power of links and nodes over time."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import polars as pl

from netwarp.analysis.energy.traffic import parts_of
from netwarp.stats.weighting import Window
from netwarp.store.rundir import RunDir


def power(run: RunDir, window: Window, interval_ns: int) -> dict[str, pl.DataFrame]:
    """The mean power of each link, in both directions together, and of each node that has a model, by their names: in
    each whole interval of the window time_s (its middle) and power_w. Empty without a model or exact records.

    Raises StoreError.
    """
    edges = np.arange(window.start_ns, window.end_ns + 1, interval_ns, dtype=np.int64)
    if len(edges) < 2:
        return {}
    middles = (edges[:-1] + edges[1:]) / 2e9
    found = {}
    for (scope, name), parts in groupby(parts_of(run), key=lambda part: (part.scope, part.whole)):
        watts = sum(part.consumption.joules(edges) for part in parts) / (interval_ns / 1e9)
        found[f"{scope} {name}"] = pl.DataFrame({"time_s": middles, "power_w": watts})
    return found

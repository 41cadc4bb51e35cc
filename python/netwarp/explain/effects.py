"""Consequences of a divergence: the largest differences of two runs' metrics, computed from that time on."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.catalogue.entry import MinEffect
from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.analysis.run.metrics import metrics_since
from netwarp.store.rundir import RunDir

MAX_EFFECTS = 10
_STATISTIC = re.compile(r"_(?:mean|min|max|p\d+)$")
_KEYS = ("scope", "name", "metric")


@dataclass(frozen=True)
class Effect:
    """A metric's values in A and B; `size` is their difference in units of the smallest difference that matters."""

    scope: str
    name: str
    metric: str
    a: float
    b: float
    size: float


def effects_since(a: RunDir, b: RunDir, begin_ns: int) -> list[Effect]:
    """The differences after `begin_ns`, the largest first; of several statistics of a quantity only the largest."""
    of_a, of_b = metrics_since(a, begin_ns), metrics_since(b, begin_ns)
    both = of_a.join(of_b, on=_KEYS, suffix="_b").filter(pl.col("value") != pl.col("value_b"))
    found = [_effect(*row) for row in both.select(*_KEYS, "value", "value_b").iter_rows()]
    found.sort(key=lambda effect: (-effect.size, effect.scope, effect.name, effect.metric))
    return list(_once(found))[:MAX_EFFECTS]


def _effect(scope: str, name: str, metric: str, a: float, b: float) -> Effect:
    entry = entry_of(scope, metric)
    least = (entry.min_effect if entry else MinEffect(0.05, 0.0)).of(max(abs(a), abs(b)))
    return Effect(scope, name, metric, a, b, abs(b - a) / least)


def _once(effects: Iterable[Effect]) -> Iterable[Effect]:
    seen = set()
    for effect in effects:
        quantity = effect.scope, effect.name, _STATISTIC.sub("", effect.metric)
        if quantity not in seen:
            seen.add(quantity)
            yield effect

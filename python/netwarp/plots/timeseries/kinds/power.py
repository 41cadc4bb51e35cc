"""The power of links and nodes that have a model of energy, over time."""

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.energy import series
from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.figure_specs import lines_of
from netwarp.plots.timeseries.kinds.base import Kind, Made, Named, Source, curve_of, spoken
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.store.result import ResultDir

_POWER = "power"


def _named(source: Source) -> Named:
    """The power of links and nodes over time, the largest consumers first."""
    frames = series.power(source.run, source.window, source.interval_ns)
    most = sorted(frames, key=lambda name: -float(frames[name]["power_w"].mean() or 0))  # type: ignore[arg-type]
    if not most:
        return
    how = f"by their models of energy, in each {spoken(source.interval_ns)}; links in both directions together"
    axis = str(axis_of("run", "power_w"))
    quantity = Quantity(
        _POWER, "Power of links and nodes", how, axis, False, interval_s=source.interval_ns / 1e9, empties=True
    )
    yield quantity, {name: curve_of(frames[name]) for name in most[:MAX_DISTINCT]}


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    for quantity in dict.fromkeys(q for run in run_set.runs for q in run.named if q.stem == _POWER):
        yield run_set.stem_of(quantity.stem), lines_of(result, run_set, quantity), True


KIND = Kind(
    _POWER,
    "`power`",
    "the power of links and nodes that have a model of energy ([energy.md](energy.md)), the largest first",
    "`packets`",
    named=_named,
    figures=_figures,
    in_report=True,
)

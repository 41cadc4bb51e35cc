"""Jain's index over time."""

from netwarp.analysis.flow.sharing import INTERVAL_NS, jain_over_time
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Measure, Panels, Source

_JAIN = Quantity(
    "jain-index",
    "Jain's index over time",
    "goodputs of the TCP flows in each second that two of them or more are active in",
    "Jain's index",
    False,
    interval_s=INTERVAL_NS / 1e9,
)


def _frames(source: Source) -> Frames:
    yield _JAIN, jain_over_time(source.flows, source.window)


def _panels(source: Source) -> Panels:
    measure = Measure("jain", _JAIN.title, _JAIN.how, "1 = all alike", False)
    yield measure, "", jain_over_time(source.everyone, source.window)


KIND = Kind(_JAIN.stem, f"`{_JAIN.stem}`", "Jain's index in each second", "`arrivals`", frames=_frames, panels=_panels)

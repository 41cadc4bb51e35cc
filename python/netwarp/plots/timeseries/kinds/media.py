"""The rate of adaptive media streams over time."""

from collections.abc import Sequence

import polars as pl

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.flow.flows import FlowData
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Measure, Panels, Read, Records, Source, single

_MEDIA = "media-"
_HOW = "the sender's, after each report of the receiver"
_AXIS = axis_of("flow", "media_rate_mbps")
_RATE = '''
def media_rate(run, flow_id):
    """The rate of media after each report, in Mbit/s."""
    reports = table(run, "rate_control").filter(flow_id=flow_id).sort("time_ns", maintain_order=True)
    return reports["time_ns"] / 1e9, reports["target_bps"] / 1e6
'''


def _rates(data: FlowData) -> pl.DataFrame:
    """The rate of media after each report: time_s, rate_mbps. Empty for other flows."""
    if data.rate_control is None:
        return pl.DataFrame(schema={"time_s": pl.Float64, "rate_mbps": pl.Float64})
    return data.rate_control.frame.select(time_s=pl.col("time_ns") / 1e9, rate_mbps=pl.col("target_bps") / 1e6)


def _adaptive(flows: Sequence[FlowData]) -> Sequence[FlowData]:
    return [data for data in flows if data.rate_control is not None]


def _frames(source: Source) -> Frames:
    for data in _adaptive(source.flows):
        group = data.flow.group
        yield Quantity(f"{_MEDIA}{group}", f"Media rate of {group}", _HOW, str(_AXIS), True, group), _rates(data)


def _panels(source: Source) -> Panels:
    measure = Measure("media", "Media rate", _HOW, _AXIS.unit, True)
    for data in _adaptive(source.flows):
        yield measure, data.flow.name, _rates(data)


def _read(one: Records, group: str) -> Read:
    for data in _adaptive(one.of(group)):
        yield "media_rate", (one.name, data.flow.id)


KIND = Kind(
    _MEDIA,
    "`media-FLOW`",
    "the rate of an adaptive media stream over time",
    "`rate_control`",
    frames=_frames,
    panels=_panels,
    script=single(_read, str(_AXIS), steps=True),
    readers={"media_rate": _RATE},
)

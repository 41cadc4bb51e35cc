"""A video over time: the bitrate that its player chose, and the playback in its buffer."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.video import Video
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Call, Frames, Kind, Measure, Panels, Records, Script, Source

_VIDEO = "video-"
_BITRATE, _BUFFER = "bitrate-", "buffer-"
_CHOSEN = "the player's choice, at each request of a segment"
_LEVEL = "what was delivered, less what was played"
_BITRATE_AXIS = axis_of("flow", "bitrate_mbps")
_BUFFER_AXIS = axis_of("flow", "buffer_s")
_READ_BITRATE = '''
def bitrate(run, flow_id):
    """The bitrate of each segment from its request on, in Mbit/s."""
    segments = table(run, "segments").filter(flow_id=flow_id).sort("segment")
    return segments["requested_ns"] / 1e9, segments["bitrate_bps"] / 1e6
'''
_READ_BUFFER = '''
def buffer(run, flow_id):
    """The playback in the buffer in s, at each request and at the end of each segment."""
    segments = table(run, "segments").filter(flow_id=flow_id)
    asked = segments.select(time="requested_ns", level="buffer_ns")
    added = segments.drop_nulls("buffer_end_ns").select(time="end_ns", level="buffer_end_ns")
    levels = pl.concat([asked, added]).sort("time", "level")
    return levels["time"] / 1e9, levels["level"] / 1e9
'''


def _watched(flows: Sequence[FlowData]) -> Iterator[tuple[FlowData, Video]]:
    return ((data, data.video) for data in flows if data.video is not None)


def _bitrates(video: Video, end_ns: int) -> pl.DataFrame:
    """The bitrate from each request on, until the end of the flow: time_s, bitrate_mbps."""
    times = video.segments["requested_ns"] / 1e9
    mbps = video.segments["bitrate_bps"] / 1e6
    return pl.DataFrame(
        {
            "time_s": np.append(times.to_numpy(), [end_ns / 1e9][: len(times)]),
            "bitrate_mbps": np.append(mbps.to_numpy(), mbps[-1:].to_numpy()),
        }
    )


def _levels(video: Video) -> pl.DataFrame:
    """The playback in the buffer where it bends, and before and after each segment: time_s, buffer_s."""
    times, before, after = video.buffer_curve()
    return pl.DataFrame({"time_s": np.repeat(times / 1e9, 2), "buffer_s": np.column_stack([before, after]).ravel()})


def _frames(source: Source) -> Frames:
    for data, video in _watched(source.flows):
        group = data.flow.group
        bitrate = Quantity(
            f"{_VIDEO}{_BITRATE}{group}", f"Bitrate of {group}", _CHOSEN, str(_BITRATE_AXIS), True, group
        )
        yield bitrate, _bitrates(video, data.window.end_ns)
        buffer = Quantity(
            f"{_VIDEO}{_BUFFER}{group}", f"Buffer of {group}", _LEVEL, str(_BUFFER_AXIS), False, group, empties=True
        )
        yield buffer, _levels(video)


def _panels(source: Source) -> Panels:
    bitrate = Measure("bitrate", "Video bitrate", _CHOSEN, _BITRATE_AXIS.unit, True)
    buffer = Measure("buffer", "Playback in the buffer", _LEVEL, _BUFFER_AXIS.unit, False)
    for data, video in _watched(source.flows):
        yield bitrate, data.flow.name, _bitrates(video, data.window.end_ns)
        yield buffer, data.flow.name, _levels(video)


def _script(about: str, runs: Sequence[Records]) -> Script:
    """The curves of all runs in one panel; `about` is which of the two, and the flow's name."""
    shows_bitrate = about.startswith(_BITRATE)
    group = about.removeprefix(_BITRATE if shows_bitrate else _BUFFER)
    reader = "bitrate" if shows_bitrate else "buffer"
    calls = [
        Call(0, one.label, *one.look, reader, (one.name, data.flow.id))
        for one in runs
        for data, _ in _watched(one.of(group))
    ]
    return Script(calls, [str(_BITRATE_AXIS if shows_bitrate else _BUFFER_AXIS)], [0] if shows_bitrate else [])


KIND = Kind(
    _VIDEO,
    "`video-bitrate-FLOW`, `video-buffer-FLOW`",
    "the bitrate that a video's player chose, and the playback in its buffer, over time, with a strip of its playback: "
    "starting, playing, stalled",
    "`segments`, `playback`",
    frames=_frames,
    panels=_panels,
    script=_script,
    readers={"bitrate": _READ_BITRATE, "buffer": _READ_BUFFER},
)

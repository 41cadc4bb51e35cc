"""`video`: adaptive streaming of a video over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from netwarp.flows.kind import TOOL, FlowPath
from netwarp.flows.web import WebFields, WebFlow, WebKind
from netwarp.lab_format.quantities import Rate as LabRate
from netwarp.lab_format.quantities import Share, Text, Time, UInt32, meaning
from netwarp.values.constants import NS_PER_S
from netwarp.values.fields import Percent, PositiveDuration, Rate, about
from netwarp.values.units import format_duration, format_rate

LADDER_BPS = (350_000, 600_000, 1_000_000, 2_000_000, 3_000_000)
"""The bitrates of the video with which players of DASH were compared (X. Yin, A. Jindal, V. Sekar, B. Sinopoli: A
Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP, SIGCOMM 2015, section 7.1); as are segments
of 4 s, a buffer of 30 s, and for the buffer-based player a reservoir of 5 s and a cushion of 10 s in it."""
_SEGMENT_NS = 4 * NS_PER_S
_BUFFER_NS = 30 * NS_PER_S
_LEAST_SEGMENT_NS = NS_PER_S // 10
_SAFETY = 0.9
"""The share of the throughput that dash.js lets a bitrate have (its setting bandwidthSafetyFactor)."""
_OF_PLAYERS = {"reservoir": "buffer", "cushion": "buffer", "safety": "rate"}
"""The fields that only one player has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFields(WebFields):
    """The fields of a video and its player in the lab; the agent draws sizes from the seed."""

    player: Annotated[Text, meaning("buffer, rate or hybrid")]
    bitrates_bps: Annotated[tuple[LabRate, ...], meaning("the ladder, which rises")]
    segment_ns: Annotated[Time, meaning("playback in a segment")]
    segments: Annotated[UInt32 | None, meaning("of the video; null: until the flow's end")]
    size_sigma: Annotated[float, meaning("deviation of the logarithm of segments' sizes; 0: their bitrate's")]
    buffer_ns: Annotated[Time, meaning("the most playback in the buffer")]
    startup_ns: Annotated[Time, meaning("in the buffer when playback begins, and when it goes on after a stall")]
    reservoir_ns: Annotated[Time, meaning("of the player buffer: below it the lowest bitrate")]
    cushion_ns: Annotated[Time, meaning("of the player buffer: above both the highest bitrate")]
    safety: Annotated[Share, meaning("of the player rate: the share of the throughput that a bitrate may have")]


class VideoFlow(WebFlow):
    """A video that a viewer on `from` streams from a server on `to`, in segments over one connection, whose bitrates a
    player decides ([video.md](video.md)). Connection and server are those of `http`. `duration` is the time that the
    viewer watches; the flow ends before if the video does."""

    tool: Literal["video"] = about(TOOL, "video")
    player: Literal["buffer", "rate", "hybrid"] = about(
        "What decides the bitrate of the next segment: the level of the buffer (`buffer`, BBA-0), the throughput of "
        "the last five segments (`rate`), or both, by model predictive control (`hybrid`, RobustMPC).",
        "buffer",
        refused=["bola"],
        default="hybrid",
    )
    bitrates: tuple[Rate, ...] = about(
        "The bitrates of the video, which rise: at most ten.",
        ["1mbit", "2500kbit", "5mbit"],
        refused=[[], ["2mbit", "1mbit"]],
        default=LADDER_BPS,
        min_length=1,
        max_length=10,
    )
    segment: PositiveDuration = about(
        "How much playback a segment has.", "2s", refused=["0s", "50ms"], default=_SEGMENT_NS
    )
    segments: int | None = about(
        "The number of segments of the video; default: it lasts until the flow's end.",
        30,
        refused=[0],
        default=None,
        ge=1,
        le=10**6,
        strict=True,
    )
    size_sigma: float = about(
        "How much the sizes of segments vary: the deviation of their logarithm, which is normal, around a mean of "
        "bitrate times `segment`. A segment is as much larger or smaller at each bitrate. Players know bitrates only. "
        "Default: all have the mean.",
        0.3,
        refused=[-0.1, 2.1],
        default=0.0,
        ge=0,
        le=2,
    )
    buffer: PositiveDuration = about(
        "The most playback in the buffer: a segment is requested once it has room.",
        "60s",
        refused=["3s"],
        default=_BUFFER_NS,
    )
    startup: PositiveDuration | None = about(
        "Playback begins, and goes on after a stall, when so much is in the buffer; default: a segment.",
        "8s",
        refused=["29s"],
        default=None,
    )
    reservoir: PositiveDuration | None = about(
        "The player `buffer` takes the lowest bitrate while no more than this is in the buffer; default: a sixth of "
        "`buffer`.",
        "10s",
        refused=["30s"],
        beside={"player": "buffer"},
        default=None,
    )
    cushion: PositiveDuration | None = about(
        "The player `buffer` takes the highest bitrate once `reservoir` and this are in the buffer; default: a third "
        "of `buffer`.",
        "15s",
        refused=["30s"],
        beside={"player": "buffer"},
        default=None,
    )
    safety: Percent | None = about(
        "The player `rate` takes the highest bitrate up to this share of the throughput; default: 90 %.",
        "80%",
        refused=["0%", "101%"],
        beside={"player": "rate"},
        default=None,
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check the ladder, that the buffer has room for what must be in it, and whose fields are given."""
        yield from super().problems()
        for lower, higher in pairwise(self.bitrates):
            if lower >= higher:
                yield (
                    "bitrates",
                    f"must rise, and {format_rate(higher)} comes after {format_rate(lower)}; sort them, each once",
                )
        if self.segment < _LEAST_SEGMENT_NS:
            yield "segment", f"must be at least {format_duration(_LEAST_SEGMENT_NS)}: a segment is a request"
        if self.buffer < self.segment:
            yield "buffer", f"has no room for a segment of {format_duration(self.segment)}; raise it"
        elif self._startup > (holds := self.buffer // self.segment * self.segment):
            yield (
                "startup",
                f"the buffer of {format_duration(self.buffer)} holds whole segments of {format_duration(holds)}, so "
                "that playback would never begin; lower `startup`, or raise `buffer`",
            )
        for name, player in _OF_PLAYERS.items():
            if getattr(self, name) is not None and self.player != player:
                yield name, f'applies to the player "{player}" only; write player = "{player}", or leave `{name}` out'
        if self._reservoir + self._cushion > self.buffer:
            named = "reservoir" if self.reservoir is not None else "cushion"
            yield (
                named,
                f"reservoir and cushion are {format_duration(self._reservoir + self._cushion)} together, more than the "
                f"buffer of {format_duration(self.buffer)}; lower one of them",
            )
        if self.safety is not None and not 0 < self.safety <= 1:
            yield "safety", "must be more than 0 % and at most 100 %, such as 90%"

    @property
    def _startup(self) -> int:
        return self.segment if self.startup is None else self.startup

    @property
    def _reservoir(self) -> int:
        return self.buffer // 6 if self.reservoir is None else self.reservoir

    @property
    def _cushion(self) -> int:
        return self.buffer // 3 if self.cushion is None else self.cushion

    def lab_fields(self, path: FlowPath) -> VideoFields:
        """The video and its player, with all that defaults decide."""
        return VideoFields(
            **self.web_fields(path),
            player=self.player,
            bitrates_bps=self.bitrates,
            segment_ns=self.segment,
            segments=self.segments,
            size_sigma=self.size_sigma,
            buffer_ns=self.buffer,
            startup_ns=self._startup,
            reservoir_ns=self._reservoir,
            cushion_ns=self._cushion,
            safety=_SAFETY if self.safety is None else self.safety,
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The segments that fit into this time and the buffer, at the highest bitrate."""
        played_ns = active_ns + self.buffer
        if self.segments is not None:
            played_ns = min(played_ns, self.segments * self.segment)
        return self.bitrates[-1] * played_ns / (8 * NS_PER_S)


KIND = WebKind(
    "video",
    VideoFlow,
    VideoFields,
    transport="tcp",
    reverse=True,
    built_in=True,
    video=True,
    connects=True,
    ports=(False, True),
)

"""`media`: a stream of a call, in frames that must arrive in time, at a constant rate or with congestion control."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from netwarp.flows.kind import TOOL, FlowBase, FlowKind, FlowPath
from netwarp.flows.options import option_fields
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Rate as LabRate
from netwarp.lab_format.quantities import Text, Time, UInt32, Yes, meaning
from netwarp.values.codecs import CODECS, CodecName
from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_S, RTP_HEADER_BYTES, UDP_HEADER_BYTES
from netwarp.values.fields import Duration, PositiveDuration, Rate, about

_MOST_MEDIA_BYTES = 1200
"""Media bytes in a packet: the packet size that draft-ietf-rmcat-gcc-02 assumes (5.5)."""
_LEAST_FEEDBACK_NS = 1_000_000
_LEAST_MEDIA_BYTES = 4
_FIRST_RATE_BPS = 300_000
_LEAST_RATE_BPS = 100_000
_MOST_RATE_BPS = 2_500_000
_TYPES, _FIELDS = option_fields("udp")


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFields(LabObject):
    """The fields of a media stream in the lab; rates are of media, without headers."""

    adaptive: Annotated[Yes, meaning("controlled by draft-ietf-rmcat-gcc-02; otherwise constant")]
    rate_bps: Annotated[LabRate, meaning("of an adaptive stream its first")]
    min_rate_bps: LabRate
    max_rate_bps: LabRate
    interval_ns: Annotated[Time, meaning("between two frames")]
    packet_most_bytes: Annotated[UInt32, meaning("media in a packet; a larger frame is several packets")]
    feedback_ns: Annotated[Time, meaning("between two reports of the receiver")]
    playout_ns: Annotated[Time, meaning("for readers of records: of the playout buffer")]
    deadline_ns: Annotated[Time | None, meaning("for readers of records: from sending to playout; null: it adapts")]
    codec: Annotated[Text, meaning("for readers of records: of speech; empty: other media")]


class MediaFlow(FlowBase):
    """A stream of media from `from` to `to`: a frame at even intervals, over UDP, each packet with an RTP header of 12
    bytes. Its rates are of media, without any header. A call has one in each direction, a game small frames with a
    `deadline`.

    A packet that arrives after its frame is played out is lost for the listener, and counts as late. If `control` is
    `gcc`, the receiver reports arrivals (RFC 8888), and the size of frames follows the sender's estimate of the
    capacity."""

    tool: Literal["media"] = about(TOOL, "media")
    codec: CodecName | None = about(
        "A speech codec, in place of `rate`, for which there are R and MOS of the E-model: G.711 with (`g711`) or "
        "without concealment of losses, G.729A, GSM EFR.",
        "g729",
        refused=["opus"],
        default=None,
    )
    rate: Rate | None = about(
        "The rate of the media; of an adaptive stream the rate at which it begins. Default: that of the codec, or 300 "
        "kbit/s.",
        "1mbit",
        refused=["0bit"],
        default=None,
    )
    control: Literal["none", "gcc"] = about(
        "The congestion control: `none` for a constant rate, or Google Congestion Control "
        "(draft-ietf-rmcat-gcc-02; [media.md](media.md)).",
        "gcc",
        refused=["nada"],
        default="none",
    )
    min_rate: Rate | None = about(
        "The lowest rate of an adaptive stream; default: 100 kbit/s.",
        "150kbit",
        refused=["0bit"],
        beside={"control": "gcc"},
        default=None,
    )
    max_rate: Rate | None = about(
        "The highest rate of an adaptive stream; default: 2.5 Mbit/s.",
        "1500kbit",
        refused=["0bit"],
        beside={"control": "gcc"},
        default=None,
    )
    interval: PositiveDuration = about(
        "The time between two frames: 20 ms of speech, 33.333 ms at 30 frames per second.",
        "33333us",
        refused=["0s"],
        default=20_000_000,
    )
    feedback: PositiveDuration | None = about(
        "The time between two reports of the receiver of an adaptive stream; default: 100 ms.",
        "50ms",
        refused=["0s", "1ns"],
        beside={"control": "gcc"},
        default=None,
    )
    playout: Duration | None = about(
        "How much later than the usual packet the receiver plays a frame: each second it takes the median one-way "
        "delay of the second before, plus this time, as the time from sending to playout. Default: 40 ms.",
        "60ms",
        refused=["-1ms"],
        default=None,
    )
    deadline: PositiveDuration | None = about(
        "In place of `playout`: a fixed time from sending to playout, as in games.",
        "50ms",
        refused=["0s"],
        default=None,
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= _TYPES
        vars().update(_FIELDS)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that one field decides the rate, one the playout, and that the others apply."""
        adaptive = self.control == "gcc"
        if self.codec is not None and self.rate is not None:
            yield "rate", "both `codec` and `rate` decide the rate; leave one of them out"
        if self.codec is not None and adaptive:
            yield "control", f"the codec {self.codec} has a constant rate; leave `codec` or `control` out"
        if self.deadline is not None and self.playout is not None:
            yield "playout", "both `deadline` and `playout` decide when frames are played; leave one of them out"
        for name in ("min_rate", "max_rate", "feedback"):
            if getattr(self, name) is not None and not adaptive:
                yield name, f'applies to adaptive streams only; write control = "gcc", or leave `{name}` out'
        if self.feedback is not None and self.feedback < _LEAST_FEEDBACK_NS:
            yield "feedback", "must be at least 1ms: a report costs a packet, and packets come every few milliseconds"
        if adaptive and self._least > self._most:
            yield (
                "min_rate",
                f"is {self._least} bit/s, above the highest rate, {self._most} bit/s; lower it, or raise `max_rate`",
            )
        elif adaptive and self.codec is None and not self._least <= self._first <= self._most:
            yield (
                "rate",
                f"begins at {self._first} bit/s, outside of its bounds of {self._least} and {self._most} bit/s; change "
                "`rate`, `min_rate` or `max_rate`",
            )
        if self._least * self.interval < 8 * _LEAST_MEDIA_BYTES * NS_PER_S:
            yield (
                "interval",
                f"a frame would have fewer than {_LEAST_MEDIA_BYTES} bytes, the least; take a longer `interval`, or a "
                "higher rate",
            )

    @property
    def _first(self) -> int:
        return CODECS[self.codec].rate_bps if self.codec else self.rate or _FIRST_RATE_BPS

    @property
    def _least(self) -> int:
        return (self.min_rate or _LEAST_RATE_BPS) if self.control == "gcc" else self._first

    @property
    def _most(self) -> int:
        return (self.max_rate or _MOST_RATE_BPS) if self.control == "gcc" else self._first

    def lab_fields(self, path: FlowPath) -> MediaFields:
        """The fields of a stream, with all that defaults decide."""
        most = path.mtu - self.ip_header_bytes - UDP_HEADER_BYTES - RTP_HEADER_BYTES
        return MediaFields(
            adaptive=self.control == "gcc",
            rate_bps=self._first,
            min_rate_bps=self._least,
            max_rate_bps=self._most,
            interval_ns=self.interval,
            packet_most_bytes=min(most, _MOST_MEDIA_BYTES),
            feedback_ns=self.feedback or 100_000_000,
            playout_ns=40_000_000 if self.playout is None else self.playout,
            deadline_ns=self.deadline,
            codec=self.codec or "",
        )

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """Its frames for this time, of an adaptive stream at its highest rate."""
        frames = self._most * active_ns / (8 * NS_PER_S) / self._media_bytes(path)
        return frames * self.frame_bytes(path)

    def frame_bytes(self, path: FlowPath) -> float:
        """The media of a packet with all headers."""
        headers = RTP_HEADER_BYTES + UDP_HEADER_BYTES + self.ip_header_bytes + ETHERNET_HEADER_BYTES
        return self._media_bytes(path) + headers

    def _media_bytes(self, path: FlowPath) -> float:
        """The media of a packet, if a frame is divided evenly, as the agent divides it."""
        frame = max(self._most * self.interval / (8 * NS_PER_S), 1.0)
        return frame / math.ceil(frame / self.lab_fields(path).packet_most_bytes)


KIND = FlowKind(
    "media",
    MediaFlow,
    MediaFields,
    transport="udp",
    built_in=True,
    datagrams=True,
    media=True,
    varies=("active",),
)

"""Reading qlog: the state of a QUIC sender as any stack logs it.

The forms of a file are in `qlog_text.py`. The events are those of draft-ietf-quic-qlog-main-schema and -quic-events,
from -02 (version 0.3) on. Since then the names of events have changed (`recovery:metrics_updated`,
`quic:recovery_metrics_updated`), and so has the form of times; both are understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from netwarp.discovery.qlog_text import QlogError, TraceText, WrongValueError, quoted, traces_of
from netwarp.store.codes import QuicEvent
from netwarp.store.streams import Row
from netwarp.values.constants import NS_PER_MS, NS_PER_S
from netwarp.values.json_values import Json

MAX_BYTES = 64 << 20
"""The largest file that is read: its JSON takes up to 24 times as much memory."""
_MAX_LOOKS = 50_000_000
"""How often numbers of packets are looked up in a trace, against ranges that would take hours."""
_DIFFERENCES = ("delta", "relative_to_previous_event")
_FORMS_OF_TIME = ("absolute", "relative", "relative_to_epoch", *_DIFFERENCES)
_SPACES = {"initial": 0, "handshake": 1}
"""Packet number spaces (RFC 9000, section 12.3); 0-RTT and 1-RTT packets share the third."""
_APPLICATION = 2
_DIGITS = 20
"""Digits of a number as text that is read exactly."""
_METRICS = {"congestion_window", "ssthresh", "bytes_in_flight", "latest_rtt", "smoothed_rtt", "min_rtt"}
_RENAMED = {"cwnd": "congestion_window"}
_NOT_IN_FLIGHT = {"ack", "connection_close"}
"""Frames that do not put a packet in flight if it has no others (RFC 9002, section 2)."""
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True)
class QlogTrace:
    """One end's log of the packets it sent on a connection.

    `rows` are those of `quic_acks` without a flow, with times in ns since 1970. `datagram_bytes` is the longest packet.
    """

    first_sent_ns: int
    sent_bytes: int
    sent_pkts: int
    datagram_bytes: int
    rows: tuple[Row, ...]


def read_qlog(path: Path) -> list[QlogTrace]:
    """Read the traces of a file that sent anything. Raises QlogError, OSError."""
    if path.stat().st_size > MAX_BYTES:
        advice = "end the program earlier, or have it log fewer kinds of events"
        raise QlogError(f"it is larger than {MAX_BYTES >> 20} MB", what_to_do=advice)
    traces = [_trace(text) for text in traces_of(path.read_bytes())]
    return [trace for trace in traces if trace is not None]


def _trace(text: TraceText) -> QlogTrace | None:
    sender, where = _Sender(), "`common_fields`"
    try:
        clock = _Clock.of(text.common)
        for place, event in text.events:
            where = place
            if not isinstance(event, dict):
                raise WrongValueError("an event is not an object, as in versions before 0.3")
            sender.take(clock.at_ns(event), event)
    except WrongValueError as error:
        raise QlogError(str(error), where, "correct what the program logs") from None
    if sender.first_sent_ns is None:
        return None
    return QlogTrace(
        sender.first_sent_ns, sender.sent_bytes, sender.sent_pkts, sender.longest_bytes, tuple(sender.rows)
    )


@dataclass
class _Clock:
    """The times of a trace's events in ns since 1970.

    `absolute` times stand for themselves, `relative` and `relative_to_epoch` ones are added to the reference time,
    `delta` and `relative_to_previous_event` ones to that of the event before.
    """

    form: str
    reference_ns: int
    _before_ns: int

    @classmethod
    def of(cls, common: Mapping[str, Json]) -> _Clock:
        """The clock of a trace with these common fields."""
        reference = common.get("reference_time", 0)
        form = common.get("time_format") or ("relative_to_epoch" if isinstance(reference, dict) else "absolute")
        if form not in _FORMS_OF_TIME:
            raise WrongValueError(f"`time_format` is {quoted(form)}, not one of {', '.join(_FORMS_OF_TIME)}")
        reference_ns = _reference_ns(reference)
        return cls(str(form), reference_ns, reference_ns)

    def at_ns(self, event: Mapping[str, Json]) -> int:
        """The time of the next event."""
        if "time" not in event:
            raise WrongValueError("an event has no `time`")
        since_ns = _ns(event["time"], "time")
        if self.form == "absolute":
            return since_ns
        at_ns = since_ns + (self._before_ns if self.form in _DIFFERENCES else self.reference_ns)
        if not abs(at_ns) < 1 << 62:
            raise WrongValueError(f"`time` is {quoted(event['time'])} after a time that is too far from 1970")
        self._before_ns = at_ns
        return at_ns


def _reference_ns(reference: Json) -> int:
    """A reference time in ns since 1970: milliseconds, or an object with an instant (RFC 3339).

    The instant is its epoch, 1970 by default; `wall_clock_time` is for an epoch that is unknown (qlog-main-schema-13).
    """
    if not isinstance(reference, dict):
        return _ns(reference or 0, "reference_time")
    epoch = str(reference.get("epoch", "1970-01-01T00:00:00Z"))
    instant = str(reference.get("wall_clock_time") or "") if epoch == "unknown" else epoch
    found = _INSTANT.fullmatch(instant)
    try:
        whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00")) if found else None
    except ValueError:
        whole = None
    if found is None or whole is None:
        raise WrongValueError(f"`reference_time` is {quoted(instant)}, not an instant such as 2026-01-01T00:00:00Z")
    since = whole - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * NS_PER_S + int((found[2] or "").ljust(9, "0"))


@dataclass
class _Sender:
    """The sender of a trace after the events so far."""

    first_sent_ns: int | None = None
    sent_bytes: int = 0
    sent_pkts: int = 0
    longest_bytes: int = 0
    acked_bytes: int = 0
    lost_pkts: int = 0
    rows: list[Row] = field(default_factory=list)
    _metrics: dict[str, float] = field(default_factory=dict)
    _unacked: tuple[dict[int, int], dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}, {}))
    _flying_bytes: int = 0
    _looks: int = 0
    _acknowledged: bool = False
    _lost_rows: int = 0
    """Packets lost when the last row was made; a later row with more is one of a loss."""
    _answered: int = 0
    """Packets lost when the window was last lowered."""

    def take(self, at_ns: int, event: Mapping[str, Json]) -> None:
        """Go on to the state after an event."""
        name, data = event.get("name"), event.get("data")
        if not isinstance(name, str):
            raise WrongValueError(
                f"`name` is {quoted(name)}, not text" if "name" in event else "an event has no `name`"
            )
        if data is None:
            return
        if not isinstance(data, dict):
            raise WrongValueError(f"`data` is {quoted(data)}, not an object")
        match name.rpartition(":")[2].removeprefix("recovery_"):
            case "packet_sent":
                self._sent(at_ns, data)
            case "packet_received":
                self._received(data)
            case "packet_lost":
                number, space = _packet(data)
                self._flying_bytes -= self._unacked[space].pop(number, 0)
                self.lost_pkts += 1
            case "metrics_updated":
                self._updated(at_ns, data)

    def _sent(self, at_ns: int, data: Mapping[str, Json]) -> None:
        number, space = _packet(data)
        raw, header = data.get("raw"), data.get("header")
        length = raw.get("length") if isinstance(raw, dict) else None
        if length is None and isinstance(header, dict):
            length = header.get("packet_size")
        size = _count(length or 0, "length")
        if self.first_sent_ns is None:
            self.first_sent_ns = at_ns
        self.sent_pkts += 1
        self.sent_bytes += size
        self.longest_bytes = max(self.longest_bytes, size)
        frames = [str(frame.get("frame_type")) for frame in _list(data, "frames") if isinstance(frame, dict)]
        if not frames or set(frames) - _NOT_IN_FLIGHT:
            self._flying_bytes += size - self._unacked[space].get(number, 0)
            self._unacked[space][number] = size

    def _received(self, data: Mapping[str, Json]) -> None:
        """Count packets that the acknowledgements in a packet are the first to acknowledge."""
        _, space = _packet(data)
        for frame in _list(data, "frames"):
            if isinstance(frame, dict) and frame.get("frame_type") == "ack":
                for part in _list(frame, "acked_ranges"):
                    if not isinstance(part, list) or not part:
                        raise WrongValueError(f"a range of `acked_ranges` is {quoted(part)}, not a list of numbers")
                    self._acked(space, _whole(part[0], "acked_ranges"), _whole(part[-1], "acked_ranges"))

    def _acked(self, space: int, first: int, last: int) -> None:
        waiting = self._unacked[space]
        if not waiting:
            return
        # Packets are sent in the order of their numbers.
        first, last = max(first, next(iter(waiting))), min(last, next(reversed(waiting)))
        few = last - first < len(waiting)
        found = [number for number in (range(first, last + 1) if few else waiting) if first <= number <= last]
        self._looks += min(max(last - first, 0), len(waiting)) + 1
        if self._looks > _MAX_LOOKS:
            raise WrongValueError("`acked_ranges` are so wide and many that they take too long to look up")
        for number in found:
            if number in waiting:
                size = waiting.pop(number)
                self.acked_bytes += size
                self._flying_bytes -= size
                self._acknowledged = True
        if space == _APPLICATION and self._acknowledged:
            for early in self._unacked[:_APPLICATION]:  # their keys are discarded (RFC 9002, section 6.4)
                self._flying_bytes -= sum(early.values())
                early.clear()

    def _updated(self, at_ns: int, data: Mapping[str, Json]) -> None:
        window = self._metrics.get("congestion_window")
        new = {
            _RENAMED.get(name, name): _number(value, name)
            for name, value in data.items()
            if _RENAMED.get(name, name) in _METRICS and value is not None
        }
        self._metrics |= new
        shrunk = window is not None and self._metrics.get("congestion_window", window) < window
        congested = shrunk and self.lost_pkts > self._answered
        if congested:
            self._answered = self.lost_pkts
        lost = self.lost_pkts > self._lost_rows
        if not (self._acknowledged or "latest_rtt" in new or lost or congested):
            return
        if {"congestion_window", "smoothed_rtt"} <= self._metrics.keys():
            event = QuicEvent.CONGESTION if congested else QuicEvent.LOSS if lost else QuicEvent.ACKNOWLEDGED
            self.rows.append(self._row(at_ns, event, new))
        self._acknowledged, self._lost_rows = False, self.lost_pkts

    def _row(self, at_ns: int, event: QuicEvent, new: Mapping[str, float]) -> Row:
        known = self._metrics
        threshold = known.get("ssthresh")
        return {
            "time_ns": at_ns,
            "event": int(event),
            "cwnd_bytes": _count(known["congestion_window"], "congestion_window"),
            # Stacks log the largest possible number if there is no threshold yet.
            "ssthresh_bytes": None if threshold is None or threshold >= 1 << 62 else _count(threshold, "ssthresh"),
            "in_flight_bytes": _count(known.get("bytes_in_flight", self._flying_bytes), "bytes_in_flight"),
            "acked_bytes": self.acked_bytes,
            "rtt_ns": _duration_ns(new, "latest_rtt") if "latest_rtt" in new else None,
            "srtt_ns": _duration_ns(known, "smoothed_rtt"),
            "min_rtt_ns": _duration_ns(known, "min_rtt" if "min_rtt" in known else "smoothed_rtt"),
            "sent_pkts": self.sent_pkts,
            "lost_pkts": self.lost_pkts,
        }


def _packet(data: Mapping[str, Json]) -> tuple[int, int]:
    """The number of a packet and its space; -1 for packets without a number, such as a retry."""
    header = data.get("header")
    named = header if isinstance(header, dict) else data
    kind = named.get("packet_type") or data.get("packet_type") or data.get("type") or ""
    number = named.get("packet_number")
    space = _SPACES.get(str(kind).lower(), _APPLICATION)
    return -1 if number is None else _whole(number, "packet_number"), space


def _number(value: Json, name: str) -> float:
    """The number of a field; one that a double cannot hold may be text (RFC 7493, section 2.2)."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = float(value) if len(value) > _DIGITS else int(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongValueError(f"`{name}` is {quoted(value)}, not a number")
    return value


def _whole(value: Json, name: str) -> int:
    number = _number(value, name)
    if not abs(number) < 1 << 63:
        raise WrongValueError(f"`{name}` is {quoted(value)}, not a number of a packet")
    return int(number)


def _count(value: Json, name: str) -> int:
    """A number that a column can hold, rounded."""
    number = _number(value, name)
    if not 0 <= number < 1 << 62:
        raise WrongValueError(f"`{name}` is {quoted(value)}, not a number from 0 to 2^62")
    return round(number)


def _duration_ns(metrics: Mapping[str, float], name: str) -> int:
    """A metric in milliseconds as one in ns."""
    if not 0 <= metrics[name] < 1 << 42:
        raise WrongValueError(f"`{name}` is {quoted(metrics[name])}, not a time from 0 to 2^42 ms")
    return round(metrics[name] * NS_PER_MS)


def _ns(milliseconds: Json, name: str) -> int:
    """A time in ns. A product with the whole number would lose a quarter of a microsecond since 1970."""
    value = _number(milliseconds, name)
    if not abs(value) < 1 << 42:
        raise WrongValueError(f"`{name}` is {quoted(milliseconds)}, not a time in milliseconds, up to 2^42")
    whole = int(value)
    return whole * NS_PER_MS + round((value - whole) * NS_PER_MS)


def _list(data: Mapping[str, Json], name: str) -> Sequence[Json]:
    """The list of a field; empty if it is missing."""
    value = data.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise WrongValueError(f"`{name}` is {quoted(value)}, not a list")
    return value

"""Reading qlog: the state of a QUIC sender as any stack logs it.

JSON and JSON text sequences of draft-ietf-quic-qlog-main-schema and -quic-events, from -02 (version 0.3) on. Since then
the names of events have changed (`recovery:metrics_updated`, `quic:recovery_metrics_updated`), and so has the form of
times; both are understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from netwarp.store.codes import QuicEvent
from netwarp.store.streams import Row
from netwarp.values.constants import NS_PER_MS, NS_PER_S
from netwarp.values.json_values import Json

MAX_BYTES = 64 << 20
"""The largest file that is read: its JSON takes up to 24 times as much memory."""
_MAX_LOOKS = 50_000_000
"""How often numbers of packets are looked up in a trace, against ranges that would take hours."""
_MAX_WORDS = 200
"""The maximum length in characters of a note on a file, which may quote it."""
_RECORD_SEPARATOR = "\x1e"
_SPACES = {"initial": 0, "handshake": 1}
"""Packet number spaces (RFC 9000, section 12.3); 0-RTT and 1-RTT packets share the third."""
_APPLICATION = 2
_NOT_IN_FLIGHT = {"ack", "connection_close"}
"""Frames that do not put a packet in flight if it has no others (RFC 9002, section 2)."""
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class QlogError(Exception):
    """A file that is not a qlog of the kind that can be read; the message says why."""


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
        raise QlogError(f"is larger than {MAX_BYTES >> 20} MB")
    try:
        traces = [_trace(common, events) for common, events in _parsed(path.read_text("utf-8"))]
    except QlogError:
        raise
    except (ValueError, RecursionError) as error:
        raise QlogError(f"is not qlog in JSON: {error}"[:_MAX_WORDS]) from None
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise QlogError(f"has an event of another form: {error!r}"[:_MAX_WORDS]) from None
    return [trace for trace in traces if trace is not None]


def _parsed(text: str) -> Iterator[tuple[Mapping[str, Json], Iterable[Json]]]:
    """The common fields and the events of each trace."""
    if _RECORD_SEPARATOR in text:
        records = [json.loads(part) for part in text.split(_RECORD_SEPARATOR) if part.strip()]
    else:
        records = _values(text)
    head = records[0] if records else None
    if not isinstance(head, dict) or not ("traces" in head or "trace" in head):
        raise QlogError("has no `traces` of qlog 0.3 or later")
    if "traces" in head:
        for trace in head["traces"]:
            yield trace.get("common_fields", {}), trace.get("events", [])
    else:
        yield head["trace"].get("common_fields", {}), records[1:]


def _values(text: str) -> list[Json]:
    """The values of a text: one, or one in each line, as from stacks that leave out the record separators."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _trace(common: Mapping[str, Json], events: Iterable[Json]) -> QlogTrace | None:
    sender = _Sender()
    for at_ns, event in _timed(common, events):
        sender.take(at_ns, event)
    if sender.first_sent_ns is None:
        return None
    return QlogTrace(
        sender.first_sent_ns, sender.sent_bytes, sender.sent_pkts, sender.longest_bytes, tuple(sender.rows)
    )


def _timed(common: Mapping[str, Json], events: Iterable[Json]) -> Iterator[tuple[int, dict[str, Json]]]:
    """Events with their times in ns since 1970.

    `absolute` times stand for themselves, `relative` and `relative_to_epoch` ones are added to the reference time,
    `delta` and `relative_to_previous_event` ones to that of the event before.
    """
    reference = common.get("reference_time", 0)
    reference_ns = _reference_ns(reference)
    form = common.get("time_format") or ("relative_to_epoch" if isinstance(reference, dict) else "absolute")
    at_ns = reference_ns
    for event in events:
        if not isinstance(event, dict):
            raise QlogError("has events without names, as versions before 0.3 had")
        since_ns = _ns(event["time"])
        if form in ("delta", "relative_to_previous_event"):
            at_ns += since_ns
        else:
            at_ns = since_ns + (0 if form == "absolute" else reference_ns)
        yield at_ns, event


def _reference_ns(reference: Json) -> int:
    """A reference time in ns since 1970: milliseconds, or an object with an instant (RFC 3339).

    The instant is its epoch, 1970 by default; `wall_clock_time` is for an epoch that is unknown (qlog-main-schema-13).
    """
    if not isinstance(reference, dict):
        return _ns(reference or 0)
    epoch = str(reference.get("epoch", "1970-01-01T00:00:00Z"))
    instant = str(reference.get("wall_clock_time") or "") if epoch == "unknown" else epoch
    found = _INSTANT.fullmatch(instant)
    if found is None:
        raise QlogError(f'has the reference time "{instant[:40]}", which is not an instant')
    whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
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
        data = event.get("data") or {}
        if not isinstance(data, dict):
            return
        match str(event["name"]).rpartition(":")[2].removeprefix("recovery_"):
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
        size = _count(length or 0)
        if self.first_sent_ns is None:
            self.first_sent_ns = at_ns
        self.sent_pkts += 1
        self.sent_bytes += size
        self.longest_bytes = max(self.longest_bytes, size)
        frames = [frame.get("frame_type") for frame in _list(data.get("frames")) if isinstance(frame, dict)]
        if not frames or set(frames) - _NOT_IN_FLIGHT:
            self._flying_bytes += size - self._unacked[space].get(number, 0)
            self._unacked[space][number] = size

    def _received(self, data: Mapping[str, Json]) -> None:
        """Count packets that the acknowledgements in a packet are the first to acknowledge."""
        _, space = _packet(data)
        for frame in _list(data.get("frames")):
            if isinstance(frame, dict) and frame.get("frame_type") == "ack":
                for part in map(_list, _list(frame.get("acked_ranges"))):
                    self._acked(space, int(_number(part[0])), int(_number(part[-1])))

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
            raise QlogError("acknowledges ranges of packets that take too long to look up")
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
            "congestion_window" if name == "cwnd" else name: float(value)
            for name, value in data.items()
            if isinstance(value, int | float)
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
            "cwnd_bytes": _count(known["congestion_window"]),
            # Stacks log the largest possible number if there is no threshold yet.
            "ssthresh_bytes": None if threshold is None or threshold >= 1 << 62 else _count(threshold),
            "in_flight_bytes": _count(known.get("bytes_in_flight", self._flying_bytes)),
            "acked_bytes": self.acked_bytes,
            "rtt_ns": _count(new["latest_rtt"] * NS_PER_MS) if "latest_rtt" in new else None,
            "srtt_ns": _count(known["smoothed_rtt"] * NS_PER_MS),
            "min_rtt_ns": _count(known.get("min_rtt", known["smoothed_rtt"]) * NS_PER_MS),
            "sent_pkts": self.sent_pkts,
            "lost_pkts": self.lost_pkts,
        }


def _packet(data: Mapping[str, Json]) -> tuple[int, int]:
    """The number of a packet and its space; -1 for packets without a number, such as a retry."""
    header = data.get("header")
    named = header if isinstance(header, dict) else data
    kind = named.get("packet_type") or data.get("packet_type") or data.get("type") or ""
    number = named.get("packet_number")
    return -1 if number is None else int(_number(number)), _SPACES.get(str(kind).lower(), _APPLICATION)


def _number(value: Json) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


def _count(value: Json) -> int:
    """A number that a column can hold, rounded."""
    number = _number(value)
    if not 0 <= number < 1 << 62:
        raise TypeError(f"{number!r} is not a number of packets, bytes or ns")
    return round(number)


def _ns(milliseconds: Json) -> int:
    """A time in ns. A product with the whole number would lose a quarter of a microsecond since 1970."""
    value = _number(milliseconds)
    if not abs(value) < 1 << 42:
        raise TypeError(f"{value!r} is not a time in milliseconds")
    whole = int(value)
    return whole * NS_PER_MS + round((value - whole) * NS_PER_MS)


def _list(value: Json) -> Sequence[Json]:
    """A list; empty if it is missing."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value

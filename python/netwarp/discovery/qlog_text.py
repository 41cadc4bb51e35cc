"""The text of a qlog file: JSON, JSON text sequences (RFC 7464) and JSON lines → traces with their events.

An error says what is wrong, at which line or event, and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from netwarp.values.json_values import Json, JsonObject, is_cut_short

_RECORD_SEPARATOR = "\x1e"
_GZIP = b"\x1f\x8b"
_MOST_DIGITS = 20
"""Digits of a whole number that is read exactly; no column holds more."""
_SHOWN = 40
"""The most characters of a value that a sentence quotes."""
FORMS = "log qlog 0.3 or later as JSON, JSON lines or a JSON text sequence"


class QlogError(Exception):
    """A file that is not a qlog of the kind that can be read: where, why, and what to do."""

    def __init__(self, why: str, where: str = "", what_to_do: str = FORMS) -> None:
        """`where` is a place in the file, if it has a fault at one."""
        super().__init__(f"{f'{where}: ' if where else ''}{why}; {what_to_do}")


class WrongValueError(Exception):
    """A value that an event cannot have; the reader of the trace adds the place."""


class TraceText(NamedTuple):
    """The common fields of a trace and its events, each with the place where it is in the file."""

    common: JsonObject
    events: Iterable[tuple[str, Json]]


def traces_of(content: bytes) -> Iterator[TraceText]:
    """The traces of a file. Raises QlogError."""
    values = _values(_text(content))
    where, head = next(values, ("", None))
    if not isinstance(head, dict) or not ("traces" in head or "trace" in head):
        raise QlogError("there is no `traces` of qlog 0.3 or later", where)
    if "trace" in head:
        yield _trace(head["trace"], f"{where}, `trace`", values)
        return
    if not isinstance(head["traces"], list):
        raise QlogError(f"`traces` is {quoted(head['traces'])}, not a list", where)
    for extra, _ in values:
        raise QlogError("more follows the document", extra)
    for number, trace in enumerate(head["traces"], start=1):
        yield _trace(trace, f"trace {number}", _events(trace, f"trace {number}"))


def quoted(value: Json) -> str:
    """The value as JSON has it, shortened."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _text(content: bytes) -> str:
    if content.startswith(_GZIP):
        raise QlogError("it is compressed (gzip)", what_to_do="have the program write it uncompressed")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise QlogError(f"the byte 0x{content[error.start]:02x} is not UTF-8", f"line {line}") from None


def _trace(trace: Json, where: str, events: Iterable[tuple[str, Json]]) -> TraceText:
    if not isinstance(trace, dict):
        raise QlogError(f"the trace is {quoted(trace)}, not an object", where)
    common = trace.get("common_fields", {})
    if not isinstance(common, dict):
        raise QlogError(f"`common_fields` is {quoted(common)}, not an object", where)
    return TraceText(common, events)


def _events(trace: Json, where: str) -> Iterator[tuple[str, Json]]:
    """The events in a trace of a document; none if it only says why it has none (TraceError)."""
    events = trace.get("events", []) if isinstance(trace, dict) else []
    if not isinstance(events, list):
        raise QlogError(f"`events` is {quoted(events)}, not a list", where)
    return ((f"{where}, event {number}", event) for number, event in enumerate(events, start=1))


def _values(text: str) -> Iterator[tuple[str, Json]]:
    """The values of a text and their places: one, or one in each record, or in each line, as from stacks that leave out
    the separators of records."""
    if _RECORD_SEPARATOR in text:
        yield from _sequence(text.split(_RECORD_SEPARATOR))
        return
    lines = text.splitlines(keepends=True)
    parts = _numbered(lines)
    first = next(parts, None)
    if first is None:
        raise QlogError("it is empty", what_to_do="end the program before the run ends, so that it writes its log")
    try:
        head = _value(first[1], first[0])
    except QlogError:
        # The document has more than one line, or its error is there.
        yield "", _value(text, 1)
        return
    yield f"line {first[0]}", head
    yield from ((f"line {number}", _value(line, number)) for number, line in parts)


def _sequence(records: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """The values of the records, which may have several lines each."""
    line = 1
    for record in records:
        if record.strip():
            yield f"line {line}", _value(record, line)
        line += record.count("\n")


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _value(text: str, line: int) -> Json:
    """The JSON value of a text that begins with this line of the file. Raises QlogError."""
    try:
        value: Json = json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as error:
        where = f"line {line + error.lineno - 1}, column {error.colno}"
        if is_cut_short(error):
            advice = "end the program before the run ends, so that it completes its log"
            raise QlogError("it ends within a value", where, advice) from None
        raise QlogError(f"{quoted(text[error.pos])} is not JSON here", where) from None
    except RecursionError:
        raise QlogError("values are nested too deeply", f"line {line}") from None
    return value


def _whole(digits: str) -> int | float:
    """A whole number; of too many digits about its value, which no column holds."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)

"""Reads the output of iperf3's client with -J or --json-stream: one test and its totals.

The format differs by version (iperf_print_results() in iperf_api.c): 3.7 lacks `sum_sent` and `sum_received` of a UDP
test, and its `sum.bytes` counts sent bytes; milliseconds of the start exist from 3.18 on; `retransmits` only if the
sender's system counts them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from pydantic import ValidationError

from netwarp.store.errors import StoreError
from netwarp.store.files import read_content
from netwarp.studies.three_node.imports.errors import UnreadableError, why_unreadable
from netwarp.studies.three_node.imports.iperf3_document import Document, Sum
from netwarp.values.json_values import Json, JsonObject, is_cut_short

_MAX_BYTES = 64 << 20
_SHORTEST_S = 1e-3


@dataclass(frozen=True)
class Iperf3Test:
    """One test. Times are in seconds; values that the file lacks are None.

    `started_s` is the client's clock (Unix time) when client and server had agreed to connect. `ports` are the client's
    ports of the connections that carry data (without the control connection). `seconds` is the time for which the
    receiver counted. `document` is the JSON object, `text` the whole file if it holds nothing else. `notes` are
    remarks.
    """

    protocol: str
    version: str
    started_s: float | None
    omitted_s: float
    seconds: float
    client: str
    server: str
    server_port: int
    ports: tuple[int, ...]
    streams: int
    reverse: bool
    congestion_control: str | None
    sent_bytes: int | None
    received_bytes: int | None
    retransmits: int | None
    sent_pkts: int | None
    received_pkts: int | None
    jitter_ms: float | None
    document: JsonObject
    text: bytes | None
    notes: tuple[str, ...] = ()


def read_test(path: Path, protocol: str) -> Iperf3Test:
    """Read the test of a protocol (`tcp`, `udp`) from a file.

    Of several documents the last complete one counts. Raises UnreadableError.
    """
    content = _content(path)
    documents, broken = _documents(content.decode(errors="replace"))
    documents = _of_stream(documents) or documents
    if not documents:
        raise UnreadableError(broken or "there is no JSON in it")
    good: list[tuple[JsonObject, Document]] = []
    complaint = ""
    for document in documents:
        try:
            good.append((document, _read(document, protocol)))
        except UnreadableError as error:
            complaint = str(error)
    if not good:
        raise UnreadableError(complaint + (f", and {broken}" if broken else ""))
    notes = [f"{len(documents)} documents in it, the last good one counts"] if len(documents) > 1 else []
    notes += [f"after the last good document {broken}"] if broken else []
    notes += ["of a bidirectional test only the client's direction is read"] if _is_bidirectional(good[-1][1]) else []
    alone = len(documents) == 1 and not broken and content.lstrip()[:1] == b"{" and b'"event"' not in content[:64]
    return _test(*good[-1], protocol, content if alone else None, tuple(notes))


def _content(path: Path) -> bytes:
    try:
        content = read_content(path, _MAX_BYTES)
    except StoreError as error:
        raise UnreadableError(why_unreadable(path, error)) from error
    if not content.strip():
        raise UnreadableError("it is empty")
    return content


def _documents(text: str) -> tuple[list[dict[str, Json]], str]:
    """The JSON objects in the text, in order, and the error in the text after the last one (empty: none).

    Words between them (warnings of iperf3 or a shell) are skipped.
    """
    decoder = json.JSONDecoder()
    found: list[dict[str, Json]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            what = "the JSON is cut short" if is_cut_short(error) else "it is not JSON"
            return found, f"{what} (line {error.lineno})"
        except (RecursionError, ValueError):
            return found, "its content is not output of iperf3"
        if isinstance(value, dict):
            found.append(value)
        at = text.find("{", end)
    return found, ""


def _of_stream(events: Sequence[JsonObject]) -> list[dict[str, Json]]:
    """The tests that the events of --json-stream describe, as documents in the form of -J."""
    tests: list[dict[str, Json]] = []
    intervals: list[Json] = []
    for event in events:
        kind, data = event.get("event"), event.get("data")
        if kind == "start":
            intervals = []
            tests.append({"start": data, "intervals": intervals})
        elif not tests or not isinstance(kind, str):
            continue
        elif kind == "interval":
            intervals.append(data)
        elif kind != "intervals":
            tests[-1][kind] = data
    return tests


def _read(document: JsonObject, protocol: str) -> Document:
    """Validate the document. Raises UnreadableError if it is not a whole test of this protocol."""
    if (error := document.get("error")) is not None:
        raise UnreadableError(f"iperf3 says: {str(error)[:200]}")
    try:
        read = Document.model_validate(document)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))[:100]
        raise UnreadableError(f"it is not output of iperf3: {field}: {first['msg'][:200]}") from None
    found = read.start.test_start.protocol.lower()
    if not found:
        raise UnreadableError("it lacks the description of the test (start.test_start)")
    if found != protocol:
        raise UnreadableError(f"it contains a test of {found.upper()[:20]}, not of {protocol.upper()}")
    if not read.start.connected or not read.end.streams:
        raise UnreadableError("no connection was made")
    if _seconds(read) is None:
        raise UnreadableError("the test did not end: there are no totals (end.sum)")
    return read


def _test(
    document: JsonObject, read: Document, protocol: str, text: bytes | None, notes: tuple[str, ...]
) -> Iperf3Test:
    start, first = read.start, read.start.connected[0]
    totals = _udp_totals(read) if protocol == "udp" else _tcp_totals(read)
    return Iperf3Test(
        protocol=protocol,
        version=start.version,
        started_s=_started(read),
        omitted_s=start.test_start.omit,
        seconds=_seconds(read) or 0.0,
        client=first.local_host or "",
        server=first.remote_host or "",
        server_port=first.remote_port or start.connecting_to.port or 0,
        ports=tuple(entry.local_port for entry in start.connected if entry.local_port is not None),
        streams=start.test_start.num_streams or len(read.end.streams),
        reverse=start.test_start.reverse,
        congestion_control=read.end.sender_tcp_congestion,
        document=document,
        text=text,
        notes=notes,
        **totals,
    )


class _Totals(TypedDict):
    """The totals of all streams of a test; None if unknown."""

    sent_bytes: int | None
    received_bytes: int | None
    retransmits: int | None
    sent_pkts: int | None
    received_pkts: int | None
    jitter_ms: float | None


def _tcp_totals(read: Document) -> _Totals:
    """The totals of a TCP test: the file's sums, else the sums of its streams."""
    end = read.end
    sent, received = [stream.sender for stream in end.streams], [stream.receiver for stream in end.streams]
    return {
        "sent_bytes": _total(end.sum_sent.bytes, [one.bytes for one in sent]),
        "received_bytes": _total(end.sum_received.bytes, [one.bytes for one in received]),
        "retransmits": _total(end.sum_sent.retransmits, [one.retransmits for one in sent]),
        "sent_pkts": None,
        "received_pkts": None,
        "jitter_ms": None,
    }


def _udp_totals(read: Document) -> _Totals:
    """The totals of a UDP test: `sum` counts packets at the sender and losses at the receiver; a loss below 0 is a
    packet that arrived twice."""
    end = read.end
    packets = _total(end.sum.packets or None, [stream.udp.packets for stream in end.streams])
    lost = end.sum.lost_packets
    arrived = None if packets is None or lost is None else packets - min(max(lost, 0), packets)
    size = read.start.test_start.blksize
    received = end.sum_received.bytes
    if received is None and arrived is not None and size is not None and arrived * size < 2**63:
        received = arrived * size
    return {
        "sent_bytes": end.sum_sent.bytes if end.sum_sent.bytes is not None else end.sum.bytes,
        "received_bytes": received,
        "retransmits": None,
        "sent_pkts": packets,
        "received_pkts": arrived,
        "jitter_ms": end.sum.jitter_ms,
    }


def _total(summed: int | None, parts: Sequence[int | None]) -> int | None:
    """The file's sum, else that of the parts if none is missing."""
    if summed is not None:
        return summed
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) and sum(known) < 2**63 else None


def _seconds(read: Document) -> float | None:
    """The time for which the receiver counted, else the sender's."""
    ends: tuple[Sum, ...] = (read.end.sum_received, read.end.sum, read.end.sum_sent)
    return next((end.seconds for end in ends if end.seconds is not None and end.seconds >= _SHORTEST_S), None)


def _started(read: Document) -> float | None:
    stamp = read.start.timestamp
    return stamp.timesecs if stamp.timemillisecs is None else stamp.timemillisecs / 1e3


def _is_bidirectional(read: Document) -> bool:
    return read.end.sum_sent_bidir_reverse is not None or read.start.test_start.bidir

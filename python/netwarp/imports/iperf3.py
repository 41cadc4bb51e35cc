"""What iperf3's client prints with -J, or --json-stream: one test and its totals.

The format differs by version (iperf_print_results() in iperf_api.c): `sum_sent` and `sum_received` of a UDP test are
not there in 3.7, where `sum.bytes` is what was sent; milliseconds of the start are there from 3.18 on; `retransmits`
only where the sender's system counts them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from netwarp.imports.errors import UnreadableError

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Iperf3Test:
    """One test. Times in seconds; what the file does not tell is None.

    `started_s` is the client's clock (Unix time) when client and server had agreed to connect. `ports` are the client's
    ports of the connections that carry data (the one by which client and server agree on the test is not among them).
    `seconds` is how long the receiver counted. `document` is the JSON object, `text` the file as it is if it holds
    nothing else. `notes` say what is unusual.
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
    document: Mapping[str, Any]
    text: bytes | None
    notes: tuple[str, ...] = ()


def read_test(path: Path, protocol: str) -> Iperf3Test:
    """The test in a file that should hold one of this protocol (`tcp`, `udp`).

    Of several documents the last one that ended well counts. Raises UnreadableError.
    """
    content = _content(path)
    documents, broken = _documents(content.decode(errors="replace"))
    documents = _of_stream(documents) or documents
    if not documents:
        raise UnreadableError(broken or "there is no JSON in it")
    good = [document for document in documents if _complaint(document, protocol) is None]
    if not good:
        raise UnreadableError(str(_complaint(documents[-1], protocol)) + (f", and {broken}" if broken else ""))
    notes = [f"{len(documents)} documents in it, the last good one counts"] if len(documents) > 1 else []
    notes += [f"after the last good document {broken}"] if broken else []
    notes += ["of a bidirectional test only the client's direction is read"] if _is_bidirectional(good[-1]) else []
    alone = len(documents) == 1 and not broken and content.lstrip()[:1] == b"{" and b'"event"' not in content[:64]
    return _test(good[-1], protocol, content if alone else None, tuple(notes))


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableError(f"it is larger than {_MOST_BYTES >> 20} MB; no output of iperf3 is")
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}") from error
    if not content.strip():
        raise UnreadableError("it is empty")
    return content


def _documents(text: str) -> tuple[list[dict[str, Any]], str]:
    """The JSON objects in the text, one after another, and what is wrong with the text behind the last ("": nothing).

    Words between them (a warning that iperf3 or a shell printed) are passed over.
    """
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            cut = not text[error.pos :].strip() or "Unterminated" in error.msg
            what = "the JSON is cut short" if cut else "it is not JSON"
            return found, f"{what} (line {error.lineno})"
        except (RecursionError, ValueError):
            return found, "what stands there is no output of iperf3"
        if isinstance(value, dict):
            found.append(value)
        at = text.find("{", end)
    return found, ""


def _of_stream(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tests that the events of --json-stream tell of, each as the document that -J would have printed."""
    tests: list[dict[str, Any]] = []
    for event in events:
        kind, data = event.get("event"), event.get("data")
        if kind == "start":
            tests.append({"start": data, "intervals": []})
        elif not tests or kind is None:
            continue
        elif kind == "interval":
            tests[-1]["intervals"].append(data)
        else:
            tests[-1][str(kind)] = data
    return tests


def _complaint(document: Mapping[str, Any], protocol: str) -> str | None:
    """Why the document is not a whole test of this protocol; None if it is one."""
    if (error := document.get("error")) is not None:
        return f"iperf3 says: {error}"
    told = str(_at(document, "start", "test_start", "protocol") or "").lower()
    if not told:
        return "it does not say what was tested (start.test_start)"
    if told != protocol:
        return f"it holds a test of {told.upper()}, not of {protocol.upper()}"
    if not isinstance(_at(document, "start", "connected"), list) or not _streams(document):
        return "no connection was made"
    if _seconds(document) is None:
        return "the test did not end: there are no totals (end.sum)"
    return None


def _test(document: Mapping[str, Any], protocol: str, text: bytes | None, notes: tuple[str, ...]) -> Iperf3Test:
    connected = [entry for entry in _at(document, "start", "connected") if isinstance(entry, dict)]
    first: Mapping[str, Any] = connected[0] if connected else {}
    totals = _udp_totals(document) if protocol == "udp" else _tcp_totals(document)
    congestion = _at(document, "end", "sender_tcp_congestion")
    ports = (_whole(entry.get("local_port")) for entry in connected)
    return Iperf3Test(
        protocol=protocol,
        version=str(_at(document, "start", "version") or ""),
        started_s=_started(document),
        omitted_s=_number(_at(document, "start", "test_start", "omit")) or 0.0,
        seconds=_seconds(document) or 0.0,
        client=plain_address(first.get("local_host")),
        server=plain_address(first.get("remote_host")),
        server_port=_whole(first.get("remote_port")) or _whole(_at(document, "start", "connecting_to", "port")) or 0,
        ports=tuple(port for port in ports if port is not None),
        streams=_whole(_at(document, "start", "test_start", "num_streams")) or len(_streams(document)),
        reverse=bool(_at(document, "start", "test_start", "reverse")),
        congestion_control=congestion if isinstance(congestion, str) else None,
        document=document,
        text=text,
        notes=notes,
        **totals,
    )


def _tcp_totals(document: Mapping[str, Any]) -> dict[str, Any]:
    """Of all streams together; where the file has no sums, those of its streams added up."""

    def total(end: str, one: str, what: str) -> int | None:
        summed = _whole(_at(document, "end", end, what))
        return summed if summed is not None else _added([_at(s, one, what) for s in _streams(document)])

    return {
        "sent_bytes": total("sum_sent", "sender", "bytes"),
        "received_bytes": total("sum_received", "receiver", "bytes"),
        "retransmits": total("sum_sent", "sender", "retransmits"),
        "sent_pkts": None,
        "received_pkts": None,
        "jitter_ms": None,
    }


def _udp_totals(document: Mapping[str, Any]) -> dict[str, Any]:
    """`sum` counts packets at the sender and losses at the receiver; a loss below 0 is a packet that came twice."""
    end = _at(document, "end")
    packets = _whole(_at(end, "sum", "packets")) or _added([_at(s, "udp", "packets") for s in _streams(document)])
    lost = _whole(_at(end, "sum", "lost_packets"), least=-(2**62))
    arrived = None if packets is None or lost is None else packets - min(max(lost, 0), packets)
    size = _whole(_at(document, "start", "test_start", "blksize"))
    received = _whole(_at(end, "sum_received", "bytes"))
    if received is None and arrived is not None and size is not None:
        received = arrived * size
    sent = _whole(_at(end, "sum_sent", "bytes"))
    return {
        "sent_bytes": sent if sent is not None else _whole(_at(end, "sum", "bytes")),
        "received_bytes": received,
        "retransmits": None,
        "sent_pkts": packets,
        "received_pkts": arrived,
        "jitter_ms": _number(_at(end, "sum", "jitter_ms")),
    }


def _seconds(document: Mapping[str, Any]) -> float | None:
    """How long the receiver counted, else the sender."""
    for name in ("sum_received", "sum", "sum_sent"):
        seconds = _number(_at(document, "end", name, "seconds"))
        if seconds:
            return seconds
    return None


def _started(document: Mapping[str, Any]) -> float | None:
    milliseconds = _number(_at(document, "start", "timestamp", "timemillisecs"))
    if milliseconds is not None:
        return milliseconds / 1e3
    return _number(_at(document, "start", "timestamp", "timesecs"))


def _streams(document: Mapping[str, Any]) -> list[Any]:
    streams = _at(document, "end", "streams")
    return streams if isinstance(streams, list) else []


def _is_bidirectional(document: Mapping[str, Any]) -> bool:
    return _at(document, "end", "sum_sent_bidir_reverse") is not None or bool(
        _at(document, "start", "test_start", "bidir")
    )


def plain_address(address: object) -> str:
    """An address in its plain spelling: without a zone, an IPv4 address in IPv6's clothes (`::ffff:`) as what it is."""
    text = str(address or "").strip("[]").partition("%")[0]
    try:
        parsed = ip_address(text)
    except ValueError:
        return text
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)


def _at(value: Any, *keys: str) -> Any:
    """What stands at the end of this path of keys; None if anything on the way is missing or no object."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> float | None:
    """A finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 2**62 else None


def _whole(value: Any, least: int = 0) -> int | None:
    """A whole number of at least `least`, as counters are (a version or two print them as 1e+06)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 2**62:
        return None
    return int(value)


def _added(values: Sequence[Any]) -> int | None:
    """The sum, if all are there."""
    numbers = [_whole(value) for value in values]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None

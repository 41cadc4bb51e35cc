"""Reading qlog of any stack: two logs by hand, in the forms of version 0.3 and of later drafts, and damaged ones."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netwarp.discovery.qlog import QlogTrace, read_qlog
from netwarp.discovery.qlog_text import QlogError
from netwarp.store.codes import QuicEvent

BEGAN_MS = 1_767_225_610_000
"""Ten seconds after a machine's boot, where runs begin."""
BEGAN_NS = BEGAN_MS * 10**6


def sent(at_ms: float, number: int, size: int = 1200, kind: str = "1RTT") -> dict[str, Any]:
    data = {"header": {"packet_type": kind, "packet_number": number}, "raw": {"length": size}}
    return {"time": at_ms, "name": "transport:packet_sent", "data": data}


def acknowledged(at_ms: float, *ranges: list[int], kind: str = "1RTT") -> dict[str, Any]:
    frames = [{"frame_type": "padding"}, {"frame_type": "ack", "acked_ranges": list(ranges)}]
    data = {"header": {"packet_type": kind, "packet_number": 7}, "frames": frames}
    return {"time": at_ms, "name": "transport:packet_received", "data": data}


def lost(at_ms: float, number: int) -> dict[str, Any]:
    return {"time": at_ms, "name": "recovery:packet_lost", "data": {"header": {"packet_number": number}}}


def metrics(at_ms: float, **data: float) -> dict[str, Any]:
    return {"time": at_ms, "name": "recovery:metrics_updated", "data": data}


EVENTS = [
    sent(0, 0, 1250, "initial"),
    metrics(0, cwnd=12_000, bytes_in_flight=1250),
    acknowledged(20, [0], kind="initial"),
    metrics(20, latest_rtt=20, smoothed_rtt=20, min_rtt=20, bytes_in_flight=0),
    *(sent(20 + number / 8, number) for number in range(4)),
    # The first is acknowledged twice, and counts once.
    acknowledged(41.5, [0, 1]),
    metrics(41.5, latest_rtt=21, smoothed_rtt=20.125, bytes_in_flight=2400, congestion_window=14_400),
    acknowledged(42, [0, 1], [3]),
    lost(42, 2),
    metrics(42, bytes_in_flight=0),
    metrics(42, congestion_window=7_200, ssthresh=7_200),
    # It sends, of which no acknowledgement is part.
    sent(50, 4),
    metrics(50, bytes_in_flight=1200),
]


def document(events: list[Any], **common: Any) -> str:
    traces = [{"vantage_point": {"type": "client"}, "common_fields": common, "events": events}]
    return json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "traces": traces})


def read(tmp_path: Path, text: str) -> QlogTrace:
    path = tmp_path / "one.qlog"
    path.write_text(text)
    (trace,) = read_qlog(path)
    return trace


def shifted(by_ms: float) -> list[dict[str, Any]]:
    return shifted_by(EVENTS, by_ms)


def shifted_by(events: list[dict[str, Any]], by_ms: float) -> list[dict[str, Any]]:
    return [{**event, "time": event["time"] + by_ms} for event in events]


def differences() -> list[dict[str, Any]]:
    times = [event["time"] for event in EVENTS]
    return [{**event, "time": now - before} for event, now, before in zip(EVENTS, times, [0, *times[:-1]], strict=True)]


def sequence(separator: str) -> str:
    """A log of a stack that follows later drafts: names of one namespace, an instant for reference."""
    reference = {"clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": "2026-01-01T01:00:10.000000Z"}
    common = {"time_format": "relative_to_epoch", "reference_time": {**reference}}
    common["reference_time"]["wall_clock_time"] = "2026-01-01T01:00:10.000000000+01:00"  # type: ignore[index]
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"common_fields": common}}
    names = {"transport:": "quic:", "recovery:packet_lost": "quic:packet_lost", "recovery:": "quic:recovery_"}
    events = []
    for event in EVENTS:
        old = next(name for name in names if event["name"].startswith(name))
        events.append({**event, "name": event["name"].replace(old, names[old])})
    return "".join(f"{separator}{json.dumps(record)}\n" for record in (head, *events))


FORMS = {
    "absolute": document(shifted(BEGAN_MS)),
    "relative": document(EVENTS, time_format="relative", reference_time=BEGAN_MS),
    "differences": document(differences(), time_format="delta", reference_time=BEGAN_MS),
    "sequence": sequence("\x1e"),
    "lines": sequence(""),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_sender_is_the_same_in_every_form(tmp_path: Path, text: str) -> None:
    trace = read(tmp_path, text)
    assert (trace.first_sent_ns, trace.sent_pkts, trace.sent_bytes, trace.datagram_bytes) == (BEGAN_NS, 6, 7250, 1250)
    columns = ("time_ns", "event", "cwnd_bytes", "acked_bytes", "rtt_ns", "lost_pkts")
    rows = [tuple(row[name] for name in columns) for row in trace.rows]
    assert rows == [
        (BEGAN_NS + 20_000_000, QuicEvent.ACKNOWLEDGED, 12_000, 1250, 20_000_000, 0),
        (BEGAN_NS + 41_500_000, QuicEvent.ACKNOWLEDGED, 14_400, 3650, 21_000_000, 0),
        (BEGAN_NS + 42_000_000, QuicEvent.LOSS, 14_400, 4850, None, 1),
        (BEGAN_NS + 42_000_000, QuicEvent.CONGESTION, 7_200, 4850, None, 1),
    ]
    last = trace.rows[-1]
    assert (last["ssthresh_bytes"], last["srtt_ns"], last["min_rtt_ns"], last["sent_pkts"]) == (
        7_200,
        20_125_000,
        20_000_000,
        5,
    )
    assert [row["in_flight_bytes"] for row in trace.rows] == [0, 2400, 0, 0]


def test_a_log_without_a_packet_sent_has_no_sender(tmp_path: Path) -> None:
    path = tmp_path / "one.qlog"
    path.write_text(document([metrics(0, congestion_window=12_000)]))
    assert read_qlog(path) == []


BROKEN: list[tuple[str | bytes, str]] = [
    ("", "it is empty; end the program before the run ends"),
    (" \n\n", "it is empty"),
    ("{", "line 1, column 2: it ends within a value; end the program before the run ends"),
    ('{"time": 2.', "line 1, column 11: it ends within a value"),
    (FORMS["absolute"][:300], "line 1, column 301: it ends within a value"),
    (FORMS["lines"][:-30], "line 17, column [0-9]+: it ends within a value"),
    (FORMS["sequence"][:-30], "line 17, column [0-9]+: it ends within a value"),
    (FORMS["absolute"] + "\0" * 20, r'"\\u0000" is not JSON here'),
    (FORMS["lines"].replace('"time"', '"ti\0me"', 1), r'line 2, column 5: "\\u0000" is not JSON here'),
    (FORMS["sequence"] + FORMS["absolute"], 'line 18, column 1: "{" is not JSON here'),
    (FORMS["absolute"] + "\n" + FORMS["sequence"], "line 2: more follows the document"),
    (gzip.compress(FORMS["absolute"].encode()), r"it is compressed \(gzip\); have the program write it uncompressed"),
    (FORMS["lines"].encode().replace(b"packet_sent", b"p\xe9cket"), "line 2: the byte 0xe9 is not UTF-8"),
    (FORMS["absolute"].encode("utf-16"), "line 1: the byte 0xff is not UTF-8"),
    ("<html></html>", 'line 1, column 1: "<" is not JSON here'),
    ("[" * 100_000, "line 1: values are nested too deeply"),
    ("[1, 2]", "there is no `traces`"),
    ('{"qlog_version": "draft-01"}', "there is no `traces`"),
    ('{"traces": null}', "`traces` is null, not a list"),
    ('{"traces": [1]}', "trace 1: the trace is 1, not an object"),
    ('{"traces": [{"events": 3}]}', "trace 1: `events` is 3, not a list"),
    ('{"traces": [{"common_fields": null}]}', "trace 1: `common_fields` is null, not an object"),
    ('{"trace": "x"}\n', 'line 1, `trace`: the trace is "x"'),
    (document([sent(0, 0), [0, "transport", "packet_sent", {}]]), "trace 1, event 2: .*versions before 0.3"),
    (document([{"time": "soon", "name": "transport:packet_sent"}]), 'trace 1, event 1: `time` is "soon", not a number'),
    (document([{"name": "transport:packet_sent"}]), "event 1: an event has no `time`; correct what the program logs"),
    (document([{"time": 0}]), "an event has no `name`"),
    (document([{"time": 0, "name": None}]), "`name` is null, not text"),
    (document([{"time": 1e308, "name": "x"}]), r"`time` is 1e\+308, not a time"),
    (document([{"time": 10**400, "name": "x"}]), "`time` is Infinity, not a time"),
    ('{"traces": [{"events": [{"time": ' + "9" * 5000 + "}]}]}", "`time` is Infinity, not a time"),
    (document([{"time": float("nan"), "name": "x"}]), "`time` is NaN, not a time"),
    (document([{"time": True, "name": "x"}]), "`time` is true, not a number"),
    (document([{"time": 2**41, "name": "x"}] * 5, time_format="delta"), "event 3: .* too far from 1970"),
    (document([{"time": 0, "name": "packet_sent", "data": []}]), r"`data` is \[\], not an object"),
    (document([sent(0, 0, -3)]), "`length` is -3, not a number from 0"),
    (document([sent(0, "first")]), '`packet_number` is "first", not a number'),  # type: ignore[arg-type]
    (document([sent(0, 0), acknowledged(1, [])]), r"a range of `acked_ranges` is \[\], not a list of numbers"),
    (document([{"time": 0, "name": "packet_sent", "data": {"frames": "ack"}}]), '`frames` is "ack", not a list'),
    (document(EVENTS, time_format="bogus"), '`common_fields`: `time_format` is "bogus", not one of absolute'),
    (document(EVENTS, reference_time="x"), '`reference_time` is "x", not a number'),
    (document(EVENTS, time_format="relative", reference_time={"epoch": "unknown"}), "not an instant such as"),
    (document(EVENTS, reference_time={"epoch": "2026-99-99T00:00:00Z"}), "not an instant such as"),
]
PYTHON = re.compile(r"Error\b|Traceback|NoneType|object has|sys\.|codec|\bchar [0-9]|<class")


@pytest.mark.parametrize(("content", "words"), BROKEN)
def test_an_error_says_where_why_and_what_to_do(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = tmp_path / "one.qlog"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(QlogError, match=words) as caught:
        read_qlog(path)
    assert not PYTHON.search(str(caught.value)) and "; " in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("known", ["cwnd", "congestion_window", "latest_rtt"])
def test_metrics_that_are_no_numbers_are_refused_and_those_of_others_ignored(tmp_path: Path, known: str) -> None:
    path = tmp_path / "one.qlog"
    path.write_text(document([sent(0, 0), metrics(0, **{known: "12k"}, their_own="12k")]))  # type: ignore[arg-type]
    with pytest.raises(QlogError, match=f'event 2: `{known}` is "12k", not a number'):
        read_qlog(path)


def test_numbers_as_text_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """A number beyond a double's may be text (RFC 7493, section 2.2)."""
    path = tmp_path / "one.qlog"
    path.write_text("\ufeff" + document([sent(0, 0, "1200"), sent(1, str(2**61), 1300)]))  # type: ignore[arg-type]
    (trace,) = read_qlog(path)
    assert (trace.sent_bytes, trace.sent_pkts, trace.datagram_bytes) == (2500, 2, 1300)


def test_an_epoch_that_is_known_counts_and_not_the_wall_clock(tmp_path: Path) -> None:
    reference = {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z", "wall_clock_time": "2026-01-01T00:00:00Z"}
    trace = read(tmp_path, document(shifted(BEGAN_MS), reference_time=reference))
    assert trace.first_sent_ns == BEGAN_NS


@pytest.mark.parametrize(
    "data", [{"cwnd": -1}, {"cwnd": 1e300}, {"cwnd": 12_000, "ssthresh": -1}, {"cwnd": 12_000, "latest_rtt": -1}]
)
def test_numbers_that_no_column_holds_are_refused(tmp_path: Path, data: dict[str, float]) -> None:
    path = tmp_path / "one.qlog"
    events = [
        sent(0, 0),
        metrics(1, smoothed_rtt=20),
        metrics(2, latest_rtt=20),
        metrics(3, **{"latest_rtt": 20, **data}),
    ]
    path.write_text(document(shifted_by(events, BEGAN_MS)))
    with pytest.raises(QlogError, match=r"not a (number|time) from 0 to 2"):
        read_qlog(path)


def test_what_is_in_flight_is_counted_if_it_is_not_logged(tmp_path: Path) -> None:
    only_ack = sent(3, 2, 40)
    only_ack["data"]["frames"] = [{"frame_type": "ack"}]
    events = [
        sent(0, 0, 1250, "initial"),
        sent(1, 0),
        sent(2, 1),
        only_ack,
        acknowledged(20, [0]),
        metrics(20, cwnd=12_000, latest_rtt=20, smoothed_rtt=20),
        lost(21, 1),
        metrics(21, cwnd=6000),
    ]
    trace = read(tmp_path, document(events, time_format="relative", reference_time=BEGAN_MS))
    # The handshake's packets are not waited for after the first acknowledgement of data.
    assert [row["in_flight_bytes"] for row in trace.rows] == [1200, 0]


def test_ranges_of_packets_that_were_never_sent_cost_nothing(tmp_path: Path) -> None:
    count = 4000
    huge = [[9 * 10**9, 9 * 10**18]] * count
    events = [*(sent(0, number) for number in range(count)), acknowledged(1, *huge, [0, count - 1])]
    events.append(metrics(2, cwnd=12_000, latest_rtt=20, smoothed_rtt=20))
    trace = read(tmp_path, document(events, time_format="relative", reference_time=BEGAN_MS))
    assert [row["acked_bytes"] for row in trace.rows] == [1200 * count]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_any_damage_is_a_sentence(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    events = [dict(event) for event in EVENTS]
    event = data.draw(st.sampled_from(events))
    if data.draw(st.booleans()):
        event[data.draw(st.sampled_from(["time", "name", "data"]))] = data.draw(JSON)
    else:
        inner = dict(event["data"])
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(JSON)
        event["data"] = inner
    path = tmp_path_factory.mktemp("log") / "one.qlog"
    path.write_text(document(events, time_format="relative", reference_time=BEGAN_MS))
    try:
        read_qlog(path)
    except QlogError as error:
        assert not PYTHON.search(str(error))

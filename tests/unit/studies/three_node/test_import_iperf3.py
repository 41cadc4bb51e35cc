"""iperf3's JSON, of several versions and in several states.

The documents of 3.12 are recorded. Those of other versions are written after the output of iperf_print_results() of
that version (src/iperf_api.c): 3.7 has one `sum` for a UDP test, of the sender's packets; 3.9 the same with `snd_wnd`;
3.16 also has `sum_sent` and `sum_received`, in which a packet counts at its own end; 3.17 has --json-stream.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.studies.three_node.imports.errors import UnreadableError
from netwarp.studies.three_node.imports.iperf3 import Iperf3Test, read_test

SAMPLES = Path(__file__).parent / "samples"
BYTES, LOST, PACKETS = 1_448_000, 40, 1000


def start(version: str, protocol: str, streams: int = 2, **more: Any) -> dict[str, Any]:
    ends = {"local_host": "192.168.56.104", "remote_host": "192.168.214.104", "remote_port": 5201}
    return {
        "connected": [{"socket": 5 + 2 * i, "local_port": 35410 + 2 * i} | ends for i in range(streams)],
        "version": f"iperf {version}",
        "system_info": "Linux client 5.15.0-91-generic x86_64",
        "timestamp": {"time": "Tue, 22 Oct 2024 10:00:00 GMT", "timesecs": 1729591200},
        "connecting_to": {"host": "192.168.214.104", "port": 5201},
        "test_start": {
            "protocol": protocol,
            "num_streams": streams,
            "blksize": 131072 if protocol == "TCP" else 1448,
            "omit": 0,
            "duration": 10,
            "bytes": 0,
            "blocks": 0,
            "reverse": 0,
        }
        | more,
    }


def part(seconds: float, count: int, **more: Any) -> dict[str, Any]:
    rate = count * 8 / seconds
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": count, "bits_per_second": rate} | more


def tcp(version: str, **more: Any) -> dict[str, Any]:
    streams = [
        {
            "sender": part(10.0, BYTES + 1000, socket=5, retransmits=3, max_snd_cwnd=40000, max_rtt=90000, sender=True),
            "receiver": part(10.04, BYTES, socket=5, sender=True),
        }
        for _ in range(2)
    ]
    sums = {
        "sum_sent": part(10.0, 2 * (BYTES + 1000), retransmits=6, sender=True),
        "sum_received": part(10.04, 2 * BYTES, sender=True),
    }
    end = {"streams": streams, **sums, "sender_tcp_congestion": "cubic", "receiver_tcp_congestion": "cubic"}
    return {"start": start(version, "TCP", **more), "intervals": [], "end": end}


def udp(version: str) -> dict[str, Any]:
    loss = {"lost_packets": LOST, "packets": PACKETS, "lost_percent": 4.0}
    stream = part(10.0, BYTES, socket=5, jitter_ms=2.0, **loss, out_of_order=0, sender=True)
    both = {"lost_packets": 2 * LOST, "packets": 2 * PACKETS, "lost_percent": 4.0, "jitter_ms": 2.0}
    end: dict[str, Any] = {"streams": [{"udp": stream}] * 2, "sum": part(10.04, 2 * BYTES, **both, sender=True)}
    if version not in ("3.7", "3.9"):
        end["sum_sent"] = part(10.0, 2 * BYTES, jitter_ms=0, lost_packets=0, packets=2 * PACKETS, lost_percent=0)
        end["sum_received"] = part(10.04, 2 * (PACKETS - LOST) * 1448, **both, sender=False)
    return {"start": start(version, "UDP"), "intervals": [], "end": end}


def streamed(document: dict[str, Any]) -> str:
    """The document in the form of --json-stream (iperf3 3.17): an event a line."""
    events = [("start", document["start"]), ("interval", {"streams": [], "sum": {}}), ("end", document["end"])]
    return "".join(json.dumps({"event": event, "data": data}) + "\n" for event, data in events)


def read(path: Path, text: str, protocol: str = "tcp") -> Iperf3Test:
    path.write_text(text)
    return read_test(path, protocol)


def refused(path: Path, text: str, protocol: str = "tcp") -> str:
    with pytest.raises(UnreadableError) as caught:
        read(path, text, protocol)
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tcp.json"


def test_the_recorded_tcp_test() -> None:
    test = read_test(SAMPLES / "iperf3-3.12-tcp.json", "tcp")
    assert (test.version, test.streams, test.ports) == ("iperf 3.12", 2, (35410, 35422))
    assert (test.client, test.server, test.server_port) == ("192.168.56.104", "192.168.214.104", 5201)
    assert (test.sent_bytes, test.received_bytes, test.retransmits) == (1630448, 1443656, 180)
    assert (test.seconds, test.started_s, test.congestion_control) == (4.048038, 1795305552, "bbr")
    assert test.text == (SAMPLES / "iperf3-3.12-tcp.json").read_bytes()
    assert test.sent_pkts is test.received_pkts is test.jitter_ms is None


def test_the_recorded_udp_test() -> None:
    test = read_test(SAMPLES / "iperf3-3.12-udp.json", "udp")
    assert (test.sent_bytes, test.received_bytes) == (2001136, 1481304)
    assert (test.sent_pkts, test.received_pkts) == (1382, 1024)
    assert test.jitter_ms == 1.6928319739409459
    assert test.retransmits is None


@pytest.mark.parametrize("version", ["3.7", "3.9", "3.12", "3.16", "3.17"])
def test_tcp_of_every_version(file: Path, version: str) -> None:
    test = read(file, json.dumps(tcp(version), indent="\t"))
    assert (test.sent_bytes, test.received_bytes, test.retransmits) == (2 * (BYTES + 1000), 2 * BYTES, 6)
    assert (test.seconds, test.streams, test.congestion_control) == (10.04, 2, "cubic")
    assert test.notes == ()


@pytest.mark.parametrize("version", ["3.7", "3.9", "3.12", "3.16", "3.17"])
def test_udp_of_every_version_tells_what_arrived(file: Path, version: str) -> None:
    """Before sum_received existed, `sum.bytes` was the sender's: arrivals are counted in packets."""
    test = read(file, json.dumps(udp(version)), "udp")
    assert (test.sent_bytes, test.received_bytes) == (2 * BYTES, 2 * (PACKETS - LOST) * 1448)
    assert (test.sent_pkts, test.received_pkts, test.jitter_ms) == (2000, 1920, 2.0)


def test_a_stream_of_events_is_the_document_that_it_tells(file: Path) -> None:
    test = read(file, streamed(tcp("3.17")))
    assert test.received_bytes == 2 * BYTES
    assert test.text is None, "kept as a document, not as it was printed"
    document: Any = test.document
    assert document["end"]["sum_sent"]["retransmits"] == 6


def test_streams_without_sums_are_added_up(file: Path) -> None:
    document = tcp("3.7")
    del document["end"]["sum_sent"]["bytes"], document["end"]["sum_sent"]["retransmits"]
    del document["end"]["sum_received"]["bytes"]
    test = read(file, json.dumps(document))
    assert (test.sent_bytes, test.received_bytes, test.retransmits) == (2 * (BYTES + 1000), 2 * BYTES, 6)


def test_a_system_that_counts_no_retransmissions(file: Path) -> None:
    document = tcp("3.16")
    del document["end"]["sum_sent"]["retransmits"]
    for stream in document["end"]["streams"]:
        del stream["sender"]["retransmits"]
    assert read(file, json.dumps(document)).retransmits is None


def test_milliseconds_of_the_start_are_taken_where_they_are(file: Path) -> None:
    document = tcp("3.18")
    document["start"]["timestamp"]["timemillisecs"] = 1729591200250
    assert read(file, json.dumps(document)).started_s == 1729591200.25


def test_addresses_are_plain(file: Path) -> None:
    document = tcp("3.12")
    for entry in document["start"]["connected"]:
        entry |= {"local_host": "::ffff:10.0.0.1", "remote_host": "fe80::1%eth0"}
    test = read(file, json.dumps(document))
    assert (test.client, test.server) == ("10.0.0.1", "fe80::1")


def test_reversed_omitted_and_more_losses_than_packets(file: Path) -> None:
    test = read(file, json.dumps(tcp("3.12", reverse=1, omit=2)))
    assert test.reverse
    assert test.omitted_s == 2.0
    document = udp("3.7")
    document["end"]["sum"]["lost_packets"] = -3
    assert read(file, json.dumps(document), "udp").received_pkts == 2000, "three came twice"
    document["end"]["sum"]["lost_packets"] = 5000
    assert read(file, json.dumps(document), "udp").received_pkts == 0


def test_of_several_documents_the_last_good_one_counts(file: Path) -> None:
    broken = {"start": start("3.12", "TCP"), "intervals": [], "end": {}, "error": "control socket has closed"}
    first, last = tcp("3.12"), tcp("3.12")
    last["end"]["sum_received"]["bytes"] = 77
    test = read(file, "\n".join(json.dumps(document) for document in (first, last, broken)))
    assert test.received_bytes == 77
    assert test.notes == ("3 documents in it, the last good one counts",)
    assert test.text is None
    test = read(file, "warning: no route\n" + json.dumps(last) + "\n" + json.dumps(first)[:-30])
    assert test.received_bytes == 77
    assert test.notes == ("after the last good document the JSON is cut short (line 3)",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("iperf3: error - unable to connect to server: Connection refused\n", "there is no JSON in it"),
        (json.dumps(tcp("3.12"), indent=1)[:-300], "the JSON is cut short (line "),
        ('{"start": }', "it is not JSON (line 1)"),
        ("{" * 100_000, "it is not JSON (line 1)"),
        ('{"a":' * 100_000, "not output of iperf3"),
        (json.dumps(udp("3.12")), "it contains a test of UDP, not of TCP"),
        (json.dumps({"start": {}, "error": "the server is busy"}), "iperf3 says: the server is busy"),
        (json.dumps({"start": start("3.12", "TCP"), "end": {}}), "no connection was made"),
        ("{}", "it lacks the description of the test"),
        (json.dumps(tcp("3.12") | {"end": {"streams": [{}]}}), "the test did not end"),
        (json.dumps(tcp("3.12") | {"error": "unable to receive results"}), "iperf3 says: unable to receive results"),
    ],
)
def test_what_cannot_be_used_says_why(file: Path, text: str, why: str) -> None:
    assert why in refused(file, text)


def test_wherever_it_is_cut_it_is_said_to_be_cut(file: Path) -> None:
    whole = json.dumps({"a": -1.5e-07, "b": [True, None, False], "c": 'an "ä\n', "d": {"e": {}}}, indent=1)
    for length in range(1, len(whole)):
        assert "the JSON is cut short (line " in refused(file, whole[:length]), whole[:length]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="cannot be read"):
        read_test(tmp_path / "none.json", "tcp")


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    ("start",),
    ("start", "connected"),
    ("start", "test_start", "num_streams"),
    ("start", "timestamp"),
    ("end", "streams"),
    ("end", "sum"),
    ("end", "sum_sent", "bytes"),
    ("end", "sum_received"),
    ("end", "sum_received", "seconds"),
]


@pytest.mark.slow
@settings(deadline=None)
@given(keys=st.sampled_from(KEYS), value=NESTED, protocol=st.sampled_from(["tcp", "udp"]))
def test_no_value_in_any_place_is_too_much(
    tmp_path_factory: pytest.TempPathFactory, keys: tuple[str, ...], value: Any, protocol: str
) -> None:
    """Any value in a place gives a test whose numbers are numbers, or a reason."""
    document = tcp("3.12") if protocol == "tcp" else udp("3.12")
    place: Any = document
    for key in keys[:-1]:
        place = place.setdefault(key, {})
    place[keys[-1]] = value
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(document))
    try:
        test = read_test(path, protocol)
    except UnreadableError as error:
        assert str(error)
        return
    assert test.seconds > 0
    for number in (test.sent_bytes, test.received_bytes, test.retransmits, test.sent_pkts, test.received_pkts):
        assert number is None or 0 <= number < 2**63

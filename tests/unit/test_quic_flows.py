"""QUIC flows: what a scenario may say, what of it is in the lab, and how its records are read."""

from __future__ import annotations

import numpy as np
import pytest
from netwarp.analysis.flow.datagrams import Datagrams, Received, received
from netwarp.analysis.flow.deliveries import Deliveries
from netwarp.analysis.flow.quic import Handshake, Quic, handshake, quic_metrics
from netwarp.flows import KINDS, FlowPath
from netwarp.flows.quic import QuicFields, QuicFlow
from netwarp.flows.quic_datagrams import QuicDatagramsFields, QuicDatagramsFlow
from netwarp.scenario import Scenario, ScenarioError, parse_scenario
from netwarp.stats.weighting import Window
from netwarp.store.empty_path import EmptyPath, Hop
from pydantic import TypeAdapter, ValidationError
from scenario_texts import TWO_LINKS

DATAGRAMS = {"from": "h1", "to": "h2", "tool": "quic_datagrams"}
ENDS = {"from": "h1", "to": "h2", "tool": "quic"}
PATH = FlowPath(mtu=1500, rate_bps=10**7)
MS = 10**6


def fields(path: FlowPath = PATH, **more: object) -> QuicFields:
    return QuicFlow.model_validate(ENDS | more).lab_fields(path)


@pytest.mark.parametrize(
    ("more", "mtu", "expected"),
    [
        ({}, 1500, 1472),
        ({"family": "ipv6"}, 1500, 1452),
        ({"datagram_size": 1300}, 1500, 1300),
        ({}, 9000, 8972),
    ],
)
def test_a_datagram_fits_into_one_packet(more: dict[str, object], mtu: int, expected: int) -> None:
    found = fields(FlowPath(mtu=mtu, rate_bps=10**7), **more)
    assert found.datagram_size_bytes == expected


def test_only_a_flow_that_resumes_has_a_first_connection() -> None:
    assert fields().resume_ahead_ns is None
    assert fields(start="2s", zero_rtt=True).resume_ahead_ns == 10**9
    assert fields(start="2s", zero_rtt=True, resume_ahead="300ms").resume_ahead_ns == 300 * MS


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"zero_rtt": True}, "zero_rtt", "fetches its session ticket 1s before its start at 0ns"),
        ({"zero_rtt": True, "start": "1s", "resume_ahead": "2s"}, "zero_rtt", "before the run begins"),
        ({"start": "1s", "resume_ahead": "1s"}, "resume_ahead", "write zero_rtt = true"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], field: str, words: str) -> None:
    ((named, sentence),) = QuicFlow.model_validate(ENDS | more).problems()
    assert named == field
    assert words in sentence


def test_bytes_are_offered_with_their_headers() -> None:
    flow = QuicFlow.model_validate(ENDS | {"bytes": "1440kB"})
    assert flow.frame_bytes(PATH) == 1514
    assert flow.offered_bytes(PATH, 10**9) == pytest.approx(1_440_000 * 1514 / 1444)
    assert QuicFlow.model_validate(ENDS).offered_bytes(PATH, 10**9) is None
    assert KINDS["quic"].transport == "udp"


@pytest.mark.parametrize(
    ("more", "size", "packet"),
    [
        ({}, 1434, 1463),
        ({"message_size": 300}, 300, 329),
        ({"message_size": 5000}, 1434, 1463),
        ({"message_size": 64}, 64, 93),
        ({"message_size": 63}, 63, 91),  # the length takes one byte
        ({"message_size": 16}, 16, 44),
    ],
)
def test_a_datagram_has_a_packet(more: dict[str, object], size: int, packet: int) -> None:
    flow = QuicDatagramsFlow.model_validate(DATAGRAMS | {"rate": "1mbit"} | more)
    assert flow.lab_fields(PATH).message_size_bytes == size
    assert flow.frame_bytes(PATH) == packet + 42
    assert flow.offered_bytes(PATH, 10**9) == pytest.approx(125_000 * (packet + 42) / size)


def test_without_a_rate_datagrams_are_as_many_as_the_network_takes() -> None:
    assert QuicDatagramsFlow.model_validate(DATAGRAMS).offered_bytes(PATH, 10**9) is None


def _problems(more: dict[str, object], active_ns: int = 10**9) -> list[tuple[str, str]]:
    flow = QuicDatagramsFlow.model_validate(DATAGRAMS | more)
    return [*flow.problems(), *flow.path_problems(PATH, active_ns)]


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"backlog": "20kB"}, "backlog", "only a flow with `rate` has a backlog"),
        ({"backlog": 1433, "rate": "1mbit"}, "backlog", "has no room for one datagram of 1434 bytes"),
        (
            {"backlog": 500, "rate": "1mbit", "message_size": 501},
            "backlog",
            "has no room for one datagram of 501 bytes",
        ),
        (
            {"backlog": 1161, "rate": "1mbit", "datagram_size": 1200},
            "backlog",
            "has no room for one datagram of 1162 bytes",
        ),
        (
            {"rate": "10tbit", "message_size": 16},
            "rate",
            "these are 78,125,000,000 datagrams of 16 bytes, and a flow has at most 50,000,000",
        ),
    ],
)
def test_a_backlog_or_rate_that_cannot_be_is_refused(more: dict[str, object], field: str, words: str) -> None:
    ((named, sentence),) = _problems(more)
    assert named == field
    assert words in sentence


@pytest.mark.parametrize(
    "more", [{"backlog": 1434}, {"backlog": 1170, "datagram_size": 1200}, {"backlog": 2**32 - 1}, {"rate": "20gbit"}]
)
def test_a_backlog_has_room_for_the_data_of_a_datagram(more: dict[str, object]) -> None:
    assert _problems({"rate": "1mbit"} | more) == []


def test_a_backlog_is_a_number_that_the_lab_can_have() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 4294967295"):
        _problems({"rate": "1mbit", "backlog": 2**32})
    fields = QuicDatagramsFlow.model_validate(DATAGRAMS | {"rate": "1mbit", "backlog": 2**32 - 1}).lab_fields(PATH)
    assert TypeAdapter(QuicDatagramsFields).validate_python(fields.as_json()) == fields


def test_a_backlog_is_checked_with_the_mtu_of_its_path() -> None:
    def parsed(mtu: int) -> Scenario:
        flow = 'tool = "quic_datagrams"\nrate = "1mbit"\nbacklog = 1434'
        return parse_scenario(TWO_LINKS + flow, settings=[f"links.near.mtu={mtu}", f"links.far.mtu={mtu}"])

    assert parsed(1500)
    with pytest.raises(ScenarioError, match=r"flows\.f\.backlog: has no room for one datagram of 1435 bytes"):
        parsed(1501)


def _under_way(arrived: int, sent: int, growth_ns: int, end_ns: int) -> Received:
    """The losses of datagrams that are sent each millisecond, when each takes longer than the one before."""
    sequence = np.arange(arrived)
    sent_ns = sequence * MS
    received_ns = sent_ns + 5 * MS + sequence * growth_ns
    none_again, payload = np.ones(arrived, np.bool_), np.full(arrived, 1000)
    datagrams = Datagrams(sequence, sent_ns, received_ns, payload, none_again, sent)
    return received(datagrams, Window(0, end_ns), end_ns)


def test_datagrams_that_are_under_way_at_the_end_are_not_lost() -> None:
    """The delay grows, so that the longest one does not bound those of the datagrams after the last that arrived."""
    found = _under_way(arrived=500, sent=1100, growth_ns=MS, end_ns=1_004_500_000)
    assert found.lost == 0
    assert found.sent <= 500


def test_datagrams_that_an_outage_kept_from_arriving_are_lost() -> None:
    """Nothing has arrived for longer than the longest delay: all 495 that were sent before the last 5 ms are lost."""
    found = _under_way(arrived=500, sent=1000, growth_ns=0, end_ns=1000 * MS)
    assert found.sent == pytest.approx(995, abs=2)
    assert found.lost == found.sent - 500


def _arrived(first_ns: int) -> Deliveries:
    return Deliveries(np.array([first_ns]), np.array([1440]))


def _quic(first_ns: int | None, events_ns: list[int], path: EmptyPath | None) -> Quic:
    arrived = None if first_ns is None else _arrived(first_ns)
    return Quic(None, arrived, arrived, np.array(events_ns, np.int64), path, 1472)


def test_a_beginning_is_counted_from_the_flows_start_and_in_round_trips() -> None:
    path = EmptyPath((Hop(10**7, 15 * MS),), (Hop(10**7, 5 * MS),), 1500, 4)
    begun = handshake(_quic(1050 * MS, [], path), _arrived(1050 * MS), 1000 * MS, 1022 * MS)
    assert begun == Handshake(22 * MS, 50 * MS, 20 * MS)
    assert handshake(_quic(None, [], None), None, 1000 * MS, None) == Handshake(None, None, None)
    parts = [
        (_quic(1050 * MS, [1, 5, 9], path), Window(2, 9), begun),
        (_quic(None, [], None), Window(2, 9), Handshake(42 * MS, None, None)),
    ]
    assert quic_metrics(parts) == {
        "handshake_ms_mean": 32,
        "handshake_rtts_mean": pytest.approx(1.1),
        "first_data_ms_mean": 50,
        "congestion_events": 2,
    }
    assert quic_metrics([]) == {}

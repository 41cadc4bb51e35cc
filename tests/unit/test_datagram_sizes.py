"""Datagrams that are larger than an MTU of their path: refused where none arrives, and otherwise a note on fragments.

tests/e2e/test_traffic.py counts them on the wire, and netwarp verify the row `fragments`.
"""

from __future__ import annotations

import pytest
from netwarp.lab import network_notes
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.scenario.check.datagrams import fragments
from netwarp.scenario.points.notes import notes
from scenario_texts import TWO_LINKS

UDP = ('tool = "cbr"', 'rate = "1mbit"', "packet_size = 3000")
DRAWN = ('tool = "poisson"', 'rate = "1mbit"', 'packet_size = "1000 exponential"')
PING = ('tool = "ping"', "size = 3000")
QUIC = ('tool = "quic"', "datagram_size = 1473")
NEAR_9000, NEAR_2000 = "links.near.mtu=9000", "links.near.mtu=2000"


def said(lines: tuple[str, ...], *settings: str) -> list[str]:
    scenario = parse_scenario(TWO_LINKS + "\n".join(lines), settings=settings)
    return [str(note) for note in notes(scenario, network_notes)]


@pytest.mark.parametrize(
    ("lines", "settings", "words"),
    [
        (QUIC, (), 'is 1473 bytes, and 1472 fit into a packet on link "near" (mtu 1500); these packets are never'),
        (QUIC, (NEAR_9000,), '1472 fit into a packet on link "far" (mtu 1500)'),
        (QUIC, ("flows.f.datagram_size=1453", "flows.f.family=ipv6"), "is 1453 bytes, and 1452 fit"),
        (UDP, (NEAR_9000,), "h1 learns this only when its packets are dropped there: a datagram that fits into its"),
        (UDP, (NEAR_9000, "flows.f.family=ipv6"), 'routers of IPv6 do not fragment, and link "near" has mtu 9000'),
        (UDP, (NEAR_2000, "flows.f.family=ipv6"), "lower it to 1452, or give both links the same mtu"),
        (PING, (NEAR_9000,), "lower it to 1472"),
    ],
)
def test_datagrams_of_which_none_arrives_are_refused(
    lines: tuple[str, ...], settings: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        said(lines, *settings)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("lines", "settings", "parts"),
    [
        (UDP, (), 3),
        (UDP, ("flows.f.packet_size=1473",), 2),
        (UDP, (NEAR_2000,), 3),
        # 1480, 1480 and 48 bytes, of which routers split the first two.
        (UDP, ("links.far.mtu=1280",), 5),
        (UDP, ("flows.f.family=ipv6",), 3),
        # Its author lets routers fragment.
        (UDP, (NEAR_9000, 'nodes.h1.sysctl={ "net.ipv4.ip_no_pmtu_disc" = 1 }'), 3),
        (UDP, (NEAR_9000, 'flows.f.setsockopt=["0 10 0"]'), 3),
        (PING, (), 3),
        # It learns the MTU by the loss of its first request.
        (PING, (NEAR_9000, "flows.f.family=ipv6"), 3),
    ],
)
def test_fragments_are_noted(lines: tuple[str, ...], settings: tuple[str, ...], parts: int) -> None:
    (note,) = said(lines, *settings)
    assert f"crosses the path in {parts} fragments" in note and "flows.f" in note


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        (UDP, ("flows.f.packet_size=1472",)),
        (UDP, ("links.near.mtu=9000", "links.far.mtu=9000")),
        (DRAWN, ()),
        (PING, ("flows.f.size=1472",)),
        (QUIC, ("flows.f.datagram_size=1472",)),
    ],
)
def test_packets_that_fit_need_no_words(lines: tuple[str, ...], settings: tuple[str, ...]) -> None:
    assert not [note for note in said(lines, *settings) if "fragments" in note]


def test_a_note_is_on_the_point_of_a_sweep_that_has_fragments() -> None:
    scenario = parse_scenario(TWO_LINKS + "\n".join(UDP) + '\n[sweep]\n"flows.f.packet_size" = [1472, 2953]\n')
    (note,) = notes(scenario, network_notes)
    assert "2953 bytes crosses the path in 3 fragments" in str(note) and "sweep" in str(note)


@pytest.mark.parametrize(
    ("ip_payload_bytes", "family", "mtus", "expected"),
    [
        (1480, "ipv4", (1500,), 1),
        (1481, "ipv4", (1500,), 2),
        (2960, "ipv4", (1500,), 2),
        (2961, "ipv4", (1500,), 3),
        # 1976 + 1032 bytes, and the first as 1480 + 496.
        (3008, "ipv4", (2000, 1500), 3),
        # A last fragment needs no multiple of 8 bytes: 1256 + 1260 of 1260.
        (2516, "ipv4", (1280,), 2),
        # IPv6: all fragments carry a multiple of 8 bytes, as the machine's kernel sends them.
        (1460, "ipv6", (1500,), 1),
        (1461, "ipv6", (1500,), 2),
        (2896, "ipv6", (1500,), 2),
        (2897, "ipv6", (1500,), 3),
    ],
)
def test_fragments_by_hand(ip_payload_bytes: int, family: str, mtus: tuple[int, ...], expected: int) -> None:
    assert fragments(ip_payload_bytes, family, mtus) == expected

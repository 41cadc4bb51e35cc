"""HTTP flows: what a scenario may say, what of it is in the lab, and the metrics of their pages."""

from __future__ import annotations

import numpy as np
import pytest
from netwarp.analysis.flow.pages import Pages, page_metrics
from netwarp.analysis.flow.transfers import Transfers
from netwarp.flows import KINDS, FlowPath
from netwarp.flows.http import HttpFields, HttpFlow
from netwarp.stats.weighting import Window

ENDS = {"from": "h1", "to": "h2", "tool": "http"}
PATH = FlowPath(mtu=1500, rate_bps=10**7)
MS = 10**6


def fields(**more: object) -> HttpFields:
    return HttpFlow.model_validate(ENDS | more).lab_fields(PATH)


@pytest.mark.parametrize(
    ("version", "protocol", "connections"), [("1.1", "tcp", 6), ("2", "tcp", 1), ("3", "udp", 1), (1.1, "tcp", 6)]
)
def test_the_version_decides_transport_and_connections(version: object, protocol: str, connections: int) -> None:
    found = fields(version=version)
    assert (found.protocol, found.most_connections) == (protocol, connections)
    own = HttpFlow.model_validate(ENDS | {"version": version}).own_fields(PATH)
    assert KINDS["http"].transport_of(own) == protocol
    assert KINDS["http"].connections_of(own) == connections


def test_pages_that_arrive_may_have_many_connections() -> None:
    own = HttpFlow.model_validate(ENDS | {"arrivals": "every 1s"}).own_fields(PATH)
    assert KINDS["http"].connections_of(own) == 200


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"version": "2", "tls": False}, "tls", "HTTP/2 is always encrypted"),
        ({"arrivals": "poisson"}, "arrivals", "has no rate"),
        ({"arrivals": "poisson 1/s", "think": "1s"}, "think", "leave one of the two out"),
        ({"zero_rtt": True, "start": "2s"}, "zero_rtt", "only HTTP/3"),
        ({"version": "3", "zero_rtt": True}, "zero_rtt", "fetches its session tickets 1s before its start at 0ns"),
        ({"start": "1s", "resume_ahead": "1s"}, "resume_ahead", "write zero_rtt = true"),
        ({"version": "3", "cc": "reno"}, "cc", "cubic, newreno, bbr"),
        ({"version": "3", "mss": 1000}, "mss", "an option of TCP"),
        ({"connections": 4}, "connections", "one connection of HTTP/2; leave"),
        ({"version": "3", "connections": 6}, "connections", "one connection of HTTP/3; leave"),
        ({"objects": 9, "urgent": 2}, "urgent", "HTTP/2 takes no notice of urgency; leave"),
        ({"version": "3", "objects": 1, "urgent": 2}, "urgent", "has 1 object beside its document; lower"),
        ({"depth": 2}, "depth", "there are not 2 levels of 0 objects; lower"),
        ({"objects": 3, "depth": 4}, "depth", "there are not 4 levels of 3 objects; lower"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], field: str, words: str) -> None:
    ((named, sentence),) = HttpFlow.model_validate(ENDS | more).problems()
    assert named == field
    assert words in sentence


@pytest.mark.parametrize(
    "more",
    [
        {"version": "1.1", "connections": 4, "objects": 3, "depth": 3},
        {"version": "3", "objects": 2, "urgent": 2},
        {"depth": 1, "urgent": 0},
    ],
)
def test_fields_that_have_an_effect_are_taken(more: dict[str, object]) -> None:
    assert not list(HttpFlow.model_validate(ENDS | more).problems())


@pytest.mark.parametrize(
    ("more", "pages"),
    [
        ({"arrivals": "every 1s"}, 10),
        ({"arrivals": "every 1s", "pages": 3}, 3),
        ({"think": "2s"}, 6),
        ({"pages": 4}, 4),
        ({}, None),
    ],
)
def test_offered_bytes_are_those_of_the_pages(more: dict[str, object], pages: int | None) -> None:
    flow = HttpFlow.model_validate(ENDS | {"document": "10kB", "objects": 9, "object_size": "10kB"} | more)
    assert flow.offered_bytes(PATH, 10 * 10**9) == (None if pages is None else pages * 100_000)


def test_a_size_of_objects_that_a_page_does_not_have_is_refused() -> None:
    ((field, why),) = HttpFlow.model_validate(ENDS | {"object_size": "10kB"}).problems()
    assert field == "object_size"
    assert "has no objects beside its document" in why
    assert not list(HttpFlow.model_validate(ENDS | {"object_size": "10kB", "objects": 1}).problems())


ENDED, TOGETHER = np.array([100, 400, 400, 500, 2000]) * MS, np.array([False, False, True, False, True])


def transfers(starts: list[int], ends: list[int], complete: list[bool]) -> Transfers:
    arrays = (np.array(starts) * MS, np.array(ends) * MS, np.array(complete), np.full(len(starts), 1000))
    return Transfers(*arrays)


def test_pages_that_are_not_complete_are_censored() -> None:
    """Loads of 100, 200 and more than 300 ms: by Kaplan and Meier the median is 200 ms, and the greatest is unknown."""
    loads = transfers([0, 200, 700], [100, 400, 1000], [True, True, False])
    firsts = transfers([0, 200, 700], [40, 240, 740], [True, True, True])
    found = page_metrics([(Pages(loads, firsts, loads, ENDED, TOGETHER, 20 * MS), Window(0, 1000 * MS))])
    assert (found["pages"], found["pages_incomplete"]) == (2, 1)
    assert found["page_load_ms_p50"] == 200
    assert found["page_load_ms_max"] is None
    assert found["page_load_rtts_p50"] == 10
    assert found["objects_together_pct"] == 25
    assert found["ttfb_ms_mean"] == 40
    assert found["ttfb_rtts_mean"] == 2


def test_round_trips_are_unknown_without_a_path() -> None:
    loads = transfers([0], [100], [True])
    found = page_metrics([(Pages(loads, loads, loads, ENDED, TOGETHER, None), Window(0, 1000 * MS))])
    assert "page_load_rtts_mean" not in found
    assert page_metrics([]) == {}

"""The division of a network between several kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.lab import build_lab
from netwarp.lab.division import MAX_RING_BYTES, MIN_WINDOW_NS, Division, DivisionError, obstacles
from netwarp.lab.network import NetworkGraph
from netwarp.lab.sizes import Sizes
from netwarp.plan import make_plan
from netwarp.scenario import load_scenario
from netwarp.scenario.model import Scenario

from bench.scenarios import hops

FLOW = '[flows.bulk]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\n'


def _scenario(place: Path, text: str) -> Scenario:
    (place / "scenario.toml").write_text(text)
    return load_scenario(place / "scenario.toml")


def _divided(place: Path, text: str) -> Division:
    scenario = _scenario(place, text)
    network = NetworkGraph(scenario)
    return Division.of(network, Sizes(scenario, network))


def _chain(*delays: str, cpus: int = 2, rate: str = "10mbit", extra: str = "") -> str:
    """Two hosts with routers between them; each link has one of the delays."""
    nodes = ["h1", *(f"r{number}" for number in range(1, len(delays))), "h2"]
    text = f'name = "chain"\nduration = "1s"\n[run]\ncpus = {cpus}\n[nodes]\n'
    for node in nodes:
        text += f"{node} = {{ {'forward = true' if node.startswith('r') else ''} }}\n"
    for number, delay in enumerate(delays):
        text += f'[links.l{number}]\nends = ["{nodes[number]}", "{nodes[number + 1]}"]\nrate = "{rate}"\n'
        text += f'delay = "{delay}"\n{extra}'
    return text + FLOW


def test_a_parking_lot_is_divided_in_the_middle(tmp_path: Path) -> None:
    division = _divided(tmp_path, hops(8, cpus=2))
    parts = [division.part_of[f"r{number}"] for number in range(1, 10)]
    assert parts in (sorted(parts), sorted(parts, reverse=True))
    assert parts.count(0) in (4, 5)
    # Hosts have links without delay, so that they stay with their routers: flow i goes from router i to the next.
    assert all(division.part_of[f"s{number}"] == parts[number - 1] for number in range(1, 9))
    assert all(division.part_of[f"d{number}"] == parts[number] for number in range(1, 9))
    assert division.parts.window_ns == 10_000_000


@pytest.mark.parametrize("cpus", [2, 3, 4, 8])
def test_every_part_has_nodes_and_about_the_same_work(tmp_path: Path, cpus: int) -> None:
    division = _divided(tmp_path, hops(16, cpus=cpus))
    routers = [division.part_of[f"r{number}"] for number in range(1, 18)]
    assert set(division.part_of.values()) == set(range(cpus))
    assert max(routers.count(part) for part in range(cpus)) <= -(-17 // cpus) + 1


def test_the_longest_delay_is_cut(tmp_path: Path) -> None:
    division = _divided(tmp_path, _chain("0ms", "1ms", "20ms", "1ms"))
    assert division.parts.window_ns == 20_000_000
    assert len({division.part_of[node] for node in ("h1", "r1", "r2")}) == 1
    assert division.part_of["r3"] == division.part_of["h2"] != division.part_of["r2"]


@pytest.mark.parametrize(
    ("extra", "divisible"),
    [
        ("", True),
        ('loss = "1%"\nduplicate = "1%"\n', True),
        ('jitter = "1ms"\n', False),
        ('reorder = "1%"\n', False),
        ('wire = "netem"\n', False),
        ("offload = true\n", False),
    ],
)
def test_a_frame_between_parts_takes_the_delay_at_least(tmp_path: Path, extra: str, divisible: bool) -> None:
    text = _chain("5ms", "5ms", extra=extra)
    if divisible:
        assert _divided(tmp_path, text).parts.window_ns == 5_000_000
        return
    with pytest.raises(DivisionError, match="without jitter, reordering and opportunities"):
        _divided(tmp_path, text)


def test_the_window_is_the_shortest_delay_in_the_run(tmp_path: Path) -> None:
    change = '[[changes]]\nat = "500ms"\nlink = "l1"\ndelay = { reverse = "2ms" }\n'
    assert _divided(tmp_path, _chain("0ms", "5ms") + change).parts.window_ns == 2_000_000


def test_a_delay_that_is_too_short_is_said(tmp_path: Path) -> None:
    (sentence,) = obstacles(_scenario(tmp_path, _chain("50us", "50us")))
    assert sentence.endswith("has a delay of at least 0.1 ms")
    assert _divided(tmp_path, _chain("100us", "100us")).parts.window_ns == MIN_WINDOW_NS


def test_windows_are_shorter_where_more_would_be_on_the_way_than_there_is_room_for(tmp_path: Path) -> None:
    parts = _divided(tmp_path, _chain("100ms", "100ms", rate="10gbit")).parts
    assert MIN_WINDOW_NS < parts.window_ns < 100_000_000
    assert parts.ring_bytes == pytest.approx(MAX_RING_BYTES, rel=0.01)
    # Two windows of it, and eight times as much room as they have bytes.
    assert 8 * 2 * parts.window_ns * 10 // 8 == pytest.approx(MAX_RING_BYTES, rel=0.01)


def test_a_network_in_more_parts_than_it_falls_into_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DivisionError, match="does not fall into 4 parts"):
        _divided(tmp_path, _chain("5ms", "5ms", cpus=4))
    # A reader of the plan sees the network in one part.
    assert build_lab(make_plan(_scenario(tmp_path, _chain("5ms", "5ms", cpus=4))).runs[0]).parts is None


def test_a_network_in_pieces_is_divided_between_them(tmp_path: Path) -> None:
    text = _chain("5ms").replace("[flows", '[links.m]\nends = ["a", "b"]\nrate = "10mbit"\n[flows', 1)
    pieces = text.replace("[nodes]\n", "[nodes]\na = {}\nb = {}\n") + FLOW.replace("bulk", "other", 1).replace(
        '"h1"', '"a"'
    ).replace('"h2"', '"b"')
    division = _divided(tmp_path, pieces)
    assert division.part_of["h1"] == division.part_of["h2"] != division.part_of["a"] == division.part_of["b"]
    assert division.parts.window_ns == 5_000_000, "they meet, though nothing passes between them"

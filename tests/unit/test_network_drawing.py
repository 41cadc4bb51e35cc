"""Drawings of networks, read back from their SVG: lines avoid nodes, labels cover nothing, all is inside."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from netwarp.lab import build_lab
from netwarp.lab_format.model import read_lab
from netwarp.plan import make_plan
from netwarp.report.drawing import draw
from netwarp.report.geometry import Box, meets
from netwarp.scenario import parse_scenario
from netwarp.store.network import Network, network_of

SHAPES = {
    "star n=3": ("h1", "h2"),
    "star n=8": ("h1", "h2"),
    "ring n=5": ("h1", "h3"),
    "ring n=8": ("h1", "h5"),
    "dumbbell n=2": ("s1", "d1"),
    "dumbbell n=4": ("s1", "d1"),
    "parking-lot n=3": ("s0", "d0"),
    "leaf-spine leaves=3 spines=2 hosts=2": ("h1", "h6"),
    "fat-tree k=4": ("h1", "h16"),
}
ABILENE = """
    New-York Chicago, New-York Washington-DC, Seattle Sunnyvale, Seattle Denver, Sunnyvale Los-Angeles,
    Sunnyvale Denver, Los-Angeles Houston, Denver Kansas-City, Kansas-City Houston, Kansas-City Indianapolis,
    Houston Atlanta, Chicago Indianapolis, Indianapolis Atlanta, Atlanta Washington-DC
"""
PAIR = "a b, a b, a b, b c"
OTHERS = {"Abilene": ABILENE, "links between the same nodes": PAIR}
CHAR_W, BOLD_W, FONT_H = 6.2, 7.0, 12


class _Picture(NamedTuple):
    frame: Box
    nodes: list[Box]
    lines: list[list[tuple[float, float]]]
    texts: list[Box]


def _shape(line: str) -> Network:
    source, target = SHAPES[line]
    flow = f'[flows.web]\nfrom = "{source}"\nto = "{target}"\ntool = "bulk"\n'
    scenario = parse_scenario(f'name = "t"\nduration = "1s"\ntopology = "{line}"\n{flow}')
    return network_of(build_lab(make_plan(scenario).runs[0]))


def _of(links: str) -> Network:
    pairs = [pair.split() for pair in links.split(",")]
    wire = {"rate_bps": 10**9, "delay_ns": 1_642_456}
    drawn = [
        {
            "name": f"{one}-{other}",
            "ends": [{"node": end, "index": 2 * number + way, "wire": wire} for way, end in enumerate((one, other))],
        }
        for number, (one, other) in enumerate(pairs)
    ]
    nodes = [{"name": node, "forward": True} for node in dict.fromkeys(end for pair in pairs for end in pair)]
    return network_of(read_lab({"duration_ns": 1, "flows": [], "nodes": nodes, "links": drawn}))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def _read(svg: str) -> _Picture:
    left, top, width, height = _numbers(re.findall(r'viewBox="([^"]*)"', svg)[0])
    rects = re.findall(r'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"', svg)
    nodes = [Box(x, y, x + w, y + h) for x, y, w, h in (map(float, rect) for rect in rects)]
    lines = [_line(_numbers(path)) for path in re.findall(r'<path d="([^"]*)"', svg)]
    outside = re.sub(r"<g>.*?</g>", "", svg)
    texts = re.findall(r'<text x="([^"]*)" y="([^"]*)" text-anchor="(\w+)" ([^>]*)>([^<]*)', outside)
    return _Picture(
        Box(left, top, left + width, top + height), nodes, lines, [_text(*(str(part) for part in t)) for t in texts]
    )


def _line(path: list[float]) -> list[tuple[float, float]]:
    x1, y1, xc, yc, x2, y2 = path
    shares = [number / 50 for number in range(51)]
    return [
        (
            (1 - t) ** 2 * x1 + 2 * t * (1 - t) * xc + t**2 * x2,
            (1 - t) ** 2 * y1 + 2 * t * (1 - t) * yc + t**2 * y2,
        )
        for t in shares
    ]


def _text(x: str, y: str, anchor: str, look: str, text: str) -> Box:
    width = len(text) * (BOLD_W if "font-weight" in look else CHAR_W)
    left = float(x) - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return Box(left, float(y) - FONT_H + 3, left + width, float(y) + 2)


def _pictures(network: Network, ends: tuple[str, str]) -> list[_Picture]:
    drawn = draw(network, {"web": ends}, {})
    assert drawn is not None
    return [_read(drawn.lying), _read(drawn.standing)]


def _check(picture: _Picture) -> None:
    for line in picture.lines:
        ends = (line[0], line[-1])
        foreign = [box for box in picture.nodes if not any(meets([end, (end[0] + 1, end[1])], box) for end in ends)]
        assert len(foreign) == len(picture.nodes) - 2
        assert not any(meets(line, box) for box in foreign)
    for one, other in combinations([*picture.nodes, *picture.texts], 2):
        assert not one.overlaps(other)
    left, top, right, bottom = picture.frame
    for x, y in [
        *(point for line in picture.lines for point in line),
        *(corner for box in [*picture.nodes, *picture.texts] for corner in (box[:2], box[2:])),
    ]:
        assert left <= x <= right and top <= y <= bottom


@pytest.mark.parametrize("line", SHAPES)
def test_a_drawing_of_a_shape_can_be_read(line: str) -> None:
    for picture in _pictures(_shape(line), SHAPES[line]):
        _check(picture)


@pytest.mark.parametrize("name", OTHERS)
def test_a_drawing_of_another_network_can_be_read(name: str) -> None:
    network = _of(OTHERS[name])
    for picture in _pictures(network, (network.nodes[0], network.nodes[-1])):
        _check(picture)
        assert len(picture.lines) == len(network.links)


def test_labels_without_a_place_are_told() -> None:
    """Each link of a dumbbell has its label; of a network with all possible links, some have none."""
    small = draw(_shape("dumbbell n=4"), {}, {})
    twins = draw(_of(PAIR), {}, {})
    assert small is not None and small.complete and twins is not None
    assert twins.lying.count(">a-b<") == 3
    full = draw(_of(", ".join(f"n{one} n{other}" for one, other in combinations(range(5), 2))), {}, {})
    assert full is not None and not full.complete


def test_a_line_that_cannot_avoid_a_node_is_not_drawn() -> None:
    names = [f"x{number}y" for number in range(20)]
    assert draw(_of(", ".join(" ".join(pair) for pair in combinations(names, 2))), {}, {}) is None
    assert draw(_of(", ".join(" ".join(pair) for pair in pairwise(names))), {}, {}) is not None

"""The picture docs/topologies.svg: generated networks as reports draw them."""

from __future__ import annotations

import re

from netwarp.lab import build_lab
from netwarp.plan import make_plan
from netwarp.report.drawing import draw
from netwarp.scenario import parse_scenario
from netwarp.store.network import network_of

SHAPES = {
    "star n=100": ("h1", "h100"),
    "dumbbell n=20": ("s1", "d1"),
    "parking-lot n=50": ("s0", "d0"),
    "ring n=20": ("h1", "h10"),
    "fat-tree k=4": ("h1", "h16"),
    "leaf-spine leaves=8 spines=4 hosts=10": ("h1", "h80"),
}
_TITLE_H, _MARGIN = 22, 12


def svg() -> str:
    """The picture, with a title above each network."""
    parts: list[str] = []
    top, widest = _MARGIN, 0
    for line, (source, target) in SHAPES.items():
        drawn = _drawn(line, source, target)
        width, height = (int(number) for number in re.findall(r' (?:width|height)="(\d+)"', drawn)[:2])
        parts.append(
            f'<text x="{_MARGIN}" y="{top + 14}" font-family="system-ui, sans-serif" font-size="14" '
            f'fill="#1b2733">topology = "{line}"</text>'
        )
        parts.append(drawn.replace("<svg ", f'<svg x="0" y="{top + _TITLE_H}" ', 1))
        top += _TITLE_H + height + _MARGIN
        widest = max(widest, width)
    size = f'width="{widest}" height="{top}"'
    back = f'<rect {size} fill="#ffffff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{back}\n' + "\n".join(parts) + "\n</svg>\n"


def _drawn(line: str, source: str, target: str) -> str:
    text = f"""
        name = "picture"
        duration = "1s"
        topology = "{line}"
        [flows.web]
        from = "{source}"
        to = "{target}"
        tool = "bulk"
    """
    drawing = draw(network_of(build_lab(make_plan(parse_scenario(text)).runs[0])), {"web": (source, target)}, {})
    assert drawing is not None, line
    return str(drawing.lying)

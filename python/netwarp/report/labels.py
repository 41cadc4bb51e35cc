"""Finds places for the labels of links where they cover neither each other nor nodes nor other lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp.report.geometry import Box, Point, curve, meets, on_curve
from netwarp.report.routes import NODE_H, NODE_W

LINE_H = 15

_SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.82, 0.18)
_GAP, _TOUCH = 8, 2


@dataclass(frozen=True)
class Spot:
    """The place of a label: the x to which `anchor` refers, and the top of its first line."""

    x: float
    top: float
    anchor: Literal["start", "middle", "end"]

    def box(self, size: Point) -> Box:
        """The box of a label of this width and height."""
        width, height = size
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Box(left, self.top, left + width, self.top + height)


@dataclass(frozen=True)
class Label:
    """A label to be placed: its usual place, its width and height, and the line of its link.

    `alone`: the centres of those ends that have no other link, beside which it may stand as well.
    """

    usual: Spot
    size: Point
    ends: tuple[Point, Point]
    bend: Point
    alone: Sequence[Point]


def placed(labels: Sequence[Label], taken: Sequence[Box]) -> dict[int, Spot]:
    """The place of each label by its number, without those for which there is none; `taken` has nodes and their text.

    A label whose usual place is free stays there.
    """
    lines = [curve(label.ends[0], label.bend, label.ends[1]) for label in labels]
    boxes: dict[int, Box] = {}
    found: dict[int, Spot] = {}
    for usual in (True, False):
        for number, label in enumerate(labels):
            if number in found:
                continue
            foreign = [line for other, line in enumerate(lines) if other != number]
            for spot in [label.usual] if usual else _spots(label):
                box = spot.box(label.size)
                hidden = any(box.overlaps(other) for other in (*taken, *boxes.values()))
                if not hidden and not any(meets(line, box.wider(-_TOUCH)) for line in foreign):
                    found[number], boxes[number] = spot, box
                    break
    return found


def _spots(label: Label) -> Iterator[Spot]:
    """Places along the line, from its middle outwards, then beside an end that has no other link."""
    (x1, y1), (x2, y2) = label.ends
    height = label.size[1]
    for share in _SHARES:
        x, y = on_curve(label.ends[0], label.bend, label.ends[1], share)
        if x1 != x2 and y1 != y2:
            yield Spot(x, y - height / 2, "middle")
        if abs(x2 - x1) >= abs(y2 - y1):
            yield Spot(x, y - height - 2, "middle")
            yield Spot(x, y + 4, "middle")
        else:
            yield Spot(x + 12, y - height / 2, "start")
            yield Spot(x - 12, y - height / 2, "end")
    for x, y in label.alone:
        yield Spot(x + NODE_W / 2 + _GAP, y - height / 2, "start")
        yield Spot(x - NODE_W / 2 - _GAP, y - height / 2, "end")
        yield Spot(x, y + NODE_H / 2 + 2, "middle")
        yield Spot(x, y - NODE_H / 2 - 2 - height, "middle")


def only_links(links: Sequence[tuple[str, str]]) -> Mapping[str, bool]:
    """Whether a node has a single link, by its name."""
    return {end: number == 1 for end, number in Counter(end for link in links for end in link).items()}

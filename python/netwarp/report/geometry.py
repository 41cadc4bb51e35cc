"""Boxes and lines of a drawing, and whether they meet."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]

_PIECES = 16


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether the two have a common area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def wider(self, by: float) -> "Box":
        """The box with a margin on each side."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)


def around(centre: Point, width: float, height: float) -> Box:
    """The box with this centre."""
    x, y = centre
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def hull(boxes: Iterable[Box]) -> Box:
    """The smallest box that has all of them in it."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def extent(line: Sequence[Point]) -> Box:
    """The smallest box that has the whole line in it."""
    xs, ys = zip(*line, strict=True)
    return Box(min(xs), min(ys), max(xs), max(ys))


def on_curve(one: Point, bend: Point, other: Point, share: float) -> Point:
    """The point at this share of a quadratic curve whose control point is `bend` away from the middle of its ends."""
    half = 2 * share * (1 - share)
    return (
        one[0] + (other[0] - one[0]) * share + bend[0] * half,
        one[1] + (other[1] - one[1]) * share + bend[1] * half,
    )


def curve(one: Point, bend: Point, other: Point) -> list[Point]:
    """Points of that curve; the two ends if it is straight."""
    pieces = _PIECES if any(bend) else 1
    return [on_curve(one, bend, other, piece / pieces) for piece in range(pieces + 1)]


def meets(line: Sequence[Point], box: Box) -> bool:
    """Whether a part of the line is inside the box."""
    return any(_inside(one, other, box) for one, other in pairwise(line))


def _inside(one: Point, other: Point, box: Box) -> bool:
    """Whether a part of a straight line is inside the box: clipped at both pairs of sides, something is left."""
    first, last = 0.0, 1.0
    for start, end, low, high in ((one[0], other[0], box.left, box.right), (one[1], other[1], box.top, box.bottom)):
        if start == end:
            if not low < start < high:
                return False
            continue
        enters, leaves = sorted(((low - start) / (end - start), (high - start) / (end - start)))
        first, last = max(first, enters), min(last, leaves)
        if first >= last:
            return False
    return True

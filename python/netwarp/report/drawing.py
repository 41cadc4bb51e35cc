"""Draws the network as SVG: nodes, and links with rate, delay and queue; landscape for screens, portrait for phones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from markupsafe import Markup

from netwarp.common.quantities import count, duration, rate
from netwarp.report.geometry import Box, Point, curve, extent, hull
from netwarp.report.labels import LINE_H, Label, Spot, only_links, placed
from netwarp.report.layout import Place, places
from netwarp.report.merged import merged
from netwarp.report.routes import NODE_H, NODE_W, Ends, bends, node_boxes, untangled
from netwarp.store.network import Link, LinkDirection, Network

MAX_NODES = 24
"""A drawing of more nodes cannot be read; like ones are merged, and the table of links has them all."""

Text = tuple[str, Markup]
"""A line of a label and its look."""

_NODE_CHARS, _WIDE_CHARS = 10, 8
_CHAR_W, _PLAIN_W, _BOLD_W = 6.4, 6.6, 7.3
_LABEL_CHARS, _TAG_CHARS = 30, 22
_MARGIN, _EDGE = 14, 4
_ROOMS = (0, 20, 40, 80)
"""Distances added between nodes above each other until there is a place for each label."""

_NAME = Markup('fill="#333a42" font-weight="600"')
_PLAIN = Markup('fill="#333a42"')
_SWEPT = Markup('fill="#0b5cad" font-weight="600"')


class Drawn(NamedTuple):
    """A network in landscape and in portrait; `complete`: each link has its label in both."""

    lying: Markup
    standing: Markup
    complete: bool


@dataclass(frozen=True)
class _Drawing:
    """A drawing: the position of each node, the lines of text of each link and node.

    `standing`: columns go down the page. `room`: what nodes above each other are farther apart than usual.
    """

    network: Network
    where: Mapping[str, Place]
    labels: Sequence[Sequence[Text]]
    tags: Mapping[str, Sequence[str]]
    standing: bool
    room: float = 0

    @property
    def links(self) -> list[Ends]:
        """The ends of each link."""
        return [(link.directions[0].source, link.directions[0].target) for link in self.network.links]

    @property
    def widest(self) -> float:
        """The width of the widest label."""
        return max((len(text) for label in self.labels for text, _ in label), default=10) * _CHAR_W

    @property
    def tallest(self) -> float:
        """The height of the tallest label."""
        return max((len(label) for label in self.labels), default=1) * LINE_H

    @property
    def lines_below(self) -> int:
        """The most lines of text beside a node."""
        return max(map(len, self.tags.values()), default=0)

    @property
    def widest_tag(self) -> float:
        """The width of the widest line of text beside a node."""
        return max((len(text) for lines in self.tags.values() for text in lines), default=0) * _CHAR_W

    @cached_property
    def steps(self) -> Point:
        """The distances of columns and of rows; the rows beside the main line leave room for its labels."""
        several = max(row for _, row in self.where.values()) > 0
        if self.standing:
            return self.tallest + NODE_H + 34 + self.room, self.widest + 40 if several else 0
        return self.widest + NODE_W + 36, self.tallest + 44 + self.room

    def centre(self, place: Place) -> Point:
        """The centre of a node at this place."""
        (along, across), (column, row) = self.steps, place
        return (row * across, column * along) if self.standing else (column * along, row * across)

    @cached_property
    def centres(self) -> dict[str, Point]:
        """The centre of each node."""
        return {node: self.centre(place) for node, place in self.where.items()}

    @cached_property
    def bends(self) -> list[Point] | None:
        """The bend of each link; None if one cannot but pass through a node that is not its end."""
        return bends(self.links, self.centres, self.standing)

    @cached_property
    def to_place(self) -> list[Label]:
        """The labels with their lines."""
        alone = only_links(self.links)
        return [
            Label(
                self.usual(ends, bend, len(label) * LINE_H),
                _size(label),
                (self.centres[ends[0]], self.centres[ends[1]]),
                bend,
                [self.centres[end] for end in ends if alone[end]],
            )
            for ends, bend, label in zip(self.links, self.bends or (), self.labels, strict=True)
        ]

    def usual(self, ends: Ends, bend: Point, height: float) -> Spot:
        """The usual place: above a horizontal line, to the right of a vertical one, in the middle of a slanting one."""
        (one, other), (dx, dy) = ends, bend
        (x1, y1), (x2, y2) = self.centres[one], self.centres[other]
        # On a slanting line the label is nearer to the end beside the main line, where there is room.
        outer = self.where[one][1] - self.where[other][1]
        share = 0.5 if outer == 0 else 0.38 if outer > 0 else 0.62
        x, y = x1 + (x2 - x1) * share + dx / 2, y1 + (y2 - y1) * share + dy / 2
        top = y - height / 2 if self.standing or outer else y - height - 2
        return Spot(x + 12, top, "start") if self.standing else Spot(x, top, "middle")

    @cached_property
    def spots(self) -> dict[int, Spot]:
        """The places of the labels by the link's number; a label without a free place has none."""
        tags = [spot.box((len(text) * _PLAIN_W, LINE_H)) for node in self.tags for text, spot in self.tag_spots(node)]
        return placed(self.to_place, [*node_boxes(self.centres).values(), *tags])

    def tag_spots(self, node: str) -> Iterator[tuple[str, Spot]]:
        """The lines of text beside a node and their places: right of it if the drawing stands, else below it."""
        (x, y), tags = self.centres[node], self.tags[node]
        for number, tag in enumerate(tags):
            if self.standing:
                middle = y + (number - (len(tags) - 1) / 2) * LINE_H
                yield tag, Spot(x + NODE_W / 2 + 8, middle - LINE_H / 2, "start")
            else:
                yield tag, Spot(x, y + NODE_H / 2 + number * LINE_H + 4, "middle")

    @property
    def inside(self) -> Box:
        """The smallest box with all lines and labels in it."""
        return hull(
            [
                *(extent(curve(label.ends[0], label.bend, label.ends[1])) for label in self.to_place),
                *(spot.box(self.to_place[number].size) for number, spot in self.spots.items()),
                *node_boxes(self.centres).values(),
            ]
        )

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the whole drawing."""
        xs, ys = zip(*self.centres.values(), strict=True)
        beside = max(self.widest + 14 - NODE_W / 2, self.widest_tag + 10, 0)
        outside = max((self.widest_tag - NODE_W) / 2 - _MARGIN, 0)
        before, beside = (0, beside) if self.standing else (outside, outside)
        above = 0 if self.standing else max(self.tallest - NODE_H / 2 + 4, 0)
        below = 0 if self.standing else max(self.lines_below, 2) * LINE_H
        left, top = min(xs) - NODE_W / 2 - _MARGIN - before, min(ys) - NODE_H / 2 - _MARGIN - above
        right, bottom = max(xs) + NODE_W / 2 + _MARGIN + beside, max(ys) + NODE_H / 2 + _MARGIN + below
        all_of_it = hull([Box(left, top, right, bottom), self.inside.wider(_EDGE)])
        return all_of_it.left, all_of_it.top, all_of_it.right - all_of_it.left, all_of_it.bottom - all_of_it.top


def draw(network: Network, ends: Mapping[str, tuple[str, str]], swept: Mapping[str, str]) -> Drawn | None:
    """Draw the network in landscape and in portrait, a large one `merged`; None if it has too many nodes even then or
    if a link would pass through a node that is not its end.

    `ends` has the nodes from and to which data goes, by the flows' name; `swept` describes the values of a link's
    property, by its path (`links.bottleneck.queue` → `5 values`).
    """
    about: Mapping[str, Sequence[str]] = {}
    if len(network.nodes) > MAX_NODES:
        large = merged(network, ends, swept)
        network, ends, about = large.network, large.ends, large.tags
    if not 0 < len(network.nodes) <= MAX_NODES:
        return None
    where = places(network, [source for source, _ in ends.values()])
    labels = [_label(link, swept) for link in network.links]
    tags = {node: [*about.get(node, ()), *_tags(node, ends)] for node in network.nodes}
    lying, standing = (_arranged(_Drawing(network, where, labels, tags, upright)) for upright in (False, True))
    if lying is None or standing is None:
        return None
    complete = all(len(drawing.spots) == len(labels) for drawing in (lying, standing))
    return Drawn(_svg(lying), _svg(standing), complete)


def _arranged(drawing: _Drawing) -> _Drawing | None:
    """The drawing with no line through a foreign node and with as many labels as there is room for; None if it has
    such a line however its nodes are arranged."""
    drawing = replace(drawing, where=untangled(drawing.where, drawing.links, drawing.centre))
    best: _Drawing | None = None
    for room in _ROOMS:
        tried = replace(drawing, room=room)
        if tried.bends is not None and (best is None or len(tried.spots) > len(best.spots)):
            best = tried
        if best is not None and len(best.spots) == len(best.labels):
            break
    return best


def _svg(drawing: _Drawing) -> Markup:
    parts = [*_links(drawing)]
    for node in drawing.network.nodes:
        parts += _node(drawing, node)
    left, top, width, height = drawing.box
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="{:.0f} {:.0f} {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" '
        'role="img" aria-label="The network: nodes {}; its links are in the table below" '
        'font-family="system-ui, sans-serif" font-size="12">'
    ).format(left, top, width, height, width, height, ", ".join(drawing.network.nodes))
    return head + Markup("").join(parts) + Markup("</svg>")


def _links(drawing: _Drawing) -> Iterator[Markup]:
    """Draw lines first, then labels, so that no line crosses a word; links between the same nodes bend apart."""
    for label in drawing.to_place:
        ((x1, y1), (x2, y2)), (dx, dy) = label.ends, label.bend
        yield Markup(
            '<path d="M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}" fill="none" stroke="#7c8793" stroke-width="2"/>'
        ).format(x1, y1, (x1 + x2) / 2 + dx, (y1 + y2) / 2 + dy, x2, y2)
    for number, spot in sorted(drawing.spots.items()):
        yield from _text(drawing.labels[number], spot)


def _text(label: Sequence[Text], spot: Spot) -> Iterator[Markup]:
    for number, (text, look) in enumerate(label):
        yield Markup(
            '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" {} paint-order="stroke" stroke="#ffffff" stroke-width="4" '
            'stroke-linejoin="round">{}</text>'
        ).format(spot.x, spot.top + (number + 0.75) * LINE_H, spot.anchor, look, text)


def _size(label: Sequence[Text]) -> Point:
    """The width and height of a label."""
    width = max(len(text) * (_PLAIN_W if look == _PLAIN else _BOLD_W) for text, look in label)
    return width, len(label) * LINE_H


def _node(drawing: _Drawing, name: str) -> Iterator[Markup]:
    """Draw a host as a box, a router with rounded corners, its flows beside it."""
    x, y = drawing.centres[name]
    forwards = name in drawing.network.forwarding
    yield Markup(
        '<g><title>{}</title><rect x="{:.1f}" y="{:.1f}" width="{}" height="{}" rx="{}" fill="{}" stroke="#33475b" '
        'stroke-width="1.5"/><text x="{:.1f}" y="{:.1f}" text-anchor="middle" font-weight="600" font-size="{}" '
        'fill="#1b2733">{}</text></g>'
    ).format(
        f"{name} ({'forwards' if forwards else 'host'})",
        x - NODE_W / 2,
        y - NODE_H / 2,
        NODE_W,
        NODE_H,
        NODE_H / 2 if forwards else 5,
        "#e8edf2" if forwards else "#ffffff",
        x,
        y + 4.5,
        13 if len(name) <= _WIDE_CHARS else 11,
        _cut(name, _NODE_CHARS),
    )
    for tag, spot in drawing.tag_spots(name):
        drop = LINE_H / 2 + 4.5 if drawing.standing else LINE_H - 4
        yield Markup(
            '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="#5a6672" paint-order="stroke" stroke="#ffffff" '
            'stroke-width="4" stroke-linejoin="round">{}</text>'
        ).format(spot.x, spot.top + drop, spot.anchor, tag)


def _tags(node: str, ends: Mapping[str, tuple[str, str]]) -> list[str]:
    """The flows that start and end at a node, by name or, if they are many, by their number."""
    sends = [group for group, (source, _) in ends.items() if source == node]
    gets = [group for group, (_, target) in ends.items() if target == node]
    return [_brief(verb, names) for verb, names in (("sends", sends), ("gets", gets)) if names]


def _brief(verb: str, names: Sequence[str]) -> str:
    text = ", ".join(names)
    return f"{verb} {text}" if len(text) <= _TAG_CHARS else f"{verb} {count(len(names), 'flow')}"


def _label(link: Link, swept: Mapping[str, str]) -> list[Text]:
    """Name, rate and delay, and queues of a link; a property that a sweep varies is described in blue instead."""
    varied = {path.split(".")[-1]: words for path, words in swept.items() if path.split(".")[1:2] == [link.name]}
    one, other = (direction_text(direction) for direction in link.directions)
    lines = [(link.name, _NAME), (one if one == other else f"{one} ⇄ {other}", _PLAIN)]
    if "queue" not in varied:
        lines += [(text, _PLAIN) for text in _queues(link)]
    lines += [(f"{name}: {words}", _SWEPT) for name, words in varied.items()]
    return [(_cut(text, _LABEL_CHARS), look) for text, look in lines]


def direction_text(direction: LinkDirection) -> str:
    """Rate, delay and impairments of the wire in one direction."""
    parts = [rate(direction.rate_bps) + (" on average" if direction.traced else "")] if direction.rate_bps else []
    if direction.delay_ns or direction.jitter_ns:
        parts.append(
            duration(direction.delay_ns) + (f" ± {duration(direction.jitter_ns)}" if direction.jitter_ns else "")
        )
    return ", ".join([*parts, *direction.impairments])


def _queues(link: Link) -> list[str]:
    """The queues of both directions; a reverse one that is a plain `pfifo` is left out if they differ."""
    # A wire without a rate is unknown (imported results).
    one, other = (
        direction.queue or ("tc's own" if direction.rate_bps else "not known") for direction in link.directions
    )
    if one == other:
        return [one]
    return [f"→ {one}", *([] if other.startswith("pfifo") else [f"← {other}"])]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

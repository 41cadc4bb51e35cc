"""Draws the network as SVG: nodes, and links with rate, delay and queue; landscape for screens, portrait for phones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from netwarp.common.quantities import count, duration, rate
from netwarp.report.layout import Place, places
from netwarp.report.merged import merged
from netwarp.store.network import Link, LinkDirection, Network

MAX_NODES = 24
"""A drawing of more nodes cannot be read; like ones are merged, and the table of links has them all."""

Text = tuple[str, Markup]
"""A line of a label and its look."""

_NODE_W, _NODE_H, _NODE_CHARS, _WIDE_CHARS = 76, 36, 10, 8
_LINE_H, _CHAR_W = 15, 6.4
_LABEL_CHARS, _TAG_CHARS = 30, 22
_MARGIN, _BEND = 14, 46.0
_NAME = Markup('fill="#333a42" font-weight="600"')
_PLAIN = Markup('fill="#333a42"')
_SWEPT = Markup('fill="#0b5cad" font-weight="600"')


@dataclass(frozen=True)
class _Drawing:
    """A drawing: the position of each node, the lines of text of each link and node.

    `standing`: columns go down the page.
    """

    network: Network
    where: Mapping[str, Place]
    labels: Sequence[Sequence[Text]]
    tags: Mapping[str, Sequence[str]]
    standing: bool

    @property
    def widest(self) -> float:
        """The width of the widest label."""
        return max((len(text) for label in self.labels for text, _ in label), default=10) * _CHAR_W

    @property
    def tallest(self) -> float:
        """The height of the tallest label."""
        return max((len(label) for label in self.labels), default=1) * _LINE_H

    @property
    def lines_below(self) -> int:
        """The most lines of text beside a node."""
        return max(map(len, self.tags.values()), default=0)

    @property
    def widest_tag(self) -> float:
        """The width of the widest line of text beside a node."""
        return max((len(text) for lines in self.tags.values() for text in lines), default=0) * _CHAR_W

    @cached_property
    def centres(self) -> dict[str, tuple[float, float]]:
        """The centre of each node; the rows beside the main line leave room for its labels."""
        several = max(row for _, row in self.where.values()) > 0
        along = self.tallest + _NODE_H + 34 if self.standing else self.widest + _NODE_W + 36
        across = (self.widest + 40 if several else 0) if self.standing else self.tallest + 44
        return {
            node: (row * across, column * along) if self.standing else (column * along, row * across)
            for node, (column, row) in self.where.items()
        }

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the whole drawing."""
        xs, ys = zip(*self.centres.values(), strict=True)
        right = max(self.widest + 14 - _NODE_W / 2, self.widest_tag + 10, 0)
        outside = max((self.widest_tag - _NODE_W) / 2 - _MARGIN, 0)
        before, beside = (0, right) if self.standing else (outside, outside)
        above = 0 if self.standing else max(self.tallest - _NODE_H / 2 + 4, 0)
        below = 0 if self.standing else max(self.lines_below, 2) * _LINE_H
        left, top = min(xs) - _NODE_W / 2 - _MARGIN - before, min(ys) - _NODE_H / 2 - _MARGIN - above
        return (
            left,
            top,
            max(xs) + _NODE_W / 2 + _MARGIN + beside - left,
            max(ys) + _NODE_H / 2 + _MARGIN + below - top,
        )


def draw(
    network: Network, ends: Mapping[str, tuple[str, str]], swept: Mapping[str, str]
) -> tuple[Markup, Markup] | None:
    """Draw the network in landscape and in portrait, a large one `merged`; None if it has too many nodes even then.

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
    lying, standing = (_svg(_Drawing(network, where, labels, tags, upright)) for upright in (False, True))
    return lying, standing


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
    twins: dict[frozenset[str], int] = {}
    texts: list[Markup] = []
    for link, label in zip(drawing.network.links, drawing.labels, strict=True):
        one, other = link.directions[0].source, link.directions[0].target
        pair = frozenset((one, other))
        twins[pair] = twins.get(pair, -1) + 1
        dx, dy = (twins[pair] * 2 * _BEND, 0.0) if drawing.standing else (0.0, twins[pair] * 2 * _BEND)
        (x1, y1), (x2, y2) = drawing.centres[one], drawing.centres[other]
        yield Markup(
            '<path d="M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}" fill="none" stroke="#7c8793" stroke-width="2"/>'
        ).format(x1, y1, (x1 + x2) / 2 + dx, (y1 + y2) / 2 + dy, x2, y2)
        # On a slanting line the label is nearer to the end beside the main line, where there is room.
        outer = drawing.where[one][1] - drawing.where[other][1]
        share = 0.5 if outer == 0 else 0.38 if outer > 0 else 0.62
        x, y = x1 + (x2 - x1) * share + dx / 2, y1 + (y2 - y1) * share + dy / 2
        texts += _text(label, x, y, drawing.standing, slanting=outer != 0)
    yield from texts


def _text(label: Sequence[Text], x: float, y: float, standing: bool, *, slanting: bool) -> Iterator[Markup]:
    """Draw a label: above a horizontal line, to the right of a vertical one, in the middle of a slanting one."""
    height = len(label) * _LINE_H
    top = y - height / 2 if standing or slanting else y - height - 2
    for number, (text, look) in enumerate(label):
        yield Markup(
            '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" {} paint-order="stroke" stroke="#ffffff" stroke-width="4" '
            'stroke-linejoin="round">{}</text>'
        ).format(
            x + 12 if standing else x, top + (number + 0.75) * _LINE_H, "start" if standing else "middle", look, text
        )


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
        x - _NODE_W / 2,
        y - _NODE_H / 2,
        _NODE_W,
        _NODE_H,
        _NODE_H / 2 if forwards else 5,
        "#e8edf2" if forwards else "#ffffff",
        x,
        y + 4.5,
        13 if len(name) <= _WIDE_CHARS else 11,
        _cut(name, _NODE_CHARS),
    )
    tags = drawing.tags[name]
    for number, tag in enumerate(tags):
        spot = (
            (x + _NODE_W / 2 + 8, y + 4.5 + (number - (len(tags) - 1) / 2) * _LINE_H, "start")
            if drawing.standing
            else (x, y + _NODE_H / 2 + (number + 1) * _LINE_H, "middle")
        )
        yield Markup(
            '<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="#5a6672" paint-order="stroke" stroke="#ffffff" '
            'stroke-width="4" stroke-linejoin="round">{}</text>'
        ).format(*spot, tag)


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

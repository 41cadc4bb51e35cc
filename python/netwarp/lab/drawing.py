"""Draws a lab as text: a chain as a chain, any other network as a list of its links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from netwarp.common import quantities
from netwarp.lab_format.links import LabEnd, LabLink
from netwarp.lab_format.model import Lab
from netwarp.lab_format.wires import PROPERTIES
from netwarp.values.qdisc import Qdisc
from netwarp.values.units import format_duration, format_rate

MOST_LINKS = 24
"""A list of more links cannot be read."""


def draw(lab: Lab, width: int = 100) -> str:
    """The network of a lab in at most `width` columns if possible, with rate, delay and queue of each link.

    Of a network with more than `MOST_LINKS` links, those that are alike are listed once.
    """
    chain = chain_of((node.name for node in lab.nodes), ((link.ends[0].node, link.ends[1].node) for link in lab.links))
    top = _draw_chain(chain, lab) if chain else []
    if top and max(map(len, top)) > width:
        top = []
    return "\n".join([*top, *([""] if top else []), *_list(lab)])


def chain_of(nodes: Iterable[str], links: Iterable[tuple[str, str]]) -> list[str]:
    """The nodes in order if the links join them to one chain, whose first node is the tip that `nodes` has first.

    It is empty otherwise. Each link is a pair of nodes.
    """
    neighbours: dict[str, list[str]] = {node: [] for node in nodes}
    for one, other in links:
        neighbours[one].append(other)
        neighbours[other].append(one)
    tips = [node for node, others in neighbours.items() if len(others) == 1]
    if len(tips) != 2 or any(len(others) > 2 for others in neighbours.values()):
        return []
    chain = [tips[0]]
    while following := [node for node in neighbours[chain[-1]] if node not in chain[-2:]]:
        chain.append(following[0])
    return chain if len(chain) == len(neighbours) else []


def _draw_chain(chain: list[str], lab: Lab) -> list[str]:
    """Boxes of nodes joined by lines that carry the name of the link above and rate and delay below."""
    between = {frozenset(end.node for end in link.ends): link for link in lab.links}
    rows = ["", "", ""]
    for position, node in enumerate(chain):
        if position:
            link = between[frozenset(chain[position - 1 : position + 1])]
            below = _summary(link)
            space = max(len(link.name), len(below)) + 2
            for row, text, fill in ((0, link.name, " "), (1, "", "─"), (2, below, " ")):
                rows[row] += (f" {text} " if text else "").center(space, fill)
        box = f"┤ {node} ├"
        box = f"[ {node} ]" if position in (0, len(chain) - 1) else box
        for row, text in ((0, ""), (1, box), (2, "")):
            rows[row] += text.center(len(box))
    return [row.rstrip() for row in rows]


def _summary(link: LabLink) -> str:
    first, second = (_rate_text(end) for end in link.ends)
    return first if first == second else f"{first} ⇄ {second}"


def _rate_text(end: LabEnd) -> str:
    wire = end.wire
    delay = f" {format_duration(wire.delay_ns)}" if wire.delay_ns else ""
    if end.opportunities:
        return f"trace ({quantities.rate(end.opportunities.mean_rate_bps, 4)} on average){delay}"
    return format_rate(wire.rate_bps or 0) + delay


def _list(lab: Lab) -> list[str]:
    """One block for each link, with a line for the rate, delay, queue and impairments of each direction."""
    changes = Counter(change.index for change in lab.changes)
    alike: dict[object, list[LabLink]] = {}
    for number, link in enumerate(lab.links):
        kind = _kind(link, changes) if len(lab.links) > MOST_LINKS else number
        alike.setdefault(kind, []).append(link)
    mixed = any(link.device for link in lab.links)
    return [line for links in alike.values() for line in _block(links, changes, mixed)]


def _kind(link: LabLink, changes: Mapping[int, int]) -> object:
    """The key that links listed once have in common: everything but the numbers in the names of their nodes."""
    names = [re.sub(r"\d+", "#", end.node) for end in link.ends]
    return link.device, *names, *(_properties(end, changes) for end in link.ends)


def _block(links: Sequence[LabLink], changes: Mapping[int, int], mixed: bool) -> Iterator[str]:
    """The lines of links that are alike. If the lab has devices (`mixed`), links of netem are marked."""
    first = links[0]
    name = first.name if len(links) == 1 else f"{first.name} … {links[-1].name}, {len(links):,} links"
    yield f"{name}  (netem)" if mixed and not first.device else name
    for end, peer in (first.ends, first.ends[::-1]):
        hop = f"{end.node}:{end.interface} → {peer.node}"
        yield f"  {hop}{' …' if len(links) > 1 else ''}  {_properties(end, changes)}"


def _properties(end: LabEnd, changes: Mapping[int, int]) -> str:
    times = changes.get(end.index, 0)
    later = f"  (changes {times} times)" if times > 1 else "  (changes once)" * times
    return f"{_rate_text(end)}{_impairments(end)}  {Qdisc.of(end.queue) or 'raw tc'}{later}"


def _impairments(end: LabEnd) -> str:
    return "".join(found.drawn(end.wire) for found in PROPERTIES)

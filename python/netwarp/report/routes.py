"""Keeps the lines of a drawing out of the boxes of nodes that are not their ends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import dist

from netwarp.report.geometry import Box, Point, around, curve, meets
from netwarp.report.layout import Place

NODE_W, NODE_H = 76, 36
BEND = 92.0
"""How far the control points of two links between the same nodes are apart."""

Ends = tuple[str, str]

_CLEARANCE = 2.0
_MOST_MOVES, _MOST_CUTS, _MOST_TRIED = 24, 24, 2
"""A network whose lines pass through more boxes at first is left as it is: moves would take seconds, and not help."""

_DETOURS = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6)


def node_boxes(centres: Mapping[str, Point]) -> dict[str, Box]:
    """The box of each node."""
    return {node: around(centre, NODE_W, NODE_H) for node, centre in centres.items()}


def untangled(
    where: Mapping[str, Place], links: Sequence[Ends], centre: Callable[[Place], Point]
) -> Mapping[str, Place]:
    """The places after moves of single nodes, until no straight line passes through a foreign box or no move helps."""
    pairs = list(dict.fromkeys(links))
    best, cost = where, _cost(where, pairs, centre)
    if cost[0] > _MOST_CUTS:
        return where
    for _ in range(_MOST_MOVES):
        for ends, node in islice(_cuts(best, pairs, centre), _MOST_TRIED):
            tried = min(_moves(best, (node, *ends)), key=lambda places: _cost(places, pairs, centre))
            if (found := _cost(tried, pairs, centre)) < cost:
                best, cost = tried, found
                break
        else:
            break
    closer = _without_empty_rows(best)
    return closer if _cost(closer, pairs, centre) < cost else best


def _without_empty_rows(where: Mapping[str, Place]) -> dict[str, Place]:
    rows = sorted({row for _, row in where.values()})
    return {node: (column, rows.index(row)) for node, (column, row) in where.items()}


def bends(links: Sequence[Ends], centres: Mapping[str, Point], standing: bool) -> list[Point] | None:
    """The bend of each link, with links between the same nodes apart; None if one cannot avoid a foreign box."""
    boxes = node_boxes(centres)
    used: dict[frozenset[str], set[Point]] = {}
    found: list[Point] = []
    for one, other in links:
        taken = used.setdefault(frozenset((one, other)), set())
        foreign = [box.wider(_CLEARANCE) for node, box in boxes.items() if node not in (one, other)]
        for bend in _detours(centres[one], centres[other], len(taken), standing):
            line = curve(centres[one], bend, centres[other])
            if bend not in taken and not any(meets(line, box) for box in foreign):
                break
        else:
            return None
        taken.add(bend)
        found.append(bend)
    return found


def _detours(one: Point, other: Point, twins: int, standing: bool) -> Iterator[Point]:
    """Bends across the line, or to the side along which the columns do not run if it slants."""
    sideways = one[0] == other[0] or (standing and one[1] != other[1])
    for number in (twins, *_DETOURS):
        yield (number * BEND, 0.0) if sideways else (0.0, number * BEND)


def _cuts(
    where: Mapping[str, Place], links: Sequence[Ends], centre: Callable[[Place], Point]
) -> Iterator[tuple[Ends, str]]:
    """Each link with each foreign node through whose box its straight line passes."""
    centres = {node: centre(place) for node, place in where.items()}
    boxes = {node: box.wider(_CLEARANCE) for node, box in node_boxes(centres).items()}
    for ends in links:
        line = [centres[end] for end in ends]
        yield from ((ends, node) for node, box in boxes.items() if node not in ends and meets(line, box))


def _cost(where: Mapping[str, Place], links: Sequence[Ends], centre: Callable[[Place], Point]) -> tuple[int, float]:
    """The boxes that lines pass through; of equal ones, the drawing with shorter lines is better."""
    length = sum(dist(centre(where[one]), centre(where[other])) for one, other in links)
    return sum(1 for _ in _cuts(where, links, centre)), round(length, 3)


def _moves(where: Mapping[str, Place], nodes: Sequence[str]) -> Iterator[dict[str, Place]]:
    """The places with one of the nodes moved by at most a column; a node that is there takes its place."""
    holders = {place: node for node, place in where.items()}
    columns, rows = (max(numbers) for numbers in zip(*where.values(), strict=True))
    for node in nodes:
        column, row = where[node]
        for new in range(max(column - 1, 0), min(column + 1, columns) + 1):
            for line in range(rows + 2):
                there = holders.get((new, line))
                # The main line stays straight.
                if there != node and (there is None or new == column) and 0 not in (row, line):
                    yield {**where, node: (new, line), **({there: (column, row)} if there else {})}

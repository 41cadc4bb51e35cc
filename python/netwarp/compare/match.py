"""The matching of points of two results, and the differences between the results."""

from collections.abc import Iterator
from dataclasses import dataclass

from netwarp.compare.comparison_input import ComparisonInput
from netwarp.store.errors import SelectionError

Point = tuple[str | None, ...]
_MAX_LISTED = 3
_KERNEL, _NETWARP, _VERSION = "kernel", "netwarp", "netwarp's version"
_MAKERS = (_KERNEL, "agent", "C library", "netwarp-tools", _NETWARP)
"""The keys of an identity that stand for parts of netwarp, and not for programs of the host."""


@dataclass(frozen=True)
class Matching:
    """Matched points: `keys` are the axes by which points are matched; points are their values, in A's order.

    `differing` are the intended differences between the sides: (axis, A's value, B's value); a value is None if that
    side has no such axis.
    """

    keys: tuple[str, ...]
    differing: tuple[tuple[str, str | None, str | None], ...]
    points: tuple[Point, ...]
    only_a: tuple[Point, ...]
    only_b: tuple[Point, ...]

    def words(self, point: Point) -> str:
        """A point in words; empty if nothing distinguishes points."""
        return ", ".join(f"{key} = {value}" for key, value in zip(self.keys, point, strict=True) if value is not None)


def match(a: ComparisonInput, b: ComparisonInput) -> Matching:
    """Match the points of two sides by the axes that they have in common.

    An axis with at most one value on each side is not a key: it is a difference, if the two values differ. Raises
    SelectionError if no point is common, or if an axis that only one side has leaves several values to choose from.
    """
    keys, differing = [], []
    for axis in dict.fromkeys((*a.axes, *b.axes)):
        in_a, in_b = a.values_of(axis), b.values_of(axis)
        if len(in_a) <= 1 and len(in_b) <= 1:
            if in_a != in_b:
                differing.append((axis, _only(in_a), _only(in_b)))
        elif not in_a or not in_b:
            raise _open(axis, *((a, b, in_a) if in_a else (b, a, in_b)))
        else:
            keys.append(axis)
    of_a, of_b = _points(a, keys), _points(b, keys)
    matching = Matching(
        keys=tuple(keys),
        differing=tuple(differing),
        points=tuple(point for point in of_a if point in of_b),
        only_a=tuple(point for point in of_a if point not in of_b),
        only_b=tuple(point for point in of_b if point not in of_a),
    )
    if not matching.points:
        raise SelectionError(
            f"A ({a.title}) and B ({b.title}) have no point in common: "
            f"A has {_listed(matching, matching.only_a)}; B has {_listed(matching, matching.only_b)}"
        )
    return matching


def set_up_differences(a: ComparisonInput, b: ComparisonInput) -> Iterator[str]:
    """Name the other differences in how the two were made: scenario, engine, netwarp, kernel, agent, tools."""
    if a.plan.get("name") != b.plan.get("name"):
        yield f"scenario {a.plan.get('name')} → {b.plan.get('name')}"
    if a.plan.get("engine") != b.plan.get("engine"):
        yield f"engine {a.plan.get('engine')} → {b.plan.get('engine')}"
    if a.version != b.version:
        yield f"netwarp's version {a.version or 'unknown'} → {b.version or 'unknown'}"
    for key in _other_parts(a, b):
        yield f"{key} {_part(a, key)} → {_part(b, key)}"


def other_makers(a: ComparisonInput, b: ComparisonInput) -> list[str]:
    """Name netwarp's own parts that differ between the two: they decide what a run does, beside its settings."""
    version = [] if a.version == b.version else [_VERSION]
    return version + [key for key in _other_parts(a, b) if key in _MAKERS and not (version and key == _NETWARP)]


def _other_parts(a: ComparisonInput, b: ComparisonInput) -> list[str]:
    made, now = a.plan.get("identity", {}), b.plan.get("identity", {})
    return [key for key in sorted({*made, *now}) if made.get(key) != now.get(key)]


def _part(side: ComparisonInput, key: str) -> str:
    """A part of an identity: the beginning of its digest, and for a kernel its release."""
    digest = side.plan.get("identity", {}).get(key)
    if digest is None:
        return "none"
    return f"{side.linux} ({digest[:12]})" if key == _KERNEL and side.linux else digest[:12]


def _only(values: list[str]) -> str | None:
    return values[0] if values else None


def _points(side: ComparisonInput, keys: list[str]) -> list[Point]:
    return list(side.summary.select(keys).unique(maintain_order=True).rows()) if keys else [()]


def _open(axis: str, has: ComparisonInput, lacks: ComparisonInput, values: list[str]) -> SelectionError:
    option = f"-{has.letter.lower()} '{axis}={values[0]}'"
    return SelectionError(
        f"{has.letter} ({has.path}) has {len(values)} values of {axis}, but {lacks.letter} ({lacks.path}) has no such "
        f"axis; choose one, such as {option}"
    )


def _listed(matching: Matching, points: tuple[Point, ...]) -> str:
    more = f" and {len(points) - _MAX_LISTED} more" if len(points) > _MAX_LISTED else ""
    return "; ".join(f"({matching.words(point)})" for point in points[:_MAX_LISTED]) + more

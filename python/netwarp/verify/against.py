"""Two results of `netwarp verify` beside each other: the rows that a change has moved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from netwarp.common.words import shortened
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.files import read_json
from netwarp.verify.row import JUDGED, Checked, Range
from netwarp.verify.verifier import Verified

Earlier = Mapping[str, Mapping[str, object]]
"""Another result: each row's `verdict`, and its `values` by label."""
_LONGEST = 400
"""The characters of a list of rows in an error."""


@dataclass(frozen=True)
class Moved:
    """A row whose verdict or values differ from another result's.

    `label` is that of the value that has moved farthest, and `steps` the shift in tolerances, None if only the verdict
    differs; `before` and `now` are medians over the seeds.
    """

    name: str
    verdicts: tuple[str, str]
    label: str = ""
    before: float = 0.0
    now: float = 0.0
    steps: float | None = None

    @property
    def words(self) -> str:
        """The values that have moved, in a line."""
        earlier, later = self.verdicts
        verdict = later if earlier == later else f"{earlier} → {later}"
        if self.steps is None:
            return f"{self.name}: {verdict}"
        return (
            f"{self.name}: {verdict}; at {self.label}: {self.before:.6g} → {self.now:.6g} ({self.steps:.2g} tolerances)"
        )


def rows_of(path: Path, chosen: Collection[str]) -> Earlier:
    """The rows of another result's `validation.json`. Raises StoreError, and SelectionError if it has none of those
    chosen."""
    rows = read_json(path).get("rows")
    try:
        found = {str(row["name"]): {"verdict": str(row["verdict"]), "values": _values(row)} for row in rows}  # type: ignore[union-attr, index, call-overload]
    except (TypeError, KeyError, AttributeError, ValueError):
        raise StoreError(f"{path} is not a validation.json of netwarp verify") from None
    if not found.keys() & {*chosen}:
        there = shortened(", ".join(map(str, found)), _LONGEST) or "none"
        raise SelectionError(f"{path} has no row in common with this verification; its rows: {there}")
    return found


def moved(verified: Sequence[Verified], earlier: Earlier) -> tuple[list[Moved], int]:
    """The rows that differ from those of another result, those with another verdict first and then by the size of the
    shift; and the number of rows that both have judged.

    Runs repeat exactly, so that any difference is due to the change.
    """
    both = [
        (checked, earlier[checked.row.name]) for one in verified for checked in one.rows if checked.row.name in earlier
    ]
    judged = [pair for pair in both if {str(pair[0].verdict), str(pair[1]["verdict"])} & {*map(str, JUDGED)}]
    found = [one for checked, before in judged if (one := _compare(checked, before))]
    return sorted(found, key=lambda one: (one.verdicts[0] == one.verdicts[1], -(one.steps or 0))), len(judged)


def _values(row: object) -> dict[str, list[float]]:
    return {value["label"]: [float(one) for one in value["measured"]] for value in row["values"]}  # type: ignore[index]


def _compare(checked: Checked, before: Mapping[str, object]) -> Moved | None:
    verdicts = (str(before["verdict"]), str(checked.verdict))
    steps = max(_steps(checked, before), default=None)
    if steps is not None:
        return Moved(checked.row.name, verdicts, steps[1], steps[2], steps[3], steps[0])
    return None if verdicts[0] == verdicts[1] else Moved(checked.row.name, verdicts)


def _steps(checked: Checked, before: Mapping[str, object]) -> Iterator[tuple[float, str, float, float]]:
    """The shift of each value in tolerances, with its label and both medians."""
    values = before["values"]
    for value in checked.values:
        earlier = values.get(value.label, []) if isinstance(values, dict) else []
        if earlier and value.measured and list(value.measured) != earlier:
            was, now = median(earlier), median(value.measured)
            yield _in_tolerances(checked.row.tolerance, value.expected, now - was), value.label, was, now


def _in_tolerances(tolerance: Range, expected: float, by: float) -> float:
    room = max(tolerance.ends(expected))
    return abs(by) / room if room else float("inf") if by else 0.0

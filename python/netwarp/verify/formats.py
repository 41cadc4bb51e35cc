"""The verdicts on rows as a table, a page in Markdown, JSON and JUnit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import copysign, inf
from statistics import median

from rich.table import Column, Table

from netwarp.common.junit import Case, Fault, Suite
from netwarp.common.markdown import escaped, table
from netwarp.verify.row import JUDGED, Checked, Range, Value, Verdict
from netwarp.verify.setting import Setting
from netwarp.verify.verifier import Verified

FIGURE = "validation"
"""The name of the figure beside the page, without its ending."""
_MARKS = {
    Verdict.AGREES: "✓",
    Verdict.EXPLAINED: "≈",
    Verdict.MISSES: "✗",
    Verdict.FAILED: "✗",
    Verdict.WAITS: "–",
    Verdict.UNJUDGED: "–",
}
_FAULTS = {
    Verdict.MISSES: Fault.FAILURE,
    Verdict.FAILED: Fault.ERROR,
    Verdict.WAITS: Fault.SKIPPED,
    Verdict.UNJUDGED: Fault.SKIPPED,
}
_REASONS = {Verdict.WAITS: "Waits for", Verdict.UNJUDGED: "Not judged"}


def farthest(checked: Checked) -> Value | None:
    """The value that is farthest outside the tolerance, or nearest to its end, in units of the tolerance."""
    tolerance = checked.row.tolerance
    measured = [value for value in checked.values if value.measured]
    return max(
        measured, key=lambda value: max(abs(part_used(tolerance, value, one)) for one in value.measured), default=None
    )


def part_used(tolerance: Range, value: Value, one: float) -> float:
    """The part of the tolerance that a measured value uses: ±1 is its end, 0 the reference."""
    off = one - value.expected
    below, above = tolerance.ends(value.expected)
    room = above if off > 0 else below
    if room:
        return off / room
    return copysign(inf, off) if off else 0.0


def counts(verified: Sequence[Verified]) -> str:
    """How many rows have each verdict, in a sentence."""
    found = Counter(checked.verdict for one in verified for checked in one.rows)
    return ", ".join(f"{verdict} {found[verdict]}" for verdict in Verdict if found[verdict])


def as_text(verified: Sequence[Verified]) -> str:
    """A line for each row, and the counts."""
    lines = []
    for one in verified:
        lines.append(one.family.title)
        lines += [f"  {_line(checked)}" for checked in one.rows]
    return "\n".join([*lines, counts(verified), ""])


def _line(checked: Checked) -> str:
    head = f"{_MARKS[checked.verdict]} {checked.row.name}: {checked.verdict}"
    if checked.reason:
        return f"{head}: {checked.reason}"
    value = farthest(checked)
    if value is None:
        return head
    name = f" at {value.label}" if len(checked.values) > 1 else ""
    return f"{head}; farthest{name}: {_measured(value)} {checked.row.unit}, expected {_number(value.expected)}"


def markdown(verified: Sequence[Verified], setting: Setting) -> str:
    """The page: each family with its rows, each with its source, tolerance and a table of its values."""
    return "\n".join(_page(verified, setting))


def _page(verified: Sequence[Verified], setting: Setting) -> Iterator[str]:
    yield "# Validation"
    yield ""
    yield f"Made by `netwarp verify` on {setting.words}: {counts(verified)}."
    yield ""
    yield "Every seed's value has to be within the tolerance, which was stated before anything was measured."
    yield "[verify.md](verify.md) says what the verdicts mean."
    if any(checked.verdict in JUDGED for one in verified for checked in one.rows):
        yield ""
        yield f"![How much of its tolerance each value uses]({FIGURE}.svg)"
    for one in verified:
        yield ""
        yield f"## {one.family.title}"
        for checked in one.rows:
            yield from _section(checked)
    yield ""


def _section(checked: Checked) -> Iterator[str]:
    row = checked.row
    yield ""
    yield f"### {_MARKS[checked.verdict]} `{row.name}`: {checked.verdict}"
    yield escaped(row.claim)
    yield ""
    yield f"- Source: {escaped(row.source)}."
    yield f"- Tolerance: {_range(row.tolerance, row.unit)}, because {escaped(row.tolerance.why)}."
    if checked.verdict == Verdict.EXPLAINED and row.explained:
        yield f"- Explained: {escaped(row.explained.why)}."
    if row.since or row.before:
        yield f"- Applies to {row.kernels}."
    if row.phases:
        yield f"- Depends on exact times: {escaped(row.phases)}."
    if checked.reason:
        yield f"- {_REASONS.get(checked.verdict, 'Reason')}: {escaped(checked.reason)}."
    yield ""
    yield table(_values(checked))


def _values(checked: Checked) -> Table:
    """The values of a row: a line for each label."""
    row = checked.row
    shown = Table("", Column(f"expected, {row.unit}", justify="right"))
    for head in ("measured", "seeds"):
        shown.add_column(head, justify="right")
    for value in checked.values or tuple(Value(label, expected, ()) for label, expected in row.expected.items()):
        shown.add_row(value.label, _number(value.expected), _measured(value), str(len(value.measured) or "–"))
    return shown


def _range(allowed: Range, unit: str) -> str:
    ends = [_percent(end) if allowed.relative else _number(end) for end in (allowed.below, allowed.above)]
    text = f"±{ends[0]}" if ends[0] == ends[1] else f"−{ends[0]} to +{ends[1]}"
    return text if allowed.relative else f"{text} {escaped(unit)}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _measured(value: Value) -> str:
    if not value.measured:
        return "–"
    low, high = min(value.measured), max(value.measured)
    middle = _number(median(value.measured))
    return middle if low == high else f"{middle} ({_number(low)} to {_number(high)})"


def json_text(verified: Sequence[Verified], setting: Setting) -> str:
    """The setting, and all rows with references, sources, values and verdicts."""
    rows = [
        {
            "family": one.family.title,
            "name": checked.row.name,
            "claim": checked.row.claim,
            "source": checked.row.source,
            "unit": checked.row.unit,
            "kernels": checked.row.kernels,
            "tolerance": {
                "below": checked.row.tolerance.below,
                "above": checked.row.tolerance.above,
                "relative": checked.row.tolerance.relative,
                "why": checked.row.tolerance.why,
            },
            "verdict": checked.verdict,
            "reason": checked.reason or None,
            "values": [
                {"label": value.label, "expected": value.expected, "measured": list(value.measured)}
                for value in checked.values
            ],
        }
        for one in verified
        for checked in one.rows
    ]
    return json.dumps({**setting.head, "rows": rows}, indent=2, ensure_ascii=False, allow_nan=False)


def suites(verified: Sequence[Verified]) -> list[Suite]:
    """A suite for each family: a miss is a failure, a failed experiment an error, a row that waits is skipped."""
    return [Suite(one.family.title, [_case(checked) for checked in one.rows]) for one in verified]


def _case(checked: Checked) -> Case:
    fault = _FAULTS.get(checked.verdict)
    return Case(checked.row.name, fault, _line(checked) if fault else "", checked.row.claim)

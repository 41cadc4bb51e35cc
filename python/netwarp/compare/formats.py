"""A comparison as a table for people, as JSON for programs, and as JUnit XML for CI systems."""

import math
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from netwarp.common.junit import Case, Fault, Suite, document
from netwarp.compare.judgement import Comparison, Row, Verdict
from netwarp.compare.render import differences, needed_words, notes, p_words, sentence, size, weight
from netwarp.stats.statistics import CONFIDENCE
from netwarp.store.summary import axis_title
from netwarp.values.json_values import Json

_STYLES = {Verdict.WORSE: "red", Verdict.BETTER: "green", Verdict.CHANGED: "cyan", Verdict.UNCLEAR: "yellow"}
_MAX_UNCLEAR = 10


def shown_rows(comparison: Comparison, *, everything: bool = False) -> list[Row]:
    """The rows that are worse, better, changed, each by size; then the unclear ones that may matter most; or all."""
    order = list(Verdict)
    rows = sorted(comparison.rows, key=lambda row: (order.index(row.verdict), -weight(row)))
    if everything:
        return rows
    unclear = [row for row in rows if row.verdict is Verdict.UNCLEAR and weight(row) >= 1][:_MAX_UNCLEAR]
    return [row for row in rows if row.verdict not in (Verdict.SAME, Verdict.UNCLEAR)] + unclear


def table(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """Return a table with a line for each row: point, metric, medians, the shift with its interval, size, verdict."""
    keys = comparison.matching.keys
    found = Table()
    sure = [row.shift.confidence for row in rows if row.p is not None]
    interval = f"\n[{min(*sure, CONFIDENCE):.0%} interval]" if sure else ""
    for heading in (*map(axis_title, keys), "metric", "of"):
        found.add_column(Text(heading))
    for heading in ("A", "B", f"B − A{interval}", "in %"):
        found.add_column(Text(heading), justify="right")
    found.add_column("verdict")
    for row in rows:
        shift = row.shift
        verdict = row.verdict.value
        if row.verdict is Verdict.UNCLEAR:
            verdict += f": {needed_words(row, paired=comparison.paired)}"
        cells = (
            *("–" if value is None else value for value in row.point),
            row.subject.full_metric,
            row.subject.name,
            *(f"{value:.4g}" for value in (row.a, row.b)),
            f"{shift.estimate:+.3g}" + (f" [{shift.low:+.3g}, {shift.high:+.3g}]" if row.p is not None else ""),
            "–" if row.percent is None else f"{row.percent:+.1f}",
            verdict,
        )
        found.add_row(*map(Text, cells), style=_STYLES.get(row.verdict))
    return found


def as_json(comparison: Comparison) -> dict[str, Json]:
    """Return the whole comparison as JSON; missing numbers are null."""
    matching = comparison.matching
    return {
        "verdict": sentence(comparison),
        "regression": comparison.regression,
        "undecided": comparison.undecided,
        "identical": comparison.identical,
        "counts": {verdict.value: count for verdict, count in comparison.counts.items()},
        "a": {"path": str(comparison.a.path), "chosen": dict(comparison.a.chosen)},
        "b": {"path": str(comparison.b.path), "chosen": dict(comparison.b.chosen)},
        "differences": list(differences(comparison)),
        "paired": comparison.paired,
        "seeds": list(comparison.seeds),
        "notes": list(notes(comparison)),
        "axes": list(matching.keys),
        "only_a": [dict(zip(matching.keys, point, strict=True)) for point in matching.only_a],
        "only_b": [dict(zip(matching.keys, point, strict=True)) for point in matching.only_b],
        "broken": [dict(zip(matching.keys, point, strict=True)) for point in comparison.broken],
        "rows": [_json_row(comparison, row) for row in comparison.rows],
    }


def _json_row(comparison: Comparison, row: Row) -> dict[str, Json]:
    return {
        "point": dict(zip(comparison.matching.keys, row.point, strict=True)),
        **row.subject._asdict(),
        "a": row.a,
        "b": row.b,
        "runs_a": row.runs_a,
        "runs_b": row.runs_b,
        "shift": row.shift.estimate,
        "low": row.shift.low,
        "high": row.shift.high,
        "confidence": row.shift.confidence,
        "sd": None if math.isnan(row.shift.sd) else row.shift.sd,
        "percent": row.percent,
        "p_adjusted": row.p,
        "min_effect": row.min_effect,
        "verdict": row.verdict.value,
        "undecided": row.undecided,
        "needed_runs": row.needed,
    }


def junit(comparison: Comparison) -> str:
    """Return JUnit XML of the comparison: see `comparison_suite`."""
    return document("netwarp compare", [comparison_suite(comparison)])


def comparison_suite(comparison: Comparison) -> Suite:
    """Return a suite with a test case for each metric at each point, failed if it is worse, skipped if it is unclear.

    A point at which B has no good run is an error.
    """
    words = comparison.matching.words
    message = "no run of B is good here, though runs of A are"
    cases = [
        *(_case(row, words(row.point), paired=comparison.paired) for row in comparison.rows),
        *(Case("runs", Fault.ERROR, message, group=words(point) or "netwarp") for point in comparison.broken),
    ]
    printed = "\n".join([sentence(comparison), *notes(comparison)])
    return Suite(f"netwarp compare {comparison.a.title} {comparison.b.title}", cases, printed)


def _case(row: Row, point: str, *, paired: bool) -> Case:
    text = (
        f"{row.verdict}: {size(row)} (A {row.a:.6g}, B {row.b:.6g}, difference {row.shift.estimate:+.4g} "
        f"[{row.shift.low:+.4g}, {row.shift.high:+.4g}], {p_words(row)}; {row.min_effect:.3g} matters)"
    )
    name, group = str(row.subject), point or "netwarp"
    match row.verdict:
        case Verdict.WORSE:
            return Case(name, Fault.FAILURE, text, text, kind="regression", group=group)
        case Verdict.UNCLEAR:
            why = f"{text}; to settle it: {needed_words(row, paired=paired)}"
            return Case(name, Fault.SKIPPED, why, group=group)
        case _:
            return Case(name, group=group, printed=text)

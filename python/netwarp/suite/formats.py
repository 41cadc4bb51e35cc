"""A suite's result as text, JSON, JUnit, and in words that these and the page share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.common.junit import Case, Fault
from netwarp.common.junit import Suite as JunitSuite
from netwarp.suite.case import Measure
from netwarp.suite.runner import Assessment
from netwarp.suite.verdict import BAD, Judged, Verdict

MARKS = {
    Verdict.HARMS: "✗",
    Verdict.CONCERN: "!",
    Verdict.BETTER: "+",
    Verdict.PASSES: "",
    Verdict.REPORTED: "",
    Verdict.FAILED: "?",
    Verdict.WAITS: "–",
}
_FAULTS = {
    Verdict.HARMS: Fault.FAILURE,
    Verdict.CONCERN: Fault.FAILURE,
    Verdict.FAILED: Fault.ERROR,
    Verdict.WAITS: Fault.SKIPPED,
}


def unit_of(measure: Measure) -> str:
    """The unit of a measure, "" for a pure number."""
    entry = entry_of(measure.scope, measure.metric)
    unit = entry.axis.unit if entry else ""
    return "" if unit in ("–", "share of the rate") else unit


def number(value: float) -> str:
    """A value with three digits that count, at most three after the point, and never an exponent."""
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}"
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if short == "-0" else short.replace("-", "−")


def spread(values: Sequence[float]) -> str:
    """The median over the seeds, and the range if they differ."""
    if not values:
        return "–"
    middle, low, high = number(median(values)), number(min(values)), number(max(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def sentence(judged: Judged, name: str, baseline: str) -> str:
    """A verdict on a subject in a line: where, what, its value and that with which it was compared."""
    if judged.measure is None or judged.verdicts[name] == Verdict.FAILED:
        return f"{judged.label}: {judged.reason}"
    unit = unit_of(judged.measure)
    own = f"{judged.measure.words} {number(median(judged.values[name]))}{f' {unit}' if unit else ''}"
    if judged.measure.bound is not None:
        return f"{judged.label}: {own}, and {number(judged.measure.bound)} is asked for"
    known = judged.values.get(baseline, ())
    other = f"; {baseline} {spread(known)}" if name != baseline and known else ""
    return f"{judged.label}: {own}{other}"


def counts(assessment: Assessment, name: str) -> str:
    """How often a subject has each verdict."""
    found = Counter(one.verdicts[name] for one in assessment.judged)
    return ", ".join(f"{verdict} {found[verdict]}" for verdict in Verdict if found[verdict])


def as_text(assessment: Assessment) -> str:
    """What is wrong with each subject, a line each, and how often it has each verdict."""
    return "\n".join([*_lines(assessment), ""])


def _lines(assessment: Assessment) -> Iterator[str]:
    for subject in assessment.subjects:
        yield f"{subject.name}: {counts(assessment, subject.name)}"
        for one in assessment.judged:
            verdict = one.verdicts[subject.name]
            if verdict in (*BAD, Verdict.FAILED):
                yield f"  {MARKS[verdict]} {verdict}: {sentence(one, subject.name, assessment.suite.baseline.name)}"


def json_text(assessment: Assessment) -> str:
    """Every measure with its values, limit and verdicts."""
    rows = [
        {
            "group": group,
            "case": one.case.name,
            "point": one.point or None,
            "asks": one.case.asks,
            "source": one.case.source,
            "measure": one.measure.words if one.measure else None,
            "metric": f"{one.measure.scope}.{one.measure.metric}" if one.measure else None,
            "of": one.measure.name if one.measure else None,
            "unit": unit_of(one.measure) if one.measure else None,
            "limit": one.limit,
            "reason": one.reason or None,
            "subjects": [
                {"name": name, "verdict": verdict, "values": list(one.values.get(name, ()))}
                for name, verdict in one.verdicts.items()
            ],
        }
        for group, judged in assessment.groups.items()
        for one in judged
    ]
    data = {"suite": assessment.suite.name, "subjects": [vars(one) for one in assessment.subjects], "measures": rows}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def junit(assessment: Assessment) -> list[JunitSuite]:
    """A suite for each group and subject: harm and concern are failures, failed runs errors; what waits is skipped."""
    return [
        JunitSuite(f"{subject.name}: {group}", [_case(one, subject.name, assessment) for one in judged])
        for subject in assessment.subjects
        for group, judged in assessment.groups.items()
    ]


def _case(judged: Judged, name: str, assessment: Assessment) -> Case:
    verdict = judged.verdicts[name]
    fault = _FAULTS.get(verdict)
    words = f"{judged.label}: {judged.measure.words}" if judged.measure else judged.label
    message = f"{verdict}: {sentence(judged, name, assessment.suite.baseline.name)}" if fault else ""
    return Case(words, fault, message, judged.case.asks)

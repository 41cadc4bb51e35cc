"""A suite's result as text, JSON, JUnit, and in words that these and the page share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.common.junit import Case as JunitCase
from netwarp.common.junit import Fault
from netwarp.common.junit import Suite as JunitSuite
from netwarp.suite.case import Case, Measure, Subject, Suite
from netwarp.suite.runner import Assessment
from netwarp.suite.verdict import BAD, Judged, Verdict
from netwarp.values.json_values import Json

MARKS = {
    Verdict.HARMS: "✗",
    Verdict.CONCERN: "!",
    Verdict.BETTER: "+",
    Verdict.PASSES: "",
    Verdict.REPORTED: "",
    Verdict.FAILED: "?",
    Verdict.WAITS: "–",
    Verdict.UNASKED: "",
}
_VERBS = {
    Verdict.HARMS: ("shows harm", "show harm"),
    Verdict.CONCERN: ("raises a concern", "raise concerns"),
    Verdict.PASSES: ("passes", "pass"),
    Verdict.BETTER: ("is better", "are better"),
    Verdict.REPORTED: ("is only reported", "are only reported"),
    Verdict.FAILED: ("failed", "failed"),
    Verdict.WAITS: ("waits", "wait"),
}
"""Each verdict as the verb of a sentence about one measure, and about several."""
_FAULTS = {
    Verdict.HARMS: Fault.FAILURE,
    Verdict.CONCERN: Fault.FAILURE,
    Verdict.FAILED: Fault.ERROR,
    Verdict.WAITS: Fault.SKIPPED,
    Verdict.UNASKED: Fault.SKIPPED,
}


def unit_of(measure: Measure) -> str:
    """The unit of a measure, "" for a pure number."""
    entry = entry_of(measure.scope, measure.metric)
    unit = entry.axis.unit if entry else ""
    return "" if unit in ("–", "share of the rate") else unit


def number(value: float) -> str:
    """A value with three significant digits, at most three after the point, and never an exponent."""
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
    """A verdict on a subject in a line: the case, the measure, its value and the value that it was compared with."""
    if judged.verdicts[name] == Verdict.UNASKED:
        return f"{judged.label}: the case is for other subjects"
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
    """How often a subject has each verdict: "of 3 measures 1 raises a concern, 2 pass"."""
    found = Counter(one.verdicts[name] for one in assessment.judged if one.verdicts[name] != Verdict.UNASKED)
    if not found:
        return "no case is about it"
    parts = [f"{found[verdict]} {_VERBS[verdict][found[verdict] > 1]}" for verdict in _VERBS if found[verdict]]
    return f"of {found.total()} measure{'s' * (found.total() != 1)} {', '.join(parts)}"


def seeds_of(assessment: Assessment) -> str:
    """The number of seeds in words: "3 seeds"."""
    return f"{assessment.seeds} seeds" if assessment.seeds > 1 else "one seed"


def as_text(assessment: Assessment) -> str:
    """The faults of each subject, a line each, and how often it has each verdict."""
    return "\n".join([*_lines(assessment), ""])


def _lines(assessment: Assessment) -> Iterator[str]:
    for subject in assessment.subjects:
        yield f"{subject.name}: {counts(assessment, subject.name)}"
        for one in assessment.judged:
            verdict = one.verdicts[subject.name]
            if verdict in (*BAD, Verdict.FAILED):
                yield f"  {MARKS[verdict]} {verdict}: {sentence(one, subject.name, assessment.suite.baseline.name)}"


def head_of(
    suite: Suite, subjects: Sequence[Subject], cases: Iterable[Case], seeds: int, release: str
) -> dict[str, Json]:
    """The head of `suite.json`: everything that decides the rest. `release` is the kernel's."""
    return {
        "suite": suite.name,
        "release": release,
        "subjects": [{"value": one.value, "name": one.name} for one in subjects],
        "modules": list(suite.modules),
        "cases": list(dict.fromkeys(one.name for one in cases)),
        "seeds": seeds,
    }


def json_text(assessment: Assessment, release: str) -> str:
    """The head, and every measure with its values, limit and verdicts."""
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
    cases = [one.case for one in assessment.judged]
    head = head_of(assessment.suite, assessment.subjects, cases, assessment.seeds, release)
    return json.dumps({**head, "measures": rows}, indent=2, ensure_ascii=False, allow_nan=False)


def junit(assessment: Assessment) -> list[JunitSuite]:
    """A suite for each group and subject: harm and concern are failures, failed runs errors; waiting measures are
    skipped."""
    return [
        JunitSuite(f"{subject.name}: {group}", [_case(one, subject.name, assessment) for one in judged])
        for subject in assessment.subjects
        for group, judged in assessment.groups.items()
    ]


def _case(judged: Judged, name: str, assessment: Assessment) -> JunitCase:
    verdict = judged.verdicts[name]
    fault = _FAULTS.get(verdict)
    words = f"{judged.label}: {judged.measure.words}" if judged.measure else judged.label
    message = f"{verdict}: {sentence(judged, name, assessment.suite.baseline.name)}" if fault else ""
    return JunitCase(words, fault, message, judged.case.asks)

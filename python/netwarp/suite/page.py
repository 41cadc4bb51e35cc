"""The page of a suite: each subject's strengths and harm, then the table, then each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from netwarp.common.markdown import escaped
from netwarp.common.words import capital
from netwarp.suite.case import Bar, Case, Measure, Subject
from netwarp.suite.formats import MARKS, counts, number, seeds_of, spread, unit_of
from netwarp.suite.runner import Assessment
from netwarp.suite.verdict import Judged, Verdict

FIGURE = "suite"
"""The name of the figure beside the page, without its ending."""
_HEADS = {
    Verdict.BETTER: "What {name} does better than {baseline}",
    Verdict.HARMS: "Where {name} harms others more than {baseline} does",
    Verdict.CONCERN: "Where {name} is worse than {baseline}, or than a bound",
    Verdict.FAILED: "What failed",
}
_HEADS_OF_BASELINE = {Verdict.CONCERN: "Where {name} misses a bound", Verdict.FAILED: "What failed"}


def markdown(assessment: Assessment, measured_on: str) -> str:
    """The page in Markdown; `measured_on` names the kernel."""
    return "\n".join(_page(assessment, measured_on))


def _page(assessment: Assessment, measured_on: str) -> Iterator[str]:
    suite = assessment.suite
    names = ", ".join(escaped(one.name) for one in assessment.subjects)
    yield f"# {suite.title}: {names}"
    yield ""
    others = " and ".join(f"`{one.name}`" for one in suite.references)
    yield (
        f"Made by `netwarp suite {suite.name}` on {measured_on}, from {suite.sources}; beside {others}, "
        f"{seeds_of(assessment)} for each, the same for all."
    )
    for subject in assessment.subjects:
        yield from _in_short(assessment, subject)
    yield ""
    yield "## All measures"
    yield ""
    yield f"![The verdict on each measure, with its median]({FIGURE}.svg)"
    yield ""
    yield from _table(assessment)
    for title, rows in assessment.groups.items():
        yield ""
        yield f"## {title}"
        for case, judged in groupby(rows, key=lambda one: one.case):
            yield from _section(case, list(judged), suite.baseline)
    yield ""


def _in_short(assessment: Assessment, subject: Subject) -> Iterator[str]:
    baseline = assessment.suite.baseline.name
    yield ""
    yield f"## `{subject.name}`"
    yield f"{capital(counts(assessment, subject.name))}." + (
        f" It is `{subject.value}`." * (subject.value != subject.name)
    )
    for verdict, head in (_HEADS_OF_BASELINE if subject.name == baseline else _HEADS).items():
        rows = [one for one in assessment.judged if one.verdicts[subject.name] == verdict]
        if not rows:
            continue
        yield ""
        yield f"### {head.format(name=escaped(subject.name), baseline=escaped(baseline))}"
        yield from _bullets(rows, subject.name, baseline)


def _bullets(rows: Sequence[Judged], name: str, baseline: str) -> Iterator[str]:
    """A line for each measure of a case, with all its points."""
    for (case, measure), same in groupby(rows, key=lambda one: (one.case, one.measure)):
        if measure is None:
            continue
        unit = unit_of(measure)
        points = "; ".join(filter(None, (_point(one, name, baseline) for one in same)))
        words = escaped(f"{measure.words}{f' in {unit}' if unit else ''}")
        yield f"- **{case.name}**, {words}: {points}"


def _point(judged: Judged, name: str, baseline: str) -> str:
    where = f" ({escaped(judged.point)})" if judged.point else ""
    if judged.verdicts[name] == Verdict.FAILED:
        return escaped(judged.reason) + where
    own, known = median(judged.values[name]), judged.values.get(baseline)
    if judged.measure is not None and (bound := judged.measure.bound) is not None:
        return f"{number(own)}, where {number(bound)} is asked for{where}"
    return f"{number(own)}, where {escaped(baseline)} has {number(median(known))}{where}" if known else number(own)


def _table(assessment: Assessment) -> Iterator[str]:
    names = [one.name for one in assessment.columns]
    yield f"| case | measure | {' | '.join(escaped(name) for name in names)} | limit |"
    yield f"|---|---|{'--:|' * (len(names) + 1)}"
    for one in assessment.judged:
        if one.measure is None:
            continue
        unit = unit_of(one.measure)
        cells = [f"{MARKS[one.verdicts[name]]} {spread(one.values.get(name, ()))}".strip() for name in names]
        limit = "–" if one.limit is None or one.measure.bar == Bar.REPORT else number(one.limit)
        words = escaped(f"{one.measure.words}{f', {unit}' if unit else ''}")
        yield f"| {' | '.join([escaped(one.label), words, *cells, limit])} |"
    yield ""
    yield (
        "✗ harms, ! concern, + better, ? failed; without a mark: passes, or is only reported (no limit). Medians, with "
        "lowest and highest seed. A median beyond the limit counts as worse. The limit: the baseline's worst seed and "
        "a difference that matters."
    )


def _section(case: Case, judged: Sequence[Judged], baseline: Subject) -> Iterator[str]:
    yield ""
    yield f"### `{case.name}`"
    yield escaped(case.asks)
    yield ""
    yield f"- Source: {escaped(case.source)}."
    if case.waits:
        yield f"- Waits for {escaped(case.waits)}."
        return
    yield f"- Scenario: [{case.name}.toml]({case.name}.toml); `netwarp run {case.name}.toml` keeps all records."
    for measure in case.measures:
        yield f"- {escaped(measure.words)} (`{measure.scope}.{measure.metric}`): {_criterion(measure, baseline)}"
    for reason in dict.fromkeys(f"{one.point}: {run}" if one.point else run for one in judged for run in one.left_out):
        yield f"- Left out: {escaped(reason)}."


def _criterion(measure: Measure, baseline: Subject) -> str:
    if measure.least is not None:
        return f"at least {number(measure.least)}{_because(measure)}."
    if measure.most is not None:
        return f"at most {number(measure.most)}{_because(measure)}."
    if measure.bar == Bar.REPORT:
        return "reported, without a threshold."
    entry = "the smallest difference that matters (docs/metrics.md)"
    amount = f"{number(measure.margin)} {unit_of(measure)}".strip() if measure.margin else ""
    room = f"{amount}{_because(measure)}, or {entry} if that is more" if amount else entry
    return f"no worse than {escaped(baseline.name)}'s worst seed, and {room}."


def _because(measure: Measure) -> str:
    return f" ({escaped(measure.why)})" if measure.why else ""

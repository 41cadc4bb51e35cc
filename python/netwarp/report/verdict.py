"""The first part of the page: whether the result can be used, and whether it meets its scenario's expectations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.analysis.summary.expectations import Checked, Judgement, Look
from netwarp.common.quantities import count
from netwarp.report.tables import left_out
from netwarp.store.findings import Finding
from netwarp.store.run_status import WRITTEN, RunStatus
from netwarp.store.summary import RunOutcome

_STATUSES = (*WRITTEN, RunStatus.MISSING)


@dataclass(frozen=True)
class Line:
    """One judged statement: its look, its subject, and the finding."""

    look: Look
    word: str
    subject: str
    found: str


@dataclass(frozen=True)
class ReportVerdict:
    """The look of the whole, its sentences, runs by status, lines, and omissions."""

    look: Look
    headline: str
    sentence: str
    counts: Sequence[tuple[str, int]]
    expectations: Sequence[Line]
    findings: Sequence[Line]
    left_out: Sequence[tuple[str, str]]


def verdict(outcomes: Sequence[RunOutcome], checked: Sequence[Checked], findings: Sequence[Finding]) -> ReportVerdict:
    """Judge a result from its runs and expectations, as the exit code of `netwarp report` does."""
    counts = {status: sum(outcome.status == status for outcome in outcomes) for status in _STATUSES}
    failed = sum(not one.ok for one in checked)
    look, headline = _headline(counts, checked, failed)
    return ReportVerdict(
        look=look,
        headline=headline,
        sentence=_sentence(counts, len(outcomes)),
        counts=[(status, many) for status, many in counts.items() if many],
        expectations=expectation_lines(checked),
        findings=[_finding(one) for one in findings],
        left_out=list(left_out(outcomes)),
    )


def expectation_lines(checked: Sequence[Checked]) -> list[Line]:
    """Each expectation as a line."""
    return [Line(one.judgement.look, one.judgement.value, f"{one.subject}: {one.bound}", one.found) for one in checked]


def _headline(counts: Mapping[RunStatus, int], checked: Sequence[Checked], failed: int) -> tuple[Look, str]:
    """The first statement that holds, the worst first, with its look."""
    met = sum(one.judgement is Judgement.MET for one in checked)
    sayings = (
        (not counts[RunStatus.OK] + counts[RunStatus.SUSPECT], Look.FAILED, "No run of this result can be used"),
        (failed, Look.FAILED, f"{failed} of {count(len(checked), 'expectation')} failed"),
        (counts[RunStatus.FAILED], Look.FAILED, f"{count(counts[RunStatus.FAILED], 'run')} failed"),
        (counts[RunStatus.MISSING], Look.OPEN, f"{count(counts[RunStatus.MISSING], 'run')} not made yet"),
        (counts[RunStatus.SUSPECT], Look.OPEN, f"{count(counts[RunStatus.SUSPECT], 'run')} suspect"),
        (not checked, Look.MET, "Every run measured what it says"),
        (met < len(checked), Look.OPEN, f"{met} of {count(len(checked), 'expectation')} met, the others not checked"),
        (True, Look.MET, "The expectation is met" if met == 1 else f"All {met} expectations are met"),
    )
    return next((look, text) for holds, look, text in sayings if holds)


def _sentence(counts: Mapping[RunStatus, int], total: int) -> str:
    usable = counts[RunStatus.OK]
    text = f"{usable} of {count(total, 'run')} measured what {'it says' if total == 1 else 'they say'}"
    others = [f"{counts[status]} {word}" for status, word in _OTHERS if counts[status]]
    return f"{text}; left out of the medians: {', '.join(others)}." if others else f"{text}."


_OTHERS = ((RunStatus.SUSPECT, "suspect"), (RunStatus.FAILED, "failed"), (RunStatus.MISSING, "not made"))


def _finding(one: Finding) -> Line:
    published = f"published: {one.published}; " if one.published else ""
    subject = f"{one.finding} ({one.source})" if one.source else one.finding
    return Line(
        Look.MET if one.judgement.supports else Look.OPEN,
        one.judgement.value,
        subject,
        f"{published}here: {one.measured}",
    )

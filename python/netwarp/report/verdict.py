"""The first part of the page: whether the result can be used, and whether it meets its scenario's expectations."""

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.analysis.summary.expectations import Checked, Judgement
from netwarp.report.quantities import count
from netwarp.report.tables import left_out
from netwarp.store.findings import Finding
from netwarp.store.summary import RunOutcome

_STATUSES = ("ok", "suspect", "failed", "missing")
_MARKS = {Judgement.MET: "met", Judgement.FAILED: "failed", Judgement.UNCHECKED: "open"}


@dataclass(frozen=True)
class Line:
    """One judged statement: its look (`met`, `failed`, `open`), the statement, and the finding."""

    look: str
    word: str
    subject: str
    found: str


@dataclass(frozen=True)
class ReportVerdict:
    """The verdict on a result: its look (`met`, `failed`, `open`), sentences, runs by status, lines, excluded runs."""

    look: str
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
    return [
        Line(_MARKS[one.judgement], one.judgement.value, f"{one.subject}: {one.bound}", one.found) for one in checked
    ]


def _headline(counts: dict[str, int], checked: Sequence[Checked], failed: int) -> tuple[str, str]:
    """The worst statement that holds, with its look."""
    met = sum(one.judgement is Judgement.MET for one in checked)
    sayings = (
        (not counts["ok"] + counts["suspect"], "failed", "No run of this result can be used"),
        (failed, "failed", f"{failed} of {count(len(checked), 'expectation')} failed"),
        (counts["failed"], "failed", f"{count(counts['failed'], 'run')} failed"),
        (counts["missing"], "open", f"{count(counts['missing'], 'run')} not made yet"),
        (counts["suspect"], "open", f"{count(counts['suspect'], 'run')} suspect"),
        (not checked, "met", "Every run measured what it says"),
        (met < len(checked), "open", f"{met} of {count(len(checked), 'expectation')} met, the others not checked"),
        (True, "met", "The expectation is met" if met == 1 else f"All {met} expectations are met"),
    )
    return next((look, text) for holds, look, text in sayings if holds)


def _sentence(counts: dict[str, int], total: int) -> str:
    usable = counts["ok"]
    text = f"{usable} of {count(total, 'run')} measured what {'it says' if total == 1 else 'they say'}"
    others = [f"{counts[status]} {word}" for status, word in _OTHERS if counts[status]]
    return f"{text}; left out of the medians: {', '.join(others)}." if others else f"{text}."


_OTHERS = (("suspect", "suspect"), ("failed", "failed"), ("missing", "not made"))


def _finding(one: Finding) -> Line:
    published = f"published: {one.published}; " if one.published else ""
    subject = f"{one.finding} ({one.source})" if one.source else one.finding
    return Line(
        "met" if one.judgement.supports else "open", one.judgement.value, subject, f"{published}here: {one.measured}"
    )

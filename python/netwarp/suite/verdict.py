"""Verdicts: the values of each subject at one point of a case, compared with those of the baseline, seed by seed.

The baseline's own spread is the margin for chance: a value is worse only if the median over the seeds is worse than
the baseline's worst seed by more than a difference that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from netwarp.analysis.catalogue.entry import Better
from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.suite.case import Bar, Case, Measure

Values = Mapping[str, Sequence[float]]
"""The values of each subject, by its name: one for each seed."""


class Verdict(StrEnum):
    """The verdict of a measure on a subject."""

    HARMS = "harms"
    """It harms other flows more than the baseline does."""
    CONCERN = "concern"
    """It is worse than the baseline, or than a bound."""
    PASSES = "passes"
    BETTER = "better"
    """It is better than the baseline, by more than its seeds differ."""
    REPORTED = "reported"
    """The RFC sets no threshold, or the metric has no better direction."""
    FAILED = "failed"
    """A run failed, or did not measure the value."""
    WAITS = "waits"
    """Netwarp cannot measure it yet; the case names the missing feature."""
    UNASKED = "not asked"
    """The case is for subjects of another kind."""


BAD = (Verdict.HARMS, Verdict.CONCERN)


@dataclass(frozen=True)
class Judged:
    """A measure at a point of a case: the values and the verdict of each subject, and the limit between them.

    `point` is the point's words. `limit` is the value beyond which a median is worse; None if there is no such value.
    `reason` says why a subject failed; `left_out` names the runs whose values do not count, with their reasons.
    """

    case: Case
    measure: Measure | None
    point: str
    values: Values
    verdicts: Mapping[str, Verdict]
    limit: float | None = None
    reason: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Case and point in words."""
        return f"{self.case.name}, {self.point}" if self.point else self.case.name


def judge(
    case: Case,
    measure: Measure,
    point: str,
    values: Values,
    *,
    baseline: str,
    failures: Mapping[str, str],
    suspicions: Mapping[str, str] | None = None,
) -> Judged:
    """Judge every subject that has values, the baseline included.

    `failures` says why a subject's runs failed, and `suspicions` why values of its other runs do not count.
    """
    better = _better(measure)
    limits = _limits(measure, better, values.get(baseline, ()))
    verdicts = {
        name: Verdict.FAILED if name in failures or not own else _verdict(measure, better, limits, median(own))
        for name, own in values.items()
    }
    why = {**(suspicions or {}), **failures}
    reasons = [f"{name}: {why.get(name, 'not measured')}" for name in values if verdicts[name] == Verdict.FAILED]
    return Judged(case, measure, point, values, verdicts, limits[0] if limits else None, "; ".join(reasons))


def _better(measure: Measure) -> Better | None:
    if measure.least is not None:
        return Better.HIGHER
    if measure.most is not None:
        return Better.LOWER
    entry = entry_of(measure.scope, measure.metric)
    # The catalogue calls drops neither good nor bad, since some queues drop by design; a measure with a bar says that
    # fewer are better.
    default = None if measure.bar == Bar.REPORT else Better.LOWER
    return (entry.better if entry else None) or default


def _limits(measure: Measure, better: Better | None, baseline: Sequence[float]) -> tuple[float, float | None] | None:
    """The values beyond which a median is worse, and better, than the baseline's; None if neither can be said."""
    if measure.bound is not None:
        return measure.bound, None
    if better is None or not baseline:
        return None
    worst, best = min(baseline), max(baseline)
    if better == Better.HIGHER:
        return worst - margin(measure, worst), best + margin(measure, best)
    worst, best = best, worst
    if measure.bar == Bar.HARM:  # a subject that takes nothing does not harm, even if the baseline gives
        worst = max(worst, 0.0)
    return worst + margin(measure, worst), best - margin(measure, best)


def margin(measure: Measure, value: float) -> float:
    """The difference from a value of the baseline that does not count: the catalogue's or the measure's, if larger."""
    entry = entry_of(measure.scope, measure.metric)
    return max(measure.margin, entry.min_effect.of(value) if entry else 0.0)


def _verdict(
    measure: Measure, better: Better | None, limits: tuple[float, float | None] | None, value: float
) -> Verdict:
    if limits is None:
        return Verdict.REPORTED
    sign = 1 if better == Better.HIGHER else -1
    worse, good = limits
    if measure.bar == Bar.REPORT:
        return Verdict.REPORTED
    if sign * value < sign * worse:
        return Verdict.HARMS if measure.bar == Bar.HARM else Verdict.CONCERN
    return Verdict.BETTER if good is not None and sign * value > sign * good else Verdict.PASSES

"""The judgement: per metric and point better, worse, changed, the same, or unclear."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.catalogue.entry import HIGHER, MinEffect
from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.compare.comparison_input import ComparisonInput
from netwarp.compare.match import Matching, Point, match, set_up_differences
from netwarp.compare.samples import Samples, Subject, gather
from netwarp.stats.effect_size import Shift, needed_runs, paired_shift, unpaired_shift
from netwarp.stats.permutation import ALPHA, can_detect, paired_p_values, unpaired_p_values

_PAIRS = 2


class Verdict(StrEnum):
    """The verdict on a metric: `changed` is a difference that is neither better nor worse."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    UNCLEAR = "unclear"
    SAME = "same"


@dataclass(frozen=True)
class Row:
    """One metric at one point: medians, the shift from A to B, and its verdict.

    `p` is adjusted for all rows of the comparison; None if no value varies with the seed, so that there is nothing to
    test. `min_effect` is the smallest difference that matters, `needed` the approximate number of runs per side that
    would settle an unclear row (None if unknown). `undecided`: there are too few runs to distinguish any difference,
    however large, from chance.
    """

    point: Point
    subject: Subject
    a: float
    b: float
    runs_a: int
    runs_b: int
    shift: Shift
    p: float | None
    min_effect: float
    verdict: Verdict
    needed: int | None
    undecided: bool = False

    @property
    def percent(self) -> float | None:
        """The shift in percent of A's median; None if that is 0."""
        return 100 * self.shift.estimate / abs(self.a) if self.a else None


@dataclass(frozen=True)
class Comparison:
    """Everything that was compared. `seeds` are the common ones if `paired`, otherwise it is empty.

    `broken` are points at which no run of B is good although runs of A are: B counts as worse there. `left_out` lists
    runs that do not count, `one_sided` metrics that only one side has, `unasked` flows that accompany others.
    """

    a: ComparisonInput
    b: ComparisonInput
    matching: Matching
    set_up: tuple[str, ...]
    seeds: tuple[int, ...]
    paired: bool
    identical: bool
    rows: tuple[Row, ...]
    broken: tuple[Point, ...]
    left_out: tuple[str, ...]
    one_sided: tuple[str, ...]
    unasked: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """The number of rows with each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in Verdict}

    @property
    def regression(self) -> bool:
        """Whether B is worse in anything."""
        return bool(self.broken or self.counts[Verdict.WORSE])

    @property
    def undecided(self) -> bool:
        """Whether there are too few runs to decide about a row, and no row is worse."""
        return not self.regression and any(row.undecided for row in self.rows)

    @property
    def settled(self) -> frozenset[Point]:
        """The points at which no value varies with the seed on either side, so that every difference is certain."""
        return frozenset(row.point for row in self.rows if row.p is None)


def compare(
    a: ComparisonInput,
    b: ComparisonInput,
    *,
    metrics: Sequence[str] = (),
    min_effect: Sequence[tuple[str, MinEffect]] = (),
    short: bool = False,
) -> Comparison:
    """Compare B with A at every point that both have.

    `metrics` are patterns (`flow.rtt_*`) of the metrics to compare; empty for all. `min_effect` are pairs of a pattern
    and the difference that matters instead of the catalogue's; the last one that fits applies. Seeds that both sides
    have are pairs, because the same seed means the same random events on both. `short`: flows that accompany others are
    compared as well. Raises SelectionError if nothing can be compared.
    """
    matching = match(a, b)
    samples = gather(a, b, matching, metrics, short=short)
    common = tuple(sorted(set(samples.seeds_a) & set(samples.seeds_b)))
    paired = len(common) >= _PAIRS or common == samples.seeds_a == samples.seeds_b
    if paired:
        samples = samples.paired(common)
    return Comparison(
        a=a,
        b=b,
        matching=matching,
        set_up=tuple(set_up_differences(a, b)),
        seeds=common if paired else (),
        paired=paired,
        identical=samples.identical,
        rows=tuple(_rows(samples, min_effect, paired)),
        broken=samples.broken,
        left_out=samples.left_out,
        one_sided=samples.one_sided,
        unasked=samples.unasked,
    )


def _rows(samples: Samples, min_effect: Sequence[tuple[str, MinEffect]], paired: bool) -> list[Row]:
    there = samples.comparable(paired=paired)
    if not len(there):
        return []
    one, other = samples.a[:, there], samples.b[:, there]
    subjects = [samples.columns[at] for at in there]
    medians = [np.nanmedian(side, axis=0) for side in (one, other)]
    thresholds = np.array(
        [subject.min_effect(min_effect).of(a) for (_, subject), a in zip(subjects, medians[0], strict=True)]
    )
    # Certain differences are not tested: they would only raise the threshold for the others.
    tested = np.array([point not in samples.settled for point, _ in subjects])
    p_values = np.full(len(subjects), np.nan)
    if tested.any():
        sides, least = (one[:, tested], other[:, tested]), thresholds[tested]
        p_values[tested] = paired_p_values(sides[1] - sides[0], least) if paired else unpaired_p_values(*sides, least)
    rows = []
    for at, (point, subject) in enumerate(subjects):
        runs_a, runs_b = (int((~np.isnan(side[:, at])).sum()) for side in (one, other))
        a, b = (float(median[at]) for median in medians)
        p, matters = (float(p_values[at]) if tested[at] else None), float(thresholds[at])
        shift = _certain(b - a) if p is None else _shift(one[:, at], other[:, at], paired)
        verdict = Verdict.SAME if point in samples.same_points else _verdict(shift, p, matters, subject)
        unclear = verdict is Verdict.UNCLEAR
        needed = needed_runs(shift, matters, ALPHA / int(tested.sum())) if unclear else None
        undecided = unclear and not can_detect(*_runs_at(samples, point), paired=paired)
        rows.append(Row(point, subject, a, b, runs_a, runs_b, shift, p, matters, verdict, needed, undecided))
    return rows


def _runs_at(samples: Samples, point: Point) -> tuple[int, int]:
    """The number of runs of each side at a point. A metric of a rare event may have fewer values: more runs do not
    promise more values, so it is unclear, and no reason to ask for runs."""
    here = [at for at, (there, _) in enumerate(samples.columns) if there == point]
    one, other = (int((~np.isnan(side[:, here])).any(axis=1).sum()) for side in (samples.a, samples.b))
    return one, other


def _certain(difference: float) -> Shift:
    """The shift of a difference that does not depend on chance."""
    return Shift(difference, difference, difference, 1.0, 0.0)


def _shift(one: NDArray[np.float64], other: NDArray[np.float64], paired: bool) -> Shift:
    if paired:
        differences = other - one
        return paired_shift(differences[~np.isnan(differences)])
    return unpaired_shift(one[~np.isnan(one)], other[~np.isnan(other)])


def _verdict(shift: Shift, p: float | None, min_effect: float, subject: Subject) -> Verdict:
    """Judge a shift: better, worse or changed if it is significant and matters; the same if its interval excludes any
    difference that matters; otherwise unclear."""
    if shift.estimate and (p is None or p < ALPHA) and abs(shift.estimate) >= min_effect:
        better = entry_of(subject.scope, subject.metric)
        if better is None or better.better is None:
            return Verdict.CHANGED
        return Verdict.BETTER if (shift.estimate > 0) == (better.better == HIGHER) else Verdict.WORSE
    within = -min_effect <= shift.low and shift.high <= min_effect
    return Verdict.SAME if within and shift.confidence >= 1 - ALPHA else Verdict.UNCLEAR

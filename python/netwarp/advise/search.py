"""Successive halving over seeds: many candidates with few runs, the best of them with more, the last with new seeds.

A clear loser costs a run or two (K. Jamieson, A. Talwalkar: Non-stochastic Best Arm Identification and Hyperparameter
Optimization, AISTATS 2016). Candidates are dropped by estimates, without a claim; claims are only made about finalists,
from seeds that took no part in choosing them. The number of finalists is decided before their runs: only candidates
near the best are finalists, so that a clear answer comes sooner.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.advise.candidates import Candidate
from netwarp.advise.criteria import Limit
from netwarp.advise.environment import Environment
from netwarp.advise.judgement import central_score, check, percent_of, robust_scores
from netwarp.advise.situations import Situation
from netwarp.advise.sizing import Size
from netwarp.advise.trial import Laboratory, Trial

_FOR_A_CHANGE = math.log(1.005)
"""The advantage in score that a candidate needs for each additional change, if seeds are too few for a claim."""
_NEAR = math.log(1.10)
"""A candidate whose score in the screening is further below the best one's does not become a finalist."""
_CROSSED = 3
"""The number of best queues that run with every control, if not all queues do."""


@dataclass(frozen=True)
class Dropped:
    """A candidate that was dropped: the number of its runs, and why."""

    name: str
    runs: int
    why: str


@dataclass(frozen=True)
class Found:
    """The result of a search: the finalists (the present configuration first), their runs, and dropped candidates.

    `screened` are all runs of the screening, `seeds` those of the finalists, `situations` those of the finalists.
    """

    finalists: tuple[Candidate, ...]
    trial: Trial
    screened: Trial
    dropped: tuple[Dropped, ...]
    seeds: tuple[int, ...]
    situations: tuple[Situation, ...]


@dataclass(frozen=True)
class Search:
    """A search: everything that stays the same during it."""

    environment: Environment
    size: Size
    weights: Mapping[str, float]
    limits: Sequence[Limit]
    laboratory: Laboratory

    @property
    def situations(self) -> tuple[Situation, ...]:
        """The situations in which candidates are judged."""
        return self.size.situations

    def run(self, candidates: Sequence[Candidate]) -> Found:
        """Screen all candidates, then judge the best. The first one, the present configuration, is never dropped."""
        now, others = candidates[0], list(candidates[1:])
        screened, dropped = Trial(), list[Dropped]()
        size, seed = self.size, 1
        if len(others) > size.finalists:
            later = [one for one in size.situations if one not in size.first]
            others = self._first_round(now, others, screened, seed, dropped)
            if len(others) > size.keep or (later and len(candidates) > 2 * size.finalists + 1):
                others = self._best(others, screened, size.first, size.keep, dropped)
                # The other situations use the same seed.
                if later:
                    screened.add(self.laboratory.run("screening 2", [now, *others], later, [seed]))
                others = self._best(others, screened, size.situations, size.finalists, dropped, near=_NEAR)
            else:
                others = self._best(others, screened, size.first, size.finalists, dropped, near=_NEAR)
        finalists = (now, *others)
        seeds = tuple(range(seed + 1, seed + 1 + size.seeds))
        trial = self.laboratory.run("final", finalists, size.situations, seeds)
        if spare := self._spare(finalists, trial, seeds):
            trial.add(self.laboratory.run("final, further seeds", finalists, size.situations, spare))
        return Found(finalists, trial, screened, tuple(dropped), (*seeds, *spare), size.situations)

    def _first_round(
        self, now: Candidate, others: list[Candidate], screened: Trial, seed: int, dropped: list[Dropped]
    ) -> list[Candidate]:
        """Run every candidate once; or every queue with one control, then the best queues with the other controls."""
        size = self.size
        if not size.by_queue:
            screened.add(self.laboratory.run("screening 1", [now, *others], size.first, [seed]))
            return others
        reference = (others[0].control, others[0].sysctl)
        begun = [one for one in others if (one.control, one.sysctl) == reference]
        screened.add(self.laboratory.run("screening 1", [now, *begun], size.first, [seed]))
        best = self._best(begun, screened, size.first, _CROSSED, [])
        crossed = [one for one in others if one not in begun and one.queues in [queue.queues for queue in best]]
        if crossed:
            screened.add(self.laboratory.run("screening 1, other controls", crossed, size.first, [seed]))
        tried = [*begun, *crossed]
        dropped += [
            Dropped(one.name, 0, "its queue was not among the best with another control")
            for one in others
            if one not in tried
        ]
        return tried

    def _spare(self, finalists: Sequence[Candidate], trial: Trial, seeds: Sequence[int]) -> tuple[int, ...]:
        """Return new seeds in place of those in which a run does not count, at most half as many as there were.

        Otherwise a suspect run would cost its whole seed, and with few seeds the verdict.
        """
        scores = robust_scores(trial, [one.name for one in finalists], self.situations, self.environment, self.weights)
        lacking = max(len(seeds) - len(one) for one in scores.values())
        return tuple(range(seeds[-1] + 1, seeds[-1] + 1 + min(lacking, len(seeds) // 2)))

    def _best(
        self,
        candidates: Sequence[Candidate],
        trial: Trial,
        situations: Sequence[Situation],
        keep: int,
        dropped: list[Dropped],
        *,
        near: float = math.inf,
    ) -> list[Candidate]:
        """Return the best `keep` candidates among those `near` the best one. Candidates that break no limit by much
        come first; then the score decides."""
        scores = robust_scores(trial, [one.name for one in candidates], situations, self.environment, self.weights)
        ranked = sorted(candidates, key=lambda one: self._rank(one, scores[one.name], trial))
        best = max(central_score(one) for one in scores.values())
        first = central_score(scores[ranked[0].name])
        kept = [one for one in ranked[:keep] if one is ranked[0] or central_score(scores[one.name]) >= first - near]
        for one in (one for one in ranked if one not in kept):
            runs = sum(name == one.name for name, _, _ in trial.runs)
            dropped.append(Dropped(one.name, runs, self._why(one.name, central_score(scores[one.name]), best, trial)))
        return kept

    def _rank(self, one: Candidate, scores: Mapping[int, float], trial: Trial) -> tuple[float, float]:
        return self._violation(one.name, trial), _FOR_A_CHANGE * one.changed - central_score(scores)

    def _violation(self, name: str, trial: Trial) -> float:
        """The largest violation of a limit, rounded: a small one, which another seed could fix, does not count."""
        found = [one.violation for one in check(trial, name, self.limits, self.environment)]
        return max([0.0, *(round(value, 1) if math.isfinite(value) else value for value in found)])

    def _why(self, name: str, own: float, best: float, trial: Trial) -> str:
        if name in trial.failures and not math.isfinite(own):
            return f"its runs do not count ({trial.failures[name][0]})"
        broken = [one for one in check(trial, name, self.limits, self.environment) if not one.met]
        parts = [
            f"it breaks the limit {one.limit.text}" + _measured(one.median, one.limit.measure.unit) for one in broken
        ]
        if math.isfinite(own):
            parts.append(f"its score was {-percent_of(own - best):.1f} % below the best one's")
        return " and ".join(parts)


def _measured(value: float | None, unit: str) -> str:
    return "" if value is None else f" ({value:.3g} {unit})".replace(" )", ")")

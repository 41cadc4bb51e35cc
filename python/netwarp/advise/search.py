"""Successive halving over seeds: many candidates with few runs, the best of them with more, the last with new seeds.

A clear loser costs a run or two (K. Jamieson, A. Talwalkar: Non-stochastic Best Arm Identification and Hyperparameter
Optimization, AISTATS 2016). Who is dropped is decided by estimates, without a claim; claims are made about finalists
alone, from seeds that nobody was chosen by.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.advise.candidates import Candidate
from netwarp.advise.criteria import Limit
from netwarp.advise.environment import Environment
from netwarp.advise.judgement import central_score, check, percent_of, robust_scores
from netwarp.advise.situations import Situation
from netwarp.advise.trial import Laboratory, Trial

_FIRST_SITUATIONS = ("as described", "rate drop")
_FOR_A_CHANGE = math.log(1.005)
"""By how much better a candidate must be for each thing more that it changes, where seeds are too few to tell."""


@dataclass(frozen=True)
class Effort:
    """How many finalists there are, with how many seeds they are judged, and with how many flips are looked for."""

    finalists: int = 4
    seeds: int = 8
    flip_seeds: int = 2


EFFORTS: Mapping[str, Effort] = {
    "quick": Effort(3, 6, 1),
    "usual": Effort(),
    "thorough": Effort(6, 16, 4),
}


@dataclass(frozen=True)
class Dropped:
    """A candidate that was not judged to the end: after how many runs, and why."""

    name: str
    runs: int
    why: str


@dataclass(frozen=True)
class Found:
    """What the search ends with: the finalists (what is there now is the first), their runs, and who was dropped.

    `screened` are all runs before, `seeds` those of the finalists.
    """

    finalists: tuple[Candidate, ...]
    trial: Trial
    screened: Trial
    dropped: tuple[Dropped, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """All that stays the same while candidates are searched."""

    environment: Environment
    situations: Sequence[Situation]
    weights: Mapping[str, float]
    limits: Sequence[Limit]
    laboratory: Laboratory
    effort: Effort

    def run(self, candidates: Sequence[Candidate]) -> Found:
        """Screen all candidates, then judge the best. The first candidate is what is there now, and stays."""
        now, others = candidates[0], list(candidates[1:])
        screened, dropped = Trial(), list[Dropped]()
        first = [one for one in self.situations if one.name in _FIRST_SITUATIONS]
        later = [one for one in self.situations if one.name not in _FIRST_SITUATIONS]
        seed = 1
        if len(others) > 2 * self.effort.finalists:
            screened.add(self.laboratory.run("screening 1", [now, *others], first, [seed]))
            keep = max(2 * self.effort.finalists, len(others) // 3)
            others = self._best(others, screened, first, keep, dropped)
            # Under the same seed, what is left of the situations.
            if later:
                screened.add(self.laboratory.run("screening 2", [now, *others], later, [seed]))
        if len(others) > self.effort.finalists:
            situations = self.situations if screened.made else first
            if not screened.made:
                screened.add(self.laboratory.run("screening", [now, *others], first, [seed]))
            others = self._best(others, screened, situations, self.effort.finalists, dropped)
        finalists = (now, *others)
        seeds = tuple(range(seed + 1, seed + 1 + self.effort.seeds))
        trial = self.laboratory.run("final", finalists, self.situations, seeds)
        if spare := self._spare(finalists, trial, seeds):
            trial.add(self.laboratory.run("final, further seeds", finalists, self.situations, spare))
        return Found(finalists, trial, screened, tuple(dropped), (*seeds, *spare))

    def _spare(self, finalists: Sequence[Candidate], trial: Trial, seeds: Sequence[int]) -> tuple[int, ...]:
        """New seeds in place of those that lack a run that counts, half as many again at most.

        A suspect run would otherwise cost its whole seed, and with few seeds the verdict.
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
    ) -> list[Candidate]:
        """The best so many: those that break no limit by much before those that do, then by their score."""
        scores = robust_scores(trial, [one.name for one in candidates], situations, self.environment, self.weights)
        ranked = sorted(candidates, key=lambda one: self._rank(one, scores[one.name], trial))
        best = max(central_score(one) for one in scores.values())
        for one in ranked[keep:]:
            runs = sum(name == one.name for name, _, _ in trial.runs)
            dropped.append(Dropped(one.name, runs, self._why(one.name, central_score(scores[one.name]), best, trial)))
        return list(ranked[:keep])

    def _rank(self, one: Candidate, scores: Mapping[int, float], trial: Trial) -> tuple[float, float]:
        return self._violation(one.name, trial), _FOR_A_CHANGE * one.changed - central_score(scores)

    def _violation(self, name: str, trial: Trial) -> float:
        """By how much it breaks limits, beyond what another seed could fix."""
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

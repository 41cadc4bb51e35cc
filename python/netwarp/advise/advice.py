"""The advice: from a question to a choice, with its evidence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netwarp.advise.candidates import NOW, Candidate
from netwarp.advise.commands import Commands, cannot_change, commands_of
from netwarp.advise.criteria import MEASURES
from netwarp.advise.environment import Environment
from netwarp.advise.errors import NoCandidateError
from netwarp.advise.flip import Flip, FlipSearch
from netwarp.advise.judgement import (
    Difference,
    Effect,
    LimitCheck,
    Standing,
    central_score,
    check,
    differences,
    percent_of,
    robust_scores,
)
from netwarp.advise.prepared import Prepared, prepare
from netwarp.advise.question import Question
from netwarp.advise.search import Dropped, Found, Search
from netwarp.advise.situations import AS_DESCRIBED, Situation
from netwarp.advise.trial import Laboratory, Trial
from netwarp.stats.effect_size import paired_shift

_FAR_BELOW = 0.1
"""A seed whose score is lower by more than this share causes a warning."""
_RIVALS = 1
"""The number of runners-up, beside the present configuration, that may take over in a changed environment."""
_TIED_PCT = 2.0
"""A candidate that is too close to call ties with the best up to this difference: a larger one may be real."""
_STARVED_SHARE = 0.1
"""A bulk flow with less than this part of its equal share counts as starved."""


@dataclass(frozen=True)
class Place:
    """A candidate's measures in the environment as described (means over seeds), and the number of its seeds."""

    name: str
    score: float
    values: Mapping[str, float]
    seeds: int
    finalist: bool


@dataclass(frozen=True)
class Advice:
    """The choice and its evidence. Differences are of robust scores, effects are in the environment as described.

    `standings` compares the choice with every other finalist, `against_now` with the present configuration (None if
    that is the choice), `tied` are candidates that did as well. `commands` apply the choice and revert it.
    """

    environment: Environment
    goal: str
    weights: Mapping[str, float]
    choice: Candidate
    standings: tuple[Difference, ...]
    against_now: Difference | None
    tied: tuple[str, ...]
    effects: tuple[Effect, ...]
    limits: tuple[LimitCheck, ...]
    places: tuple[Place, ...]
    dropped: tuple[Dropped, ...]
    rejected: tuple[tuple[str, str], ...]
    flips: tuple[Flip, ...]
    warnings: tuple[str, ...]
    situations: tuple[Situation, ...]
    worst: Mapping[str, tuple[str, float]]
    commands: Commands
    cannot_change: str
    seeds: tuple[int, ...]
    runs: int

    @property
    def close(self) -> list[Difference]:
        """The finalists than which the choice is not better: too close to call, or the same."""
        return [one for one in self.standings if one.standing in (Standing.CLOSE, Standing.SAME)]


def advise(question: Question, laboratory: Laboratory) -> Advice:
    """Check the question, search, judge, choose, and look for flips.

    Raises AdviceError if the question cannot be answered, NoCandidateError if no candidate meets its limits;
    ScenarioError, StoreError, EngineError.
    """
    return conclude(prepare(question, laboratory.engine), laboratory)


def conclude(asked: Prepared, laboratory: Laboratory) -> Advice:
    """Answer a question that was prepared. Raises the errors of `advise`."""
    question, environment, weights = asked.question, asked.environment, asked.weights
    search = Search(environment, asked.size, weights, asked.limits, laboratory)
    found = search.run(asked.candidates)
    names = [one.name for one in found.finalists]
    scores = robust_scores(found.trial, names, found.situations, environment, weights)
    checks = {name: check(found.trial, name, asked.limits, environment) for name in names}
    meeting = [one for one in found.finalists if scores[one.name] and all(kept.met for kept in checks[one.name])]
    if not meeting:
        raise NoCandidateError(_nearest(checks, scores))
    pairs = differences({name: scores[name] for name in names if scores[name]})
    choice, tied = _choose(meeting, scores, pairs)
    chosen = choice.name
    standings = [pairs[chosen, name] for name in names if (chosen, name) in pairs]
    flips: list[Flip] = []
    if question.flips and len(meeting) > 1:
        rivals = sorted((one for one in meeting if one is not choice), key=lambda one: -central_score(scores[one.name]))
        rivals = [one for at, one in enumerate(rivals) if at < _RIVALS or one.name == NOW]
        flips = FlipSearch(environment, weights, laboratory, question.effort.flip_seeds).run(choice, rivals)
    return Advice(
        environment=environment,
        goal=question.goal,
        weights=weights,
        choice=choice,
        standings=tuple(sorted(standings, key=lambda one: one.percent)),
        against_now=pairs.get((chosen, NOW)),
        tied=tied,
        effects=tuple(_effects(found.trial, chosen, environment)),
        limits=tuple(checks[chosen]),
        places=tuple(_places(found, asked.candidates, search)),
        dropped=found.dropped,
        rejected=tuple(_rejected(names, checks, scores, found.trial)),
        flips=tuple(flips),
        warnings=tuple(_warnings(found, chosen, checks[chosen], scores[chosen], environment)),
        situations=found.situations,
        worst=_worst(found.trial, names, found.situations, environment, weights),
        commands=commands_of(choice, environment, question.device, question.present, question.overhead),
        cannot_change="" if chosen == NOW else cannot_change(environment),
        seeds=found.seeds,
        runs=found.screened.made + found.trial.made,
    )


def _choose(
    meeting: Sequence[Candidate],
    scores: Mapping[str, Mapping[int, float]],
    pairs: Mapping[tuple[str, str], Difference],
) -> tuple[Candidate, tuple[str, ...]]:
    """Choose the present configuration, unless the candidate with the highest score is better; then choose the most
    preferred one (`Candidate.preference`) of those that tie with it. Return also the names of the others that tie."""
    best = max(meeting, key=lambda one: central_score(scores[one.name]))
    now = next((one for one in meeting if one.name == NOW), None)
    if now is not None and now is not best and pairs[best.name, NOW].standing is not Standing.BETTER:
        return now, ()
    ties = [one for one in meeting if one is best or (one is not now and _is_tie(pairs[best.name, one.name]))]
    choice = min(ties, key=lambda one: (one.preference, -central_score(scores[one.name])))
    if (
        now is not None
        and choice is not best
        and choice is not now
        and pairs[choice.name, NOW].standing is not Standing.BETTER
    ):
        choice = best
    return choice, tuple(one.name for one in ties if one is not choice)


def _is_tie(one: Difference) -> bool:
    """Whether a difference is within noise: the same, or too close to call and small."""
    return one.standing is Standing.SAME or (one.standing is Standing.CLOSE and abs(one.percent) <= _TIED_PCT)


def _nearest(checks: Mapping[str, Sequence[LimitCheck]], scores: Mapping[str, Mapping[int, float]]) -> str:
    if not any(scores.values()):
        return "no candidate has runs that count; the reasons are in the results' status.json"
    judged = [name for name in checks if scores[name]]
    name = min(judged, key=lambda one: (max(check.violation for check in checks[one]), -central_score(scores[one])))
    missed = [one for one in checks[name] if not one.met]
    words = " and ".join(
        f"{one.limit.measure.name} {_value(one.median)} {one.limit.measure.unit}".rstrip()
        + f" where {one.limit.text} is asked for"
        for one in missed
    )
    return f"no candidate meets the limits; the nearest is {name}: {words}"


def _value(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3g}"


def _effects(trial: Trial, chosen: str, environment: Environment) -> list[Effect]:
    """Compare every measure of the choice with the present configuration, seed by seed."""
    now, then = trial.seeds(NOW, AS_DESCRIBED), trial.seeds(chosen, AS_DESCRIBED)
    found = []
    for measure in (one for one in MEASURES.values() if one.name != "goodput"):
        pairs = [
            (a, b)
            for seed in sorted(set(now) & set(then))
            if (a := measure.of(now[seed], environment)) is not None and math.isfinite(a)
            and (b := measure.of(then[seed], environment)) is not None and math.isfinite(b)
        ]  # fmt: skip
        if not pairs:
            continue
        before, after = np.array(pairs).T
        shift = paired_shift(after - before)
        medians = float(np.median(before)), float(np.median(after))
        change = (shift.estimate, shift.low, shift.high, shift.confidence)
        found.append(Effect(measure.name, measure.words, measure.unit, measure.higher, *medians, *change))
    return found


def _places(found: Found, candidates: Sequence[Candidate], search: Search) -> list[Place]:
    """Every candidate that ran: finalists with the seeds of the final, others with those of the screening."""
    finalists = {one.name for one in found.finalists}
    places = []
    for one in candidates:
        trial = found.trial if one.name in finalists else found.screened
        runs = trial.seeds(one.name, AS_DESCRIBED)
        values: dict[str, float] = {}
        for measure in MEASURES.values():
            known = [value for run in runs.values() if (value := measure.of(run, search.environment)) is not None]
            if known:
                values[measure.name] = sum(known) / len(known)
        if values:
            scores = robust_scores(trial, [one.name], search.situations, search.environment, search.weights)
            places.append(Place(one.name, central_score(scores[one.name]), values, len(runs), one.name in finalists))
    return sorted(places, key=lambda place: (not place.finalist, -place.score))


def _rejected(
    names: Sequence[str],
    checks: Mapping[str, Sequence[LimitCheck]],
    scores: Mapping[str, Mapping[int, float]],
    trial: Trial,
) -> list[tuple[str, str]]:
    """The finalists that cannot be chosen, and why."""
    found = []
    for name in names:
        if not scores[name]:
            reason = trial.failures.get(name, ["they were not executed"])[0]
            found.append((name, f"its runs do not count ({reason})"))
        for one in checks[name]:
            if not one.met and scores[name]:
                measured = f"{one.limit.measure.name} is {_value(one.median)} {one.limit.measure.unit}".rstrip()
                found.append((name, f"it breaks the limit {one.limit.text}: {measured}"))
    return found


def _worst(
    trial: Trial,
    names: Sequence[str],
    situations: Sequence[Situation],
    environment: Environment,
    weights: Mapping[str, float],
) -> dict[str, tuple[str, float]]:
    """Find the situation in which each finalist is furthest behind the best one, and by how many percent."""
    behind: dict[str, tuple[str, float]] = {}
    for situation in situations:
        scores = robust_scores(trial, names, [situation], environment, weights)
        means = {name: central_score(scores[name]) for name in names if scores[name]}
        best = max(means.values(), default=0.0)
        for name, value in means.items():
            gap = -percent_of(value - best)
            if name not in behind or gap > behind[name][1]:
                behind[name] = (situation.name, gap)
    return behind


def _warnings(
    found: Found,
    chosen: str,
    checks: Sequence[LimitCheck],
    scores: Mapping[int, float],
    environment: Environment,
) -> list[str]:
    """Warn about the choice: limits that some seeds break, seeds under which it is far worse than usual, starved flows,
    and runs that do not count."""
    warnings = [
        f"the limit {one.limit.text} is broken under {one.broken} of {one.seeds} seeds" for one in checks if one.broken
    ]
    usual = central_score(scores)
    if odd := [seed for seed, value in scores.items() if value < usual + math.log(1 - _FAR_BELOW)]:
        behind = max(-percent_of(scores[seed] - usual) for seed in odd)
        warnings.append(
            f"under {len(odd)} of {len(scores)} seeds its score is up to {behind:.0f} % below what it usually is "
            "(flows that share a bucket of a fair queue, for instance)"
        )
    starved: dict[str, set[int]] = {}
    runs = found.trial.runs
    for (name, situation, seed), values in runs.items():
        if name == chosen and _starves(values, environment):
            starved.setdefault(situation, set()).add(seed)
    total = len(found.seeds)
    warnings += [
        f'"{situation}": a bulk flow gets less than a tenth of its equal share under {len(seeds)} of {total} seeds'
        for situation, seeds in starved.items()
    ]
    bad = found.trial.failures.get(chosen, [])
    warnings += [f"{len(bad)} of its runs do not count, the first: {bad[0]}"] if bad else []
    return warnings


def _starves(values: Mapping[tuple[str, str], float], environment: Environment) -> bool:
    for group in (*environment.roles.bulk, *environment.roles.upload):
        shares = [
            value
            for (name, metric), value in values.items()
            if metric == "goodput_mbps" and name.startswith(f"{group}.")
        ]
        if len(shares) > 1 and min(shares) < _STARVED_SHARE * sum(shares) / len(shares):
            return True
    return False

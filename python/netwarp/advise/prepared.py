"""A question that was checked before the first run: its goal, limits, candidates and situations, and the size of the
search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.advise.candidates import Candidate, candidates_of
from netwarp.advise.catalogue import read_catalogue
from netwarp.advise.criteria import Limit, check_limits, parse_goal, parse_limit
from netwarp.advise.energy import with_energy
from netwarp.advise.environment import Environment
from netwarp.advise.meter import time_words
from netwarp.advise.question import Question
from netwarp.advise.situations import AS_DESCRIBED, Situation, scenario_of, situations_of
from netwarp.advise.sizing import Size, cost_s, size_of
from netwarp.common import quantities
from netwarp.engines import Engine, identity_of, refuse_unsupported, refuse_withheld
from netwarp.execute.processors import processors
from netwarp.plan import make_plan
from netwarp.values.units import parse_duration

_FLIP_POINTS = 7


@dataclass(frozen=True)
class Prepared:
    """Everything that a search needs, all of which has been checked."""

    question: Question
    environment: Environment
    weights: Mapping[str, float]
    limits: Sequence[Limit]
    candidates: Sequence[Candidate]
    size: Size
    cost_s: float
    """The approximate CPU seconds of a run."""

    @property
    def flip_runs(self) -> int:
        """The approximate number of runs of the search for flips: both ends of two properties and one of a third, three
        candidates, and some bisection."""
        return _FLIP_POINTS * 3 * self.question.effort.flip_seeds if self.question.flips else 0

    def announcement(self, jobs: int | None) -> str:
        """Return a sentence about the maximum number of runs, and the approximate time that they take."""
        runs = self.size.runs + self.flip_runs
        workers = jobs or len(processors())
        lasts = self.environment.document["duration"]
        return (
            f"{len(self.candidates) - 1} candidates in {len(self.size.situations)} situations: at most {runs} runs of "
            f"{quantities.duration(parse_duration(lasts), 3)}, about {time_words(runs * self.cost_s / workers)} with "
            f"{workers} at once; less if the answer is clear earlier"
        )


def prepare(question: Question, engine: Engine) -> Prepared:
    """Check everything: the goal, the limits, each candidate and each situation, as the engine would run them.

    Raises AdviceError, ScenarioError, StoreError, EngineError.
    """
    environment = question.environment
    weights = parse_goal(question.goal, environment)
    limits = [parse_limit(text) for text in question.limits]
    if "energy" in (*weights, *(limit.measure.name for limit in limits)):
        environment = with_energy(environment)
    check_limits(limits, environment)
    candidates = candidates_of(environment, read_catalogue(question.candidates), question.changes)
    size = size_of(question.effort, environment, len(candidates) - 1, situations_of(environment))
    for situation in size.situations:
        # A candidate has the same settings in every situation.
        _check(situation, candidates if situation.name == AS_DESCRIBED else candidates[:1], engine)
    return Prepared(question, environment, weights, limits, candidates, size, cost_s(environment))


def _check(situation: Situation, candidates: Sequence[Candidate], engine: Engine) -> None:
    cases = {one.name: one.settings for one in candidates}
    scenario = scenario_of(situation.document, cases, situation.name)
    refuse_withheld(scenario, engine)
    refuse_unsupported(make_plan(scenario, [1], None, identity_of(engine, scenario)), engine)

"""The search for flips: how far a property of the environment may move before another finalist is ahead.

Each property is moved to both ends of a range, in the environment as described otherwise. If another finalist is ahead
there by 2 % or more, the flip is narrowed down by bisection. These are estimates from few seeds, without a claim.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from netwarp.advise.candidates import Candidate
from netwarp.advise.criteria import MIN_EFFECT
from netwarp.advise.environment import FULL_FRAME_BITS, MINE, Environment
from netwarp.advise.judgement import central_score, percent_of, robust_scores
from netwarp.advise.situations import AS_DESCRIBED, Situation, moved
from netwarp.advise.trial import Laboratory
from netwarp.common import quantities
from netwarp.values.json_values import Json
from netwarp.values.units import format_percent

_FACTOR = 4.0
_STEPS = 3
_LOSSES = (0.001, 0.03)
_SEED = 1001
"""The first seed for flips, far from the seeds of the search."""


@dataclass(frozen=True)
class Flip:
    """The effect of moving one property one way: it was tried up to `limit`, and `winner` took over in between.

    `last` is the last value at which the choice was still ahead (the value as described if there is none), `first` the
    first tried at which the winner was ahead by `percent`; both are words. Without a flip `winner` is None.
    """

    property: str
    limit: str
    winner: str | None = None
    last: str = ""
    first: str = ""
    percent: float = 0.0

    def __str__(self) -> str:
        """The flip as a sentence."""
        if self.winner is None:
            return f"{self.property}: no flip between the value as described and {self.limit}"
        return (
            f"{self.property}: {self.winner} takes over between {self.last} and {self.first}, where it is "
            f"{self.percent:.0f} % ahead"
        )


@dataclass(frozen=True)
class _Property:
    """A property that moves: its name, its position, its ends, its value in words, and the scenario with that value.

    Positions are logarithms of values, so that the middle of two is their geometric mean.
    """

    name: str
    here: float
    ends: tuple[float, ...]
    words: Callable[[float], str]
    document: Callable[[float], dict[str, Json]]


@dataclass(frozen=True)
class FlipSearch:
    """A search for flips: everything that stays the same during it."""

    environment: Environment
    weights: Mapping[str, float]
    laboratory: Laboratory
    seeds: int

    def run(self, choice: Candidate, rivals: Sequence[Candidate]) -> list[Flip]:
        """Move every property both ways."""
        return [
            self._flip(one, end, choice, rivals)
            for one in _properties(self.environment, choice)
            for end in one.ends
        ]  # fmt: skip

    def _flip(self, one: _Property, end: float, choice: Candidate, rivals: Sequence[Candidate]) -> Flip:
        winner, ahead = self._winner(one, end, choice, rivals)
        if winner is None:
            return Flip(one.name, one.words(end))
        last, first = one.here, end
        for _ in range(_STEPS):
            middle = (last + first) / 2
            found, by = self._winner(one, middle, choice, rivals)
            if found is None:
                last = middle
            else:
                first, winner, ahead = middle, found, by
        return Flip(one.name, one.words(end), winner, one.words(last), one.words(first), percent_of(ahead))

    def _winner(
        self, one: _Property, at: float, choice: Candidate, rivals: Sequence[Candidate]
    ) -> tuple[str | None, float]:
        """The rival that is ahead of the choice there by enough to matter, and by how many percent; None if none is."""
        situation = Situation(AS_DESCRIBED, one.words(at), 1.0, one.document(at))
        seeds = range(_SEED, _SEED + self.seeds)
        trial = self.laboratory.run(f"flip {one.name} {one.words(at)}", [choice, *rivals], [situation], seeds)
        names = [choice.name, *(rival.name for rival in rivals)]
        scores = robust_scores(trial, names, [situation], self.environment, self.weights)
        best = max(names[1:], key=lambda name: central_score(scores[name]))
        ahead = central_score(scores[best]) - central_score(scores[choice.name])
        return (best, ahead) if ahead >= MIN_EFFECT else (None, 0.0)


def _properties(environment: Environment, choice: Candidate) -> list[_Property]:
    found = []
    factors = (-math.log(_FACTOR), math.log(_FACTOR))
    if environment.rates_bps is not None:
        rate_bps = environment.rates_bps[0]
        found.append(
            _Property(
                "rate", 0.0, factors, lambda at: quantities.rate(rate_bps * math.exp(at), 3),
                lambda at: moved(environment, rate=math.exp(at)),
            )
        )  # fmt: skip
    if environment.rtt_ns:
        rtt_ns = environment.rtt_ns
        found.append(
            _Property(
                "RTT", 0.0, factors, lambda at: quantities.duration(rtt_ns * math.exp(at), 3),
                lambda at: moved(environment, rtt=math.exp(at)),
            )
        )  # fmt: skip
    least = max(environment.loss, _LOSSES[0])
    if least < _LOSSES[1]:
        found.append(
            _Property(
                "loss", math.log(least), (math.log(_LOSSES[1]),), lambda at: format_percent(round(math.exp(at), 5)),
                lambda at: moved(environment, loss=math.exp(at)),
            )
        )  # fmt: skip
    fixed = choice.queues is None or environment.queue_is != MINE
    if fixed and environment.rates_bps is not None and environment.rtt_ns:
        found.append(_buffer(environment))
    return found


def _buffer(environment: Environment) -> _Property:
    """The size of a queue that stays as it is: from a quarter of a BDP to 16 BDP, as a FIFO."""
    rate = environment.rates_bps[0] if environment.rates_bps else 0
    bdp = max(rate * environment.rtt_ns / 1e9 / FULL_FRAME_BITS, 4.0)

    def packets(at: float) -> int:
        return max(round(math.exp(at)), 2)

    return _Property(
        "buffer", math.log(bdp), (math.log(bdp / 4), math.log(16 * bdp)), lambda at: f"{packets(at)} packets",
        partial(_with_buffer, environment, packets),
    )  # fmt: skip


def _with_buffer(environment: Environment, packets: Callable[[float], int], at: float) -> dict[str, Json]:
    return moved(environment, queue=f"pfifo limit {packets(at)}")

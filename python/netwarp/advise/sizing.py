"""The size of a search: the number of runs is chosen so that it takes a few minutes, whatever a run costs.

The cost of a run follows from the packets that the line carries. The least informative parts are given up first: seeds
beyond the six that a claim needs, then finalists, then situations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.advise.environment import FULL_FRAME_BITS, Environment
from netwarp.advise.situations import AS_DESCRIBED, Situation
from netwarp.values.units import parse_duration

_START_S, _PACKET_S, _EXTRA_LINK = 0.30, 7.0e-6, 0.15
"""CPU seconds of a run without traffic and of a full frame that crosses two links (measured on 2.5 GHz), and the share
of it that each further link adds."""
_LINKS = 2
_LEAST_SEEDS = 6
"""The fewest seeds that allow a claim: all six are on one side with a probability of 1/32."""
_LEAST_SITUATIONS = 2
_ORDER = (
    AS_DESCRIBED,
    "competing CUBIC",
    "smaller pipe",
    "unresponsive sender",
    "rate drop",
    "larger pipe",
)  # fmt: skip
"""The situations, the most informative first: the last one is left out first."""
_SECOND = ("rate drop", "competing CUBIC")
"""All candidates run in the first of these situations that exists, beside the environment as described."""


@dataclass(frozen=True)
class Effort:
    """Limits of a search: finalists, their seeds, seeds for flips, runs, and CPU seconds."""

    finalists: int = 4
    seeds: int = 8
    flip_seeds: int = 2
    runs: int = 200
    cpu_s: float = 450.0


EFFORTS: Mapping[str, Effort] = {
    "quick": Effort(3, 6, 1, 120, 150.0),
    "usual": Effort(),
    "thorough": Effort(6, 16, 4, 2000, 4000.0),
}


@dataclass(frozen=True)
class Size:
    """The size of a search: the situations in which all candidates run, all situations, the number of candidates that
    are kept after the first round, the maximum number of finalists, the number of their seeds, and the total of runs.

    `by_queue`: in the first round every queue runs with one control only.
    """

    first: tuple[Situation, ...]
    situations: tuple[Situation, ...]
    keep: int
    finalists: int
    seeds: int
    runs: int
    by_queue: bool = False


def cost_s(environment: Environment) -> float:
    """Estimate the CPU seconds of a run."""
    duration_s = parse_duration(environment.document["duration"]) / 1e9
    packets = sum(_carried_bps(environment)) * duration_s / FULL_FRAME_BITS
    more = 1 + _EXTRA_LINK * max(len(environment.document["links"]) - _LINKS, 0)
    return _START_S + packets * _PACKET_S * more


def _carried_bps(environment: Environment) -> tuple[float, float]:
    """The rate that the line carries in each direction, including ACKs, as full frames."""
    down, up = environment.usual_bps
    greedy = bool(environment.roles.bulk or environment.roles.web)
    return (down if greedy else down / 4), (up if environment.roles.upload else min(up, down / 2))


def size_of(effort: Effort, environment: Environment, candidates: int, situations: Sequence[Situation]) -> Size:
    """Return the largest search within the effort's runs and CPU time; the smallest search if none is."""
    most = min(effort.runs, effort.cpu_s / cost_s(environment))
    ordered = sorted(situations, key=lambda one: _ORDER.index(one.name) if one.name in _ORDER else len(_ORDER))
    sizes = _Grid(candidates, ordered).sizes(effort)
    return next((one for one in sizes if one.runs <= most), sizes[-1])


@dataclass(frozen=True)
class _Grid:
    """The possible sizes for a number of candidates and situations, the most informative situation first."""

    candidates: int
    ordered: Sequence[Situation]

    def sizes(self, effort: Effort) -> Sequence[Size]:
        """The sizes from the largest to the smallest."""
        many = len(self.ordered)
        least = min(_LEAST_SITUATIONS, many)
        seeds = sorted({effort.seeds, min(effort.seeds, _LEAST_SEEDS)}, reverse=True)
        found = [
            self.size(many, firsts, finalists, some)
            for finalists in range(effort.finalists, 0, -1)
            for some in seeds
            for firsts in (2, 1)
        ]
        found += [
            self.size(fewer, 1, finalists, seeds[-1])
            for fewer in range(many - 1, least - 1, -1)
            for finalists in range(min(effort.finalists, 3), 0, -1)
        ]
        found.sort(key=lambda one: (-len(one.situations), -one.runs))
        return [*found, self.size(least, 1, 1, seeds[-1], by_queue=True)]

    def size(self, many: int, firsts: int, finalists: int, seeds: int, *, by_queue: bool = False) -> Size:
        """Return the size with the first `many` situations; all candidates run in `firsts` of them."""
        used, candidates = tuple(self.ordered[:many]), self.candidates
        second = [one for name in _SECOND for one in used if one.name == name][: firsts - 1]
        first = (*(one for one in used if one.name == AS_DESCRIBED), *second)
        if candidates <= finalists:
            return Size(first, used, candidates, candidates, seeds, (candidates + 1) * many * seeds)
        keep = max(2 * finalists, min(candidates // 3, 3 * finalists))
        begun = candidates * 2 // 3 if by_queue else candidates
        screening = (begun + 1) * len(first)
        if candidates > 2 * finalists:
            screening += (keep + 1) * (many - len(first))
        else:
            keep = candidates
        return Size(first, used, keep, finalists, seeds, screening + (finalists + 1) * many * seeds, by_queue)

"""The smallest buffer that keeps 98 % of the throughput, for each control and path.

A first round has sizes from 1/20 to 3.2 bandwidth-delay products, each twice the one before. Then the step between the
smallest that keeps the throughput and the next one below is halved, twice. Sizes are in BDPs of each path, so that they
change with the path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from netwarp.advise.candidates import Candidate
from netwarp.advise.catalogue import Catalogue, Control
from netwarp.advise.criteria import goodput_mbps, rtt_p95_ms
from netwarp.advise.environment import FULL_FRAME_BITS, MINE, Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.situations import AS_DESCRIBED, Situation, scenario_of, situations_of
from netwarp.advise.trial import Laboratory, Trial
from netwarp.lab.build import build_lab
from netwarp.plan import make_plan
from netwarp.values.json_values import Json
from netwarp.values.qdisc import Qdisc

CHANGE = "buffer"
KEPT = 0.98
SIZES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_STEPS = 2
_SEEDS = (1, 2)
_PATHS = (AS_DESCRIBED, "smaller pipe", "larger pipe")


@dataclass(frozen=True)
class Point:
    """A buffer that was tried: its size in BDP, and over the seeds the medians of goodput and of the RTT's p95."""

    bdp: float
    goodput_mbps: float
    rtt_p95_ms: float | None


@dataclass(frozen=True)
class Smallest:
    """The smallest buffer of a control on a path that keeps the throughput.

    `packets` and `ms` are the same size as the lab had it, `below` is the largest size that was tried and did not keep
    the throughput (None if all did), `points` are all sizes that were tried, in ascending order.
    """

    control: str
    path: str
    words: str
    bdp: float
    packets: int
    ms: float
    below: float | None
    points: tuple[Point, ...]

    @property
    def at(self) -> Point:
        """The measurements with it."""
        return next(one for one in self.points if one.bdp == self.bdp)

    @property
    def share(self) -> float:
        """Its goodput as a share of the highest one of any size."""
        return self.at.goodput_mbps / max(one.goodput_mbps for one in self.points)


@dataclass(frozen=True)
class BufferSearch:
    """A search for the smallest buffers: everything that stays the same while buffers are tried."""

    environment: Environment
    controls: Sequence[Control]
    paths: Sequence[Situation]
    laboratory: Laboratory

    @property
    def runs(self) -> int:
        """The number of runs."""
        return (len(SIZES) + _STEPS) * len(self.controls) * len(self.paths) * len(_SEEDS)

    def run(self) -> list[Smallest]:
        """Try sizes for each control on each path. Raises AdviceError, ScenarioError, StoreError, EngineError."""
        candidates = [self._candidate(control, size) for control in self.controls for size in SIZES]
        trial = self.laboratory.run("buffers", candidates, self.paths, _SEEDS)
        sizes = {(control.name, path.name): list(SIZES) for control in self.controls for path in self.paths}
        for step in range(1, _STEPS + 1):
            for path in self.paths:
                between = {}
                for control in self.controls:
                    points = self._points(trial, control, path, sizes[control.name, path.name])
                    if (size := _between(points)) is not None:
                        between[control.name] = self._candidate(control, size)
                        sizes[control.name, path.name].append(size)
                if between:
                    narrower = self.laboratory.run(f"buffers, step {step}", list(between.values()), [path], _SEEDS)
                    trial.add(narrower)
        return [
            self._smallest(control, path, self._points(trial, control, path, sizes[control.name, path.name]))
            for path in self.paths
            for control in self.controls
        ]

    def _candidate(self, control: Control, size: float) -> Candidate:
        queue = f"pfifo limit {size:g}BDP"
        settings: dict[str, Json] = {f"flows.{name}.cc": control.cc for name in self.environment.roles.controlled}
        settings[f"links.{self.environment.link}.queue"] = {"forward": queue, "reverse": queue}
        return Candidate(f"{control.name}, {size:g} BDP", settings, control=control.cc, queues=(queue, queue))

    def _points(self, trial: Trial, control: Control, path: Situation, sizes: Sequence[float]) -> list[Point]:
        found = []
        for size in sorted(sizes):
            runs = list(trial.seeds(self._candidate(control, size).name, path.name).values())
            goodputs = [value for one in runs if (value := goodput_mbps(one, self.environment)) is not None]
            rtts = [value for one in runs if (value := rtt_p95_ms(one, self.environment)) is not None]
            if goodputs:
                found.append(Point(size, median(goodputs), median(rtts) if rtts else None))
        if not found:
            raise AdviceError(f"no run of {control.name} counts; the reasons are in the results' status.json")
        return found

    def _smallest(self, control: Control, path: Situation, points: Sequence[Point]) -> Smallest:
        chosen, below = _kept(points)
        packets = self._packets(control, path, chosen.bdp)
        rate = self._rate(path)
        ms = packets * FULL_FRAME_BITS / rate * 1e3
        return Smallest(control.name, path.name, path.words, chosen.bdp, packets, ms, below, tuple(points))

    def _packets(self, control: Control, path: Situation, size: float) -> int:
        """The limit of the forward queue in the lab, in packets."""
        candidate = self._candidate(control, size)
        (run,) = make_plan(scenario_of(path.document, {candidate.name: candidate.settings}, path.name), [1])
        link = next(one for one in build_lab(run).links if one.name == self.environment.link)
        queue = Qdisc.of(link.ends[0].queue)
        return int((queue.option("limit") if queue is not None else None) or 0)

    def _rate(self, path: Situation) -> float:
        low, high = self.environment.rate_spread
        factor = {"smaller pipe": low, "larger pipe": high}.get(path.name, 1.0)
        return self.environment.usual_bps[0] * factor


def _kept(points: Sequence[Point]) -> tuple[Point, float | None]:
    """The smallest size that keeps the throughput, and the largest below it."""
    enough = KEPT * max(one.goodput_mbps for one in points)
    chosen = next(one for one in points if one.goodput_mbps >= enough)
    lower = [one.bdp for one in points if one.bdp < chosen.bdp]
    return chosen, max(lower) if lower else None


def _between(points: Sequence[Point]) -> float | None:
    """The geometric mean of the smallest size that keeps the throughput and the one below; None if there is none."""
    chosen, below = _kept(points)
    return None if below is None else float(f"{(chosen.bdp * below) ** 0.5:.3g}")


def buffer_search(environment: Environment, catalogue: Catalogue, laboratory: Laboratory) -> BufferSearch:
    """Return the search for an environment: every control that needs no other setting. Raises AdviceError."""
    if not environment.roles.bulk:
        raise AdviceError('the size of a buffer is searched for bulk flows; add them: --traffic "bulk 1, …"')
    if environment.queue_is != MINE:
        raise AdviceError(f"the queue is the {environment.queue_is}'s, so its size cannot be chosen; --queue-is mine")
    controls = [one for one in catalogue.control if not one.sysctl and not one.own_ends]
    paths = [one for one in situations_of(environment) if one.name in _PATHS]
    unlike = [one for at, one in enumerate(paths) if one.document not in [other.document for other in paths[:at]]]
    return BufferSearch(environment, controls, [_named(one) for one in unlike], laboratory)


def _named(one: Situation) -> Situation:
    return replace(one, words=one.words.replace("the environment as it was described", "as described"))


def rows(found: Sequence[Smallest]) -> list[Mapping[str, object]]:
    """The table: a row for each control and path."""
    return [
        {
            "path": f"{one.path}" + (f" ({one.words})" if one.words != one.path else ""),
            "control": one.control,
            "buffer_bdp": one.bdp,
            "packets": one.packets,
            "ms": round(one.ms, 2),
            "too_small_bdp": one.below,
            "goodput_mbps": round(one.at.goodput_mbps, 3),
            "share_pct": round(100 * one.share, 1),
            "rtt_p95_ms": None if one.at.rtt_p95_ms is None else round(one.at.rtt_p95_ms, 1),
        }
        for one in found
    ]

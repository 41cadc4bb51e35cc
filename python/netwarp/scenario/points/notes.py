"""Notes for the author of a valid scenario: cases in which the kernel differs from its documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product

from netwarp.lab_format.wires import PROPERTIES
from netwarp.scenario.check import qdiscs
from netwarp.scenario.check.changes import change_of_queue
from netwarp.scenario.errors import COMMAND_LINE, Problem
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Case, Scenario
from netwarp.scenario.model.timeline import timeline
from netwarp.scenario.points.resolve import Resolver
from netwarp.scenario.points.sweep import Axis, Point, axes_of, cases_of, replaced_cases, with_swept_cases
from netwarp.scenario.source import Keys

Found = tuple[Keys, str]
Finder = Callable[[Scenario], Iterable[Found]]
"""Finds notes on a scenario without sweep and cases, each with the keys of its subject."""

_OF_QUEUES = ("changes", "duration", "jitter", "loss", "queue", "trace", "tuner")
_OF_PATHS = ("cc", "count", "delay", "ends", "forward", "from", "mtu", "offload", "rate", "sysctl", "to", "tool")
_OF_FLOWS = ("arrivals", "datagram_size", "family", "packet_size", "size", "start")
_CONCERNED = frozenset((*_OF_QUEUES, *_OF_PATHS, *_OF_FLOWS))
"""The words of paths on which a note may depend."""


def notes(scenario: Scenario, *finders: Finder, cases: Sequence[str] | None = None) -> list[Problem]:
    """Every note on any point of these cases (None: all cases) once, with its place in the file.

    The place is in the sweep or the case if that sets the note's subject. `finders` are those of later stages, which
    know more about the network.
    """
    replaced: list[Problem] = []
    if cases is None:
        replaced = [_replacement(given, setting) for _, given, setting in replaced_cases(scenario)]
        scenario = with_swept_cases(scenario)
    found: dict[Found, Keys] = {}
    for note, place in _at_every_point(scenario, cases, (_lost_queues, _correlations, _adaptive_red, *finders)):
        found.setdefault(note, place)
    return replaced + problems_at([(place, why) for (_, why), place in found.items()], scenario.source)


def _replacement(given: str, setting: Sequence[Case]) -> Problem:
    names = ", ".join(f'"{case.name}"' for case in setting)
    why = f"its values take the place of the case{'s' * (len(setting) != 1)} {names}"
    return Problem(why, given, None, COMMAND_LINE)


def _at_every_point(
    scenario: Scenario, cases: Sequence[str] | None, finders: Iterable[Finder]
) -> Iterator[tuple[Found, Keys]]:
    """The findings at each point, with their places in the file.

    Axes on which no note depends keep their first value.
    """
    axes = axes_of(scenario)
    resolver = Resolver(scenario, axes)
    ranges = [range(1 if _CONCERNED.isdisjoint(axis.keys) else len(axis.values)) for axis in axes]
    for case in cases_of(scenario, cases):
        for indices in product(*ranges):
            point = Point(case, indices)
            replaced = resolver.replacements(point)
            if replaced is None or resolver.problems:
                return  # the plan reports the problems
            there = resolver.scenario(replaced, scenario.seeds[0])
            for note in (note for find in finders for note in find(there)):
                yield note, _origin(note[0], point, axes, scenario)


def _origin(keys: Keys, point: Point, axes: tuple[Axis, ...], scenario: Scenario) -> Keys:
    """The place in the file of the value at `keys` at this point: in the sweep, in the case, else at `keys` itself."""
    wanted = tuple(map(str, keys))
    for axis in axes:
        if axis.keys[: len(wanted)] == wanted:
            return "sweep", axis.path
    for path in point.case.set if point.case else ():
        if point.case and scenario.keys_of(path)[: len(wanted)] == wanted:
            return "cases", scenario.cases.index(point.case), "set", path
    return keys


def _lost_queues(scenario: Scenario) -> Iterator[Found]:
    """Find changes of queues that lose waiting packets."""
    for name, link in scenario.links.items():
        for direction in range(2):
            for (_, before), (at, after) in pairwise(timeline(scenario, name, direction)):
                why = qdiscs.loss_of_packets(before.queue or "pfifo", after.queue or "pfifo")
                if why:
                    index = change_of_queue(scenario, name, direction, at)
                    yield ("changes", index, "queue"), f"link {name}, {link.ends[direction]}: {why}"


def _correlations(scenario: Scenario) -> Iterator[Found]:
    """Find notes of the wire's properties on their values."""
    for name, link in scenario.links.items():
        for direction in range(2):
            for found in PROPERTIES:
                if note := found.note(getattr(link, found.name).of(direction)):
                    yield ("links", name, found.name), note


def _adaptive_red(scenario: Scenario) -> Iterator[Found]:
    """Find adaptive RED queues, which do not adapt.

    tc passes the flag in TCA_RED_FLAGS (red_parse_opt() in iproute2's q_red.c, here 6.1); the kernel starts the timer
    that adapts max_p by tc_red_qopt.flags alone (__red_change() in sch_red.c).
    """
    for name in scenario.links:
        for direction in range(2):
            if any(_is_adaptive(state.queue) for _, state in timeline(scenario, name, direction)):
                yield (
                    ("links", name, "queue"),
                    "this RED does not adapt: `adaptive` reaches the kernel in an attribute that it shows but does "
                    "not act on, so its probability stays as configured",
                )


def _is_adaptive(queue: str | None) -> bool:
    words = queue.split() if queue else ["pfifo"]
    return words[0] == "red" and not {"adaptive", "adaptative"}.isdisjoint(words)

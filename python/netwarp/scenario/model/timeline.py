"""The state of one direction of a link over a run: its start, trace, changes (with ramps and repetitions) and outages,
all resolved to moments at which something is set. Pure; times are ns from the start of the run.

`flow_timeline` uses the same `walk` for flows."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from netwarp.lab_format.wires import BY_NAME, CHANGING, PROPERTIES
from netwarp.lab_format.wires.netem import Jitter, RandomLoss
from netwarp.scenario.model import Change, Scenario
from netwarp.scenario.source import Keys
from netwarp.values.fields import Distribution
from netwarp.values.units import format_duration

CHANGEABLE = ("rate", *(found.name for found in CHANGING), "queue")
"""The properties of a link that may change."""
DEFAULT_STEPS = 50
"""The default number of steps of a ramp."""
MAX_STATES = 100_000
EVERYTHING_LOST = RandomLoss(p=1.0)


@dataclass(frozen=True)
class State:
    """The state of one direction of a link at one moment. `queue` is None for the default queue, `rate` is None if a
    trace has opportunities instead of a rate."""

    rate: int | None
    queue: str | None
    wire: Mapping[str, Any]
    """The wire's properties by name."""

    @property
    def delay(self) -> int:
        """The delay in ns."""
        return int(self.wire["delay"])

    @property
    def jitter(self) -> Jitter:
        """The variation of the delay."""
        found: Jitter = self.wire["jitter"]
        return found

    def value(self, name: str) -> Any:
        """The value of what changes, by its name."""
        return self.wire[name] if name in self.wire else getattr(self, name)

    def with_values(self, values: Mapping[str, Any]) -> State:
        """The state after these values are set."""
        wire = {name: value for name, value in values.items() if name in self.wire}
        own = {name: value for name, value in values.items() if name not in self.wire}
        return replace(self, **own, wire={**self.wire, **wire} if wire else self.wire)


@dataclass(frozen=True)
class FlowState:
    """The state of a group of flows at one moment: `rate` and `think` are None if its kind has none.

    The first `active` flows of the group are active.
    """

    rate: int | None
    think: Distribution | None
    active: int

    def value(self, name: str) -> Any:
        """The value of what changes, by its name."""
        return getattr(self, name)

    def with_values(self, values: Mapping[str, Any]) -> FlowState:
        """The state after these values are set."""
        return replace(self, **values)


S = TypeVar("S", State, FlowState)
"""The state of a link's direction, or of a group of flows."""


class TimelineError(ValueError):
    """Changes that conflict; `keys` is their place in the file."""

    def __init__(self, keys: Keys, message: str) -> None:
        """`message` is a sentence for the scenario's author."""
        super().__init__(message)
        self.keys = keys


@dataclass(order=True)
class Entry:
    """A setting at a moment; `order` breaks ties: traces first, then changes in the order of the file."""

    at: int
    order: tuple[int, ...]
    change: int | None = field(compare=False)
    values: Mapping[str, Any] = field(compare=False)


def timeline(scenario: Scenario, link: str, direction: int) -> tuple[tuple[int, State], ...]:
    """The state at the start (time 0), and after each moment that changes it. Raises TimelineError."""
    first = scenario.links[link]
    tuner = scenario.tuner
    queue = tuner.queue if tuner and tuner.queue and tuner.tunes(first.ends[direction]) else first.queue.of(direction)
    trace = first.trace.of(direction)
    rate = None if trace and trace.opportunities else first.rate.of(direction)
    state = State(rate, queue, {found.name: getattr(first, found.name).of(direction) for found in PROPERTIES})
    if awaited := awaited_changes(scenario, link, direction):
        return _in_sequence(state, awaited, scenario, direction)
    states: dict[int, State] = {0: state}
    for at, changed in walk(scenario, _link_entries(scenario, link, direction), state, f'link "{link}"'):
        states[at] = changed
        if len(states) > MAX_STATES:
            raise too_many(("changes",) if scenario.changes else ("links", link, "trace"), f'link "{link}"')
    known = _with_outages(states, _outages(scenario, link, direction))
    return without_repetition([(at, state) for at, state in known if at < scenario.duration])


def awaited_changes(scenario: Scenario, link: str, direction: int) -> tuple[int, ...]:
    """The indices of the changes of this direction that wait for a state: they happen one after another."""
    return tuple(
        index
        for index, change in enumerate(scenario.changes)
        if change.link == link and change.when is not None and values_of(change, direction)
    )


def _in_sequence(
    state: State, indices: tuple[int, ...], scenario: Scenario, direction: int
) -> tuple[tuple[int, State], ...]:
    """The state at the start, and after each of these changes, with the time from which its condition counts."""
    states = [(0, state)]
    for index in indices:
        state = state.with_values(values_of(scenario.changes[index], direction))
        states.append((scenario.changes[index].at, state))
    return tuple(states)


def walk(scenario: Scenario, entries: list[Entry], state: S, subject: str) -> Iterator[tuple[int, S]]:
    """Every moment with its state, in order; a ramp starts from the current state, and adds its steps when it begins.

    `state` is the initial state, a frozen dataclass whose fields the entries name; `subject` names its owner in
    messages.
    """
    heapq.heapify(entries)
    busy: dict[str, tuple[int, int]] = {}
    while entries:
        entry = heapq.heappop(entries)
        values = entry.values
        if entry.change is not None:
            _refuse_overlap(entry, busy, subject)
            change = scenario.changes[entry.change]
            if change.over is not None:
                for step in _ramp(entry, change, state, subject):
                    heapq.heappush(entries, step)
                busy |= {name: (entry.at + change.over, entry.change) for name in values}
                continue
        state = state.with_values(values)
        yield entry.at, state


def _link_entries(scenario: Scenario, link: str, direction: int) -> list[Entry]:
    trace = scenario.links[link].trace.of(direction)
    entries = []
    for number, row in enumerate(trace.until(scenario.duration) if trace else ()):
        if number > MAX_STATES:
            raise too_many(("links", link, "trace"), f'link "{link}"')
        values = {"rate": row.rate_bps, "delay": row.delay_ns, "loss": row.loss}
        entries.append(
            Entry(row.at_ns, (0,), None, {name: value for name, value in values.items() if value is not None})
        )
    changes = (
        (index, values_of(change, direction)) for index, change in enumerate(scenario.changes) if change.link == link
    )
    return add_changes(entries, changes, scenario, f'link "{link}"')


def add_changes(
    entries: list[Entry], changes: Iterable[tuple[int, Mapping[str, Any]]], scenario: Scenario, subject: str
) -> list[Entry]:
    """The entries, and one more for each time that a change happens, with the change's index and values."""
    for index, values in changes:
        if values:
            moments = occurrences(scenario.changes[index], scenario.duration)
            moments = bounded(moments, len(entries), index, "repeat", subject)
            entries += [Entry(at, (1, index), index, values) for at in moments]
    return entries


def bounded(moments: range, others: int, change: int, field_: str, subject: str) -> range:
    """The moments of a change. Raises TimelineError if there are too many, together with `others` made before."""
    if others + len(moments) > MAX_STATES:
        raise too_many(("changes", change, field_), subject)
    return moments


def too_many(keys: Keys, subject: str) -> TimelineError:
    """The error for too many moments."""
    return TimelineError(keys, f"{subject} would change more than {MAX_STATES} times; take larger steps")


def values_of(change: Change, direction: int) -> dict[str, Any]:
    """The values that the change sets in this direction."""
    named: dict[str, Any] = {name: getattr(change, name) for name in CHANGEABLE}
    return {
        name: value.of(direction)
        for name, value in named.items()
        if value is not None and value.of(direction) is not None
    }


def occurrences(change: Change, end_ns: int) -> range:
    """The moments of the change: one, or every `repeat` until the end of the run, `times` at most."""
    if change.repeat is None:
        return range(change.at, change.at + 1)
    last = end_ns if change.times is None else min(end_ns, change.at + change.times * change.repeat)
    return range(change.at, last, change.repeat)


def _refuse_overlap(entry: Entry, busy: Mapping[str, tuple[int, int]], subject: str) -> None:
    for name in entry.values:
        until, other = busy.get(name, (0, 0))
        if entry.at < until and entry.change is not None:
            raise TimelineError(
                ("changes", entry.change, name),
                f"at {format_duration(entry.at)} the {name} of {subject} is still changing: changes.{other} "
                f"moves it until {format_duration(until)}",
            )


def _ramp(entry: Entry, change: Change, state: State | FlowState, subject: str) -> Iterator[Entry]:
    """The steps of a ramp, evenly spaced (the last may be shorter), on the line from the current to the new value."""
    assert change.over is not None
    assert entry.change is not None
    over = change.over
    step = change.step or max(over // DEFAULT_STEPS, 1)
    for passed in (*bounded(range(step, over, step), 0, entry.change, "step", subject), over):
        values = {}
        for name, target in entry.values.items():
            try:
                values[name] = _between(name, state.value(name), target, (passed, over))
            except ValueError as error:
                raise TimelineError(("changes", entry.change, name), str(error)) from None
        # Steps have no change, so that they are not checked for overlap with their own ramp.
        yield Entry(entry.at + passed, entry.order, None, values)


def _between(name: str, start: Any, end: Any, part: tuple[int, int]) -> Any:
    """The value at `part` (n of m) of the way from start to end. Raises ValueError if they cannot be interpolated."""
    passed, whole = part
    if passed == whole:
        return end
    if name in BY_NAME:
        return BY_NAME[name].between(start, end, part)
    if isinstance(start, Distribution) and isinstance(end, Distribution):
        if start.distribution == end.distribution:
            return end.model_copy(update={"mean": _between(name, start.mean, end.mean, part)})
        raise ValueError(f"a ramp of `think` keeps its distribution; it was {start.distribution}: name the same")
    return start + round((end - start) * passed / whole)


def _outages(scenario: Scenario, link: str, direction: int) -> list[tuple[int, int]]:
    """The intervals in which no packet gets through, in order; adjacent ones are merged."""
    found: list[tuple[int, int]] = []
    for index, change in enumerate(scenario.changes):
        lasts = change.outage.of(direction) if change.link == link and change.outage else None
        if lasts:
            moments = bounded(occurrences(change, scenario.duration), len(found), index, "repeat", f'link "{link}"')
            found += [(at, at + lasts) for at in moments]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _with_outages(states: Mapping[int, State], outages: list[tuple[int, int]]) -> list[tuple[int, State]]:
    """The states with a loss of 100 % during outages; changes made meanwhile take effect when they end."""
    marks: dict[int, bool] = {}
    for start, end in outages:
        marks |= {start: True, end: False}
    found = []
    state, lost = states[0], False
    for at in sorted({*states, *marks}):
        state = states.get(at, state)
        lost = marks.get(at, lost)
        found.append((at, state.with_values({"loss": EVERYTHING_LOST}) if lost else state))
    return found


def without_repetition(states: list[tuple[int, S]]) -> tuple[tuple[int, S], ...]:
    """The states without those that equal their predecessor."""
    kept = states[:1]
    for at, state in states[1:]:
        if state != kept[-1][1]:
            kept.append((at, state))
    return tuple(kept)

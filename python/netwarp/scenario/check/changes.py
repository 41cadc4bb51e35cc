"""Checks of changes and traces: each change on its own, then the state of each link that results from all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from netwarp.flows import FlowPath, kind_of
from netwarp.modules.named import FILE
from netwarp.scenario.check import qdiscs
from netwarp.scenario.check.flow_changes import check_flow_change, check_flow_timeline
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Change, Link, Scenario
from netwarp.scenario.model.condition import COLUMNS, Condition
from netwarp.scenario.model.flow_timeline import FLOW_PROPERTIES
from netwarp.scenario.model.timeline import (
    CHANGEABLE,
    TimelineError,
    awaited_changes,
    occurrences,
    timeline,
    values_of,
)
from netwarp.scenario.source import Keys
from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_S
from netwarp.values.units import format_duration, format_rate

Found = tuple[Keys, str]
_ANY_PATH = FlowPath(mtu=1500, rate_bps=10**9)
"""The number of a flow's connections does not depend on it."""


def check_changes(scenario: Scenario) -> Iterator[Found]:
    """Check all of `changes` and traces; the timelines of links only if each change is valid."""
    found = [item for index, change in enumerate(scenario.changes) for item in _check_change(index, change, scenario)]
    for name, link in scenario.links.items():
        found += _check_trace(name, link, scenario)
    yield from found
    if not found:
        changed = {change.link for change in scenario.changes}
        for name in scenario.flows:
            yield from check_flow_timeline(name, scenario)
        for name, link in scenario.links.items():
            for direction in range(len(link.ends[:2])):
                if name in changed or link.trace.of(direction):
                    yield from _check_timeline(name, direction, scenario)


def change_of_queue(scenario: Scenario, link: str, direction: int, at: int) -> int:
    """The index of the change that sets this direction's queue at a moment."""
    for index, change in enumerate(scenario.changes):
        if (
            change.link == link
            and "queue" in values_of(change, direction)
            and at in occurrences(change, scenario.duration)
        ):
            return index
    return 0


def _check_change(index: int, change: Change, scenario: Scenario) -> Iterator[Found]:
    keys: Keys = ("changes", index)
    if (change.link is None) == (change.flow is None):
        what = "both a `link` and a `flow`" if change.link else "neither a `link` nor a `flow`"
        yield keys, f"names {what}; name one of the two"
        return
    yield from _check_times(keys, change, scenario)
    if change.when is not None:
        yield from _check_condition(index, change, change.when, scenario)
    elif "at" not in change.model_fields_set:
        yield keys, "does not say when: give `at`, a time of the run, or `when`, a state of a flow"
    if change.flow is not None:
        yield from check_flow_change(index, change, scenario)
        return
    for name in FLOW_PROPERTIES:
        if name not in CHANGEABLE and getattr(change, name) is not None:
            yield (*keys, name), f"a link has no `{name}`; name a `flow` in place of the link"
    named = [name for name in CHANGEABLE if getattr(change, name) is not None]
    if not named and change.outage is None:
        yield keys, f"changes nothing; give one of {', '.join((*CHANGEABLE, 'outage'))}"
    yield from _check_ramp(keys, change, named)
    link = scenario.links.get(change.link or "")
    if link is None:
        yield (*keys, "link"), f'there is no link "{change.link}"{did_you_mean(change.link or "", scenario.links)}'
        return
    for direction, node in enumerate(link.ends[:2]):
        for field in values_of(change, direction):
            if node in link.raw and field in {"rate", "queue"}:
                yield (
                    (*keys, field),
                    f'the end "{node}" of link "{change.link}" is set up by `raw`, so its {field} cannot be changed; '
                    "name the other direction alone with { forward = … } or { reverse = … }",
                )
            if _traced(link, direction, field):
                yield (
                    (*keys, field),
                    f'the {field} of link "{change.link}" from "{node}" follows its trace; a change cannot set it, too',
                )


def _check_condition(index: int, change: Change, when: Condition, scenario: Scenario) -> Iterator[Found]:
    """A change that waits for a state: which it may be, and that no other change of its link has a time."""
    keys: Keys = ("changes", index, "when")
    if change.link is None:
        yield keys, "only a change of a link can wait for a state"
    for field in ("over", "repeat", "outage"):
        if getattr(change, field) is not None:
            yield ("changes", index, field), f"a change that waits for a state has no `{field}`"
    others = (n for n, one in enumerate(scenario.changes) if one.link == change.link and one.when is None)
    link = scenario.links.get(change.link or "")
    if (other := next(others, None)) is not None:
        yield (
            keys,
            f'changes.{other} of link "{change.link}" has a time; either all changes of a link wait or none',
        )
    elif link is not None and any(link.trace.of(direction) for direction in (0, 1)):
        yield keys, f'link "{change.link}" follows a trace, so its changes cannot wait for states'
    if scenario.command is not None:
        yield keys, "beside a command no change waits for a state; it can change links itself (docs/exec.md)"
    if not scenario.record.exact:
        yield keys, "needs exact records, since the recorder sees each ACK; leave `record.exact` out"
    yield from ((keys, why) for why in _check_state(when, scenario))


def _check_state(when: Condition, scenario: Scenario) -> Iterator[str]:
    group, _, number = when.flow.rpartition(".")
    flow = scenario.flows.get(group or when.flow)
    if flow is None:
        yield f'there is no flow "{when.flow}"{did_you_mean(group or when.flow, scenario.flows)}'
        return
    if group and (flow.count == 1 or int(number) >= flow.count):
        yield f'there is no flow "{when.flow}"; {_names(group, flow.count)}'
    elif not group and flow.count != 1:
        yield f'"{when.flow}" is a group; {_names(when.flow, flow.count)}'
    one = kind_of(flow.tool)
    if not one.built_in or one.transport != "tcp" or one.connections_of(flow.own_fields(_ANY_PATH)) != 1:
        yield f"a `{flow.tool}` flow is not one TCP connection of netwarp's own, such as bulk's or request's"
    elif when.variable not in COLUMNS and not scenario.loaded_modules and not _points_have_modules(scenario):
        yield (
            f'a sender has no variable "{when.variable}"{did_you_mean(when.variable, COLUMNS)}, and no congestion '
            "control here is a module, which may export others"
        )


def _points_have_modules(scenario: Scenario) -> bool:
    """Whether points of the study choose a module as congestion control, which may export variables."""
    named = [(path, value) for path, values in scenario.sweep.items() for value in values]
    for settings in (*(case.set for case in scenario.cases), *scenario.presets.values()):
        named += settings.items()
    return any(path.split(".")[-1] == "cc" and str(value).startswith(FILE) for path, value in named)


def _names(group: str, count: int) -> str:
    return f"its flows are {group}.0 to {group}.{count - 1}" if count > 1 else f'write "{group}"'


def _traced(link: Link, direction: int, field: str) -> bool:
    trace = link.trace.of(direction)
    attribute = {"rate": "rate_bps", "delay": "delay_ns", "loss": "loss"}.get(field)
    if trace and trace.opportunities:
        return field == "rate"
    return bool(trace and attribute and any(getattr(row, attribute) is not None for row in trace.rows))


def _check_times(keys: Keys, change: Change, scenario: Scenario) -> Iterator[Found]:
    end = f"the run of {format_duration(scenario.duration)} is over"
    if change.at >= scenario.duration:
        yield (*keys, "at"), f"happens at {format_duration(change.at)}, when {end}"
        return
    outage = max((change.outage.of(direction) or 0 for direction in (0, 1)), default=0) if change.outage else 0
    lasts = {"over": change.over or 0, "outage": outage}
    for field, span in lasts.items():
        if change.at + span > scenario.duration:
            yield (*keys, field), f"lasts until {format_duration(change.at + span)}, when {end}"
        if change.repeat is not None and span > change.repeat:
            yield (*keys, "repeat"), f"begins again before its `{field}` of {format_duration(span)} is over"
    if change.times is not None and change.repeat is None:
        yield (*keys, "times"), "happens only once, because there is no `repeat`"
    elif change.times is not None and change.repeat is not None:
        last = change.at + (change.times - 1) * change.repeat
        if last >= scenario.duration:
            yield (*keys, "times"), f"happens for the last time at {format_duration(last)}, when {end}"


def _check_ramp(keys: Keys, change: Change, named: list[str]) -> Iterator[Found]:
    if change.over is None:
        if change.step is not None:
            yield (*keys, "step"), "there are no steps without `over`, the length of the ramp"
        return
    if change.step is not None and change.step > change.over:
        yield (*keys, "step"), f"a step is longer than the whole `over` of {format_duration(change.over)}"
    if "queue" in named:
        yield (*keys, "queue"), "a queue cannot change gradually; change it without `over`"
    if not named:
        yield (*keys, "over"), "an outage is not gradual; leave `over` out, or ramp the loss"


def _check_trace(name: str, link: Link, scenario: Scenario) -> Iterator[Found]:
    keys: Keys = ("links", name, "trace")
    for direction, node in enumerate(link.ends[:2]):
        if link.trace.of(direction) and node in link.raw:
            yield keys, f'the end "{node}" is set up by `raw`, so a trace cannot change its rate'
    starts = [trace.first_rate_bps if (trace := link.trace.of(direction)) else None for direction in (0, 1)]
    given = [link.rate.of(direction) for direction in (0, 1)]
    if all(starts) and given != starts:
        where: Keys = ("links", name, "rate")
        yield where, "has no effect: the trace gives the rate from the start; leave one of them out"


def _check_timeline(name: str, direction: int, scenario: Scenario) -> Iterator[Found]:
    try:
        states = timeline(scenario, name, direction)
    except TimelineError as error:
        yield error.keys, str(error)
        return
    frame_bits = (scenario.links[name].mtu + ETHERNET_HEADER_BYTES) * 8
    rates = [] if states[0][1].rate is None else [(0, states[0][1].rate)]
    for (_, before), (at, after) in pairwise(states):
        if after.rate is not None and after.rate != before.rate:
            rates.append((at, after.rate))
        why = qdiscs.refusal(before.queue or "pfifo", after.queue or "pfifo")
        if why:
            yield ("changes", change_of_queue(scenario, name, direction, at), "queue"), why
    if rates and not awaited_changes(scenario, name, direction):
        yield from _check_rates(name, direction, scenario, rates, frame_bits)


def _check_rates(
    name: str, direction: int, scenario: Scenario, rates: list[tuple[int, int]], frame_bits: int
) -> Iterator[Found]:
    """Find rates so low that one frame occupies the link beyond the next change.

    A frame whose transmission has begun occupies the link until it is sent, at the rate with which it began.
    """
    for (at, rate), (until, _) in pairwise(rates):
        if rate * (until - at) < frame_bits * NS_PER_S:
            takes = -(-frame_bits * NS_PER_S // rate)
            yield (
                _cause(name, direction, scenario, at),
                f"from {format_duration(at)} to {format_duration(until)} the rate is {format_rate(rate)}, at which a "
                f"full frame takes {_in_words(takes)}, longer than that: it would occupy the link beyond the next "
                f"change; use a higher rate, longer steps, or an outage",
            )
            return
    (at, rate), left = rates[-1], scenario.duration - rates[-1][0]
    cause = _cause(name, direction, scenario, at)
    # A trace, a ramp or a repetition that the end of the run cuts off is not an error.
    single = cause[0] == "changes" and (change := scenario.changes[int(cause[1])]).over is change.repeat is None
    if single and rate * left < frame_bits * NS_PER_S:
        takes = -(-frame_bits * NS_PER_S // rate)
        yield (
            cause,
            f"from {format_duration(at)} to the end the rate is {format_rate(rate)}, at which a full frame takes "
            f"{_in_words(takes)}, longer than that: not one would get through; use a higher rate, or an outage",
        )


def _cause(name: str, direction: int, scenario: Scenario, at: int) -> Keys:
    """The keys of the setting that decides the rate at a moment: the trace, the last change begun by then, the link."""
    if scenario.links[name].trace.of(direction):
        return ("links", name, "trace")
    begun = [
        (occurrence, index)
        for index, change in enumerate(scenario.changes)
        if change.link == name and "rate" in values_of(change, direction)
        for occurrence in occurrences(change, scenario.duration)
        if occurrence <= at
    ]
    return ("changes", max(begun)[1], "rate") if begun else ("links", name, "rate")


def _in_words(duration_ns: int) -> str:
    """A time with four digits, in ms or from 10 s on in s."""
    return f"{duration_ns / 1e6:.4g} ms" if duration_ns < 10 * NS_PER_S else f"{duration_ns / NS_PER_S:,.1f} s"

"""Checks of changes of flows: each change on its own, then the state of each group that results from all of them."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows import FlowBase, kind_of
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Change, Scenario
from netwarp.scenario.model.flow_timeline import FLOW_PROPERTIES, flow_timeline
from netwarp.scenario.model.timeline import CHANGEABLE, TimelineError
from netwarp.scenario.source import Keys
from netwarp.values.units import format_duration

Found = tuple[Keys, str]


def check_flow_change(index: int, change: Change, scenario: Scenario) -> Iterator[Found]:
    """Check that the group which a change names exists, and that the fields which it sets may change."""
    keys: Keys = ("changes", index)
    group = str(change.flow)
    flow = scenario.flows.get(group)
    if flow is None:
        yield (*keys, "flow"), f'there is no flow "{group}"{did_you_mean(group, scenario.flows)}'
        return
    for name in (*CHANGEABLE, "outage"):
        if name not in FLOW_PROPERTIES and getattr(change, name) is not None:
            yield (*keys, name), f"a flow has no `{name}`; name the `link` that changes in place of the flow"
    named = [name for name in FLOW_PROPERTIES if getattr(change, name) is not None]
    if not named:
        yield keys, "changes nothing; give rate, think or active"
    if change.rate is not None and change.rate.forward != change.rate.reverse:
        yield (*keys, "rate"), "a flow has one direction; write only its rate"
    yield from (((*keys, name), why) for name in named if (why := _cannot_vary(name, flow)))
    if change.active is not None and change.active > flow.count:
        yield (
            (*keys, "active"),
            f'{change.active} flows of "{group}" cannot be active, as its `count` is {flow.count}',
        )
    if change.over is None and change.step is not None:
        yield (*keys, "step"), "there are no steps without `over`, the length of the ramp"
    if change.over is not None and change.step is not None and change.step > change.over:
        yield (*keys, "step"), f"a step is longer than the whole `over` of {format_duration(change.over)}"


def _cannot_vary(name: str, flow: FlowBase) -> str | None:
    varies = kind_of(flow.tool).varies
    if name in varies:
        return None
    if varies:
        return f"the {name} of a `{flow.tool}` flow cannot change; its {' and '.join(varies)} can"
    return (
        f"a `{flow.tool}` flow cannot change while it runs; make several groups, each with a `start` and a "
        "`duration`, as the shipped scenario join-and-leave does"
    )


def check_flow_timeline(group: str, scenario: Scenario) -> Iterator[Found]:
    """Check that every flow of a group is active at some time; one that never is would look like a failure."""
    try:
        states = flow_timeline(scenario, group)
    except TimelineError as error:
        yield error.keys, str(error)
        return
    flow = scenario.flows[group]
    start, lasts = (0, None) if not isinstance(flow.start, int) else (flow.start, flow.duration)
    end = start + lasts if isinstance(lasts, int) else scenario.duration  # drawn: within the run
    ends = [at for at, _ in states[1:]] + [end]
    living = [state.active for (at, state), until in zip(states, ends, strict=True) if until > start and at < end]
    most = max(living, default=flow.count)  # a life that is over before it begins is another finding
    if most < flow.count:
        yield (
            ("flows", group, "count"),
            f"at most {most} of these {flow.count} flows are active at any time; take `count = {most}`"
            if most
            else "none of these flows is active at any time; leave them out, or let some be active",
        )

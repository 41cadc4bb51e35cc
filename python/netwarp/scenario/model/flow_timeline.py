"""The state of a group of flows over a run: its rate or pauses, and how many flows are active, with all changes
resolved to moments. Pure; times are ns from the start of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netwarp.scenario.model import Change, Scenario
from netwarp.scenario.model.timeline import MAX_STATES, FlowState, add_changes, too_many, walk, without_repetition

FLOW_PROPERTIES = ("rate", "think", "active")
"""The properties of flows that may change; each kind has some of them (`FlowKind.varies`)."""


def flow_timeline(scenario: Scenario, group: str) -> tuple[tuple[int, FlowState], ...]:
    """The state at the start (time 0), and after each moment that changes it. Raises TimelineError."""
    flow = scenario.flows[group]
    state = FlowState(getattr(flow, "rate", None), getattr(flow, "think", None), flow.count)
    own = [(index, flow_values(change)) for index, change in enumerate(scenario.changes) if change.flow == group]
    if not own:
        return ((0, state),)
    subject = f'flow "{group}"'
    states = {0: state}
    for at, changed in walk(scenario, add_changes([], own, scenario, subject), state, subject):
        states[at] = changed
        if len(states) * flow.count > MAX_STATES:
            raise too_many(("changes",), f"the {flow.count} flows of {subject}" if flow.count > 1 else subject)
    return without_repetition([(at, state) for at, state in states.items() if at < scenario.duration])


def flow_values(change: Change) -> Mapping[str, Any]:
    """The values that a change sets for its flow."""
    rate = change.rate.forward if change.rate else None
    values = {"rate": rate, "think": change.think, "active": change.active}
    return {name: value for name, value in values.items() if value is not None}

"""Checks of a link's wire: properties that only a device has (plans, a ring), and those that it lacks."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows import kind_of
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Link, Scenario
from netwarp.scenario.model.timeline import values_of
from netwarp.scenario.model.wire import correlations, needs_device, plans
from netwarp.scenario.source import Keys
from netwarp.values.units import format_duration

Found = tuple[Keys, str]
MAX_PLANNED_FLOWS = 500
"""The most flows that a plan is about: the attribute that holds them has 64 kB."""


def check_wire(name: str, link: Link, scenario: Scenario) -> Iterator[Found]:
    """Check that this link's wire has all properties that the scenario gives it."""
    keys: Keys = ("links", name)
    if needs_device(link):
        for place in correlations(scenario, name):
            yield place, _of_netem_only(link, str(place[-1]))
        yield from _check_plans(name, link, scenario)
        return
    for found, _, _ in plans(link):
        yield (*keys, found), f'{_noun(found)} by plan needs a link that is a device; leave out wire = "netem"'
    if link.ring != 1:
        yield (*keys, "ring"), 'only a link that is a device has a ring of descriptors; leave out wire = "netem"'


def _of_netem_only(link: Link, found: str) -> str:
    instead = 'wire = "device", so that netem carries its packets' if link.wire == "device" else "plans and rings"
    return (
        "what a device does to one packet does not depend on others: leave out the correlation of its "
        f"{found} (for losses in bursts use gemodel), or leave out {instead}"
    )


def _check_plans(name: str, link: Link, scenario: Scenario) -> Iterator[Found]:
    keys: Keys = ("links", name)
    for found, direction, plan in plans(link):
        for index, change in enumerate(scenario.changes):
            if change.link == name and found in values_of(change, direction):
                yield ("changes", index, found), f"the {found} of this link is planned, which holds for a whole run"
        trace = link.trace.of(direction)
        if found == "loss" and trace and any(row.loss is not None for row in trace.until(scenario.duration)):
            yield (*keys, "loss"), "losses by plan hold for a whole run, but the link's trace has its own losses"
        if plan.from_ns is not None and plan.from_ns >= scenario.duration:
            begins, whole = format_duration(plan.from_ns), format_duration(scenario.duration)
            yield (*keys, found), f"begins at {begins}, when the run of {whole} is over"
        if plan.flow is not None:
            yield from (((*keys, found), problem) for problem in _problems(plan.flow, scenario))


def _problems(flow: str, scenario: Scenario) -> Iterator[str]:
    """The reasons why a plan cannot be about a flow."""
    group, _, number = flow.partition(".")
    known = scenario.flows.get(group)
    if known is None:
        yield f'there is no flow "{group}"{did_you_mean(group, scenario.flows)}'
        return
    if number and (known.count == 1 or not number.isdigit() or int(number) >= known.count):
        yield f'there is no flow "{flow}": the group "{group}" has {known.count}, numbered from 0'
    kind = kind_of(known.tool)
    if not (kind.ports[1] or kind.transport == "icmp"):
        yield f'a plan cannot be about "{flow}": netwarp does not know the ports of a {known.tool} flow'
    if not number and known.count > MAX_PLANNED_FLOWS:
        yield f'"{flow}" has {known.count} flows; a plan is about at most {MAX_PLANNED_FLOWS}'


def _noun(name: str) -> str:
    return {"duplicate": "duplication", "reorder": "reordering"}.get(name, name)

"""Kernel features that a plan needs without naming them: impairments of wires, sysctls of nodes, routes of flows."""

from collections.abc import Iterable, Iterator
from typing import Any

from netwarp.flows import FlowBase, kind_of
from netwarp.flows.options import given_options
from netwarp.lab_format.wires import CHANGING, PROPERTIES, WireProperty
from netwarp.plan import Plan
from netwarp.scenario.model import Change, Link, Node, RunOptions, Tuner
from netwarp.scenario.model.wire import needs_device, plans
from netwarp.scenario.source import Keys

_DIRECTIONS = (0, 1)


def used_sections(plan: Plan) -> Iterator[tuple[Keys, Any]]:
    """The sections of a plan's scenarios, without tuners that no run uses."""
    tuners = {section.tuner for _, section in plan.sections if isinstance(section, RunOptions)}
    yield from ((key, section) for key, section in plan.sections if key[0] != "tuners" or key[1] in tuners)


def impairments(key: Keys, section: Any) -> Iterator[tuple[Keys, str]]:
    """Find the fields of a section that need netem: their place, and their name (`delay`, `loss` …)."""
    match section:
        case Link():
            yield from _impairments(key, section, PROPERTIES)
        case tuple():
            for number, item in enumerate(section):
                if isinstance(item, Change):
                    yield from _impairments((*key, number), item, CHANGING)
                    if item.outage is not None:
                        yield (*key, number, "outage"), "outage"


def of_own_kernel(key: Keys, section: Any) -> Iterator[tuple[Keys, str]]:
    """Find features that only netwarp's own kernel has: the place, and a sentence."""
    instead = "netwarp's own kernel; use the engine uml"
    match section:
        case Link():
            traces = [section.trace.of(direction) for direction in _DIRECTIONS]
            if section.wire == "device":
                yield (*key, "wire"), f"a link that is a device needs {instead}, or leave out `wire`"
            elif needs_device(section):
                found = next((name for name, _, _ in plans(section)), "ring")
                yield (*key, found), f"this needs a link that is a device, of {instead}"
            if any(trace is not None and trace.opportunities for trace in traces):
                yield (*key, "trace"), f"delivery opportunities (of a Mahimahi trace) need {instead}"
        case tuple():
            for number, item in enumerate(section):
                if isinstance(item, Change) and item.when is not None:
                    yield (*key, number, "when"), f"a change at an ACK needs {instead}"


def own_routes(key: Keys, section: Any) -> Iterator[tuple[Keys, str]]:
    """Find flows that need separate routes and rules, or settings of their nodes: the place, and a sentence."""
    if isinstance(section, FlowBase):
        if kind_of(section.tool).subflows:
            yield (
                (*key, "tool"),
                "sets endpoints, routes and rules (ip-mptcp(8), ip-rule(8)), which are not added to machines that "
                "others use; use the engine uml or host",
            )
        transport = kind_of(section.tool).transport
        for option, value in given_options(section):
            if next(option.metrics(value, transport), None) is not None:
                yield (
                    (*key, option.name),
                    "needs a separate route and rule (ip-rule(8)), which are not added to machines that others "
                    "use; use the engine uml or host",
                )


def sysctls(key: Keys, section: Any) -> Iterator[tuple[Keys, tuple[str, str]]]:
    """Find sysctls of nodes: the place that sets one, and its name and value."""
    if isinstance(section, Node | Tuner):
        yield from (((*key, "sysctl", name), (name, value)) for name, value in section.sysctl.items())


def _impairments(key: Keys, section: Link | Change, found: Iterable[WireProperty]) -> Iterator[tuple[Keys, str]]:
    for one in found:
        values = getattr(section, one.name)
        each = () if values is None else (values.of(direction) for direction in _DIRECTIONS)
        if any(value is not None and one.does(value) for value in each):
            yield (*key, one.name), one.name

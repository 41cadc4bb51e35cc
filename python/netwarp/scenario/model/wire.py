"""Decides whether a link is a device of netwarp's kernel, or of netem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netwarp.lab_format.wires import PROPERTIES
from netwarp.lab_format.wires.planned import Plan, is_plan
from netwarp.scenario.model.link import Link
from netwarp.scenario.model.scenario import Scenario
from netwarp.scenario.model.timeline import values_of
from netwarp.scenario.source import Keys

_DIRECTIONS = (0, 1)


def is_device(scenario: Scenario, name: str, *, devices: bool) -> bool:
    """Whether a link is a device. With `wire = "auto"` it is one if it must be, and where there are `devices` unless it
    needs netem."""
    link = scenario.links[name]
    if link.wire != "auto" or needs_device(link):
        return link.wire != "netem"
    return devices and not (_needs_netem(link) or any(correlations(scenario, name)))


def needs_device(link: Link) -> bool:
    """Whether this link must be a device: it says so, or has what netem lacks: a plan or a ring."""
    return link.wire == "device" or (link.wire == "auto" and (link.ring != 1 or any(plans(link))))


def _needs_netem(link: Link) -> bool:
    """Whether this link has what is exactly so on netem alone: aggregates that stay whole, tc commands that stand for
    its rate and queue, and a queue from which each opportunity of a Mahimahi trace takes what mm-link would."""
    traces = (link.trace.of(direction) for direction in _DIRECTIONS)
    return link.offload or bool(link.raw) or any(trace is not None and bool(trace.opportunities) for trace in traces)


def plans(link: Link) -> Iterator[tuple[str, int, Plan]]:
    """The planned properties of a link, each with its direction."""
    for found in PROPERTIES:
        for direction in _DIRECTIONS:
            value: Any = getattr(link, found.name).of(direction)
            if is_plan(value):
                yield found.name, direction, value


def correlations(scenario: Scenario, name: str) -> Iterator[Keys]:
    """The places at which a link, or a change of it, has a property whose effect on a packet depends on the packet
    before, as only netem's can."""
    link = scenario.links[name]
    for found in PROPERTIES:
        if any(_is_correlated(getattr(link, found.name).of(direction)) for direction in _DIRECTIONS):
            yield "links", name, found.name
    for index, change in enumerate(scenario.changes):
        if change.link == name:
            values = [pair for direction in _DIRECTIONS for pair in values_of(change, direction).items()]
            found_here = sorted({key for key, value in values if _is_correlated(value)})
            yield from (("changes", index, key) for key in found_here)


def _is_correlated(value: Any) -> bool:
    return bool(getattr(value, "correlation", 0))

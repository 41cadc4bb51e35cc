"""Checks of Multipath TCP: links that lead from the sender to the receiver, the same for all flows from a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.flows import FlowBase, kind_of
from netwarp.scenario.check.nat import links_of
from netwarp.scenario.check.reach import links_between
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys

MAX_ENDPOINTS = 8
"""The most addresses of which the kernel's path manager takes subflows (MPTCP_PM_ADDR_MAX)."""


def check_mptcp(scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    """Check every flow over MPTCP whose nodes exist."""
    first: dict[str, str] = {}
    for name, flow in scenario.flows.items():
        if kind_of(flow.tool).subflows and {flow.from_, flow.to} <= scenario.nodes.keys():
            yield from _check_links(scenario, name, flow)
            yield from _check_beside(scenario, name, flow, first.setdefault(flow.from_, name))


def _check_links(scenario: Scenario, name: str, flow: FlowBase) -> Iterator[tuple[Keys, str]]:
    own = links_of(scenario, flow.from_)
    used = [link for link in own if flow.carries(link)]
    if len(used) > MAX_ENDPOINTS:
        why = f'"{flow.from_}" has {len(used)} links, and the kernel takes subflows of {MAX_ENDPOINTS}; name fewer'
        yield ("flows", name, "links"), why
    for field, links in flow.named_links.items():
        for number, link in enumerate(links or ()):
            keys: Keys = ("flows", name, field, number)
            if link not in own:
                yield keys, f'"{flow.from_}" has no link "{link}"{did_you_mean(link, own)}'
            elif not _leads(scenario, link, flow):
                yield keys, f'no path from "{flow.from_}" to "{flow.to}" begins with this link; leave it out'


def _leads(scenario: Scenario, link: str, flow: FlowBase) -> bool:
    """Whether packets that leave over this link can reach the flow's destination without coming back."""
    (beyond,) = [node for node in scenario.links[link].ends if node != flow.from_]
    if beyond == flow.to:
        return True
    ends = tuple(one.ends for one in scenario.links.values() if flow.from_ not in one.ends)
    forwarding = frozenset(node for node, found in scenario.nodes.items() if found.forward)
    return beyond in forwarding and links_between(ends, forwarding, beyond, flow.to) is not None


def _check_beside(scenario: Scenario, name: str, flow: FlowBase, other: str) -> Iterator[tuple[Keys, str]]:
    """Check that a flow names the same links as the first one from its node."""
    for field, links in scenario.flows[other].named_links.items():
        if _as_set(flow.named_links[field]) != _as_set(links):
            yield (
                ("flows", name, field),
                f'differs from that of flow "{other}", which is from "{flow.from_}" as well: the kernel has one list '
                "for a node; write the same, or let another node send",
            )


def _as_set(links: Sequence[str] | None) -> frozenset[str] | None:
    return None if links is None else frozenset(links)

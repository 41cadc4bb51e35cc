"""Checks of Multipath TCP: links that lead from the sender to the receiver, the same for all flows from a node."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows.mptcp import MptcpFlow
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
        if isinstance(flow, MptcpFlow) and {flow.from_, flow.to} <= scenario.nodes.keys():
            yield from _check_links(scenario, name, flow)
            other = first.setdefault(flow.from_, name)
            yield from _check_beside(scenario, name, flow, other)


def _check_links(scenario: Scenario, name: str, flow: MptcpFlow) -> Iterator[tuple[Keys, str]]:
    own = links_of(scenario, flow.from_)
    used = [link for link in own if flow.carries(link)]
    if len(used) > MAX_ENDPOINTS:
        why = f'"{flow.from_}" has {len(used)} links, and the kernel takes subflows of {MAX_ENDPOINTS}; name fewer'
        yield ("flows", name, "links"), why
    for field, links in (("links", flow.links or []), ("backup", flow.backup)):
        for number, link in enumerate(links):
            keys: Keys = ("flows", name, field, number)
            if link not in own:
                known = ", ".join(own) or "none"
                yield keys, f'"{flow.from_}" has no link "{link}"{did_you_mean(link, own)} (its links: {known})'
            elif not _leads(scenario, link, flow):
                yield keys, f'no path from "{flow.from_}" to "{flow.to}" begins with this link; leave it out'


def _leads(scenario: Scenario, link: str, flow: MptcpFlow) -> bool:
    """Whether packets that leave over this link can reach the flow's destination without coming back."""
    (beyond,) = [node for node in scenario.links[link].ends if node != flow.from_]
    if beyond == flow.to:
        return True
    ends = tuple(one.ends for one in scenario.links.values() if flow.from_ not in one.ends)
    forwarding = frozenset(node for node, found in scenario.nodes.items() if found.forward)
    return beyond in forwarding and links_between(ends, forwarding, beyond, flow.to) is not None


def _as_set(links: list[str] | None) -> frozenset[str] | None:
    return None if links is None else frozenset(links)


def _check_beside(scenario: Scenario, name: str, flow: MptcpFlow, other: str) -> Iterator[tuple[Keys, str]]:
    """Check that a flow has the same links as the first one from its node."""
    before = scenario.flows[other]
    assert isinstance(before, MptcpFlow)
    for field, one, first in (("links", flow.links, before.links), ("backup", flow.backup, before.backup)):
        if _as_set(one) != _as_set(first):
            yield (
                ("flows", name, field),
                f'differs from that of flow "{other}", which is from "{flow.from_}" as well: the kernel has one list '
                "for a node; write the same, or let another node send",
            )

"""Checks of address translation: a router, a link to the outside with an IPv4 address, and no flows across it."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.scenario.check.reach import links_between
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.node import Nat
from netwarp.scenario.source import Keys
from netwarp.values.constants import NS_PER_S

_DEPENDENT = "needs a port for each remote endpoint, and preserved ports are the same for all"


def links_of(scenario: Scenario, node: str) -> list[str]:
    """The links of a node, in file order."""
    return [name for name, link in scenario.links.items() if node in link.ends]


def check_nat(scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    """Check every node that translates addresses."""
    for name, node in scenario.nodes.items():
        if node.nat is not None:
            yield from _check(scenario, name, node.nat)


def _check(scenario: Scenario, name: str, nat: Nat) -> Iterator[tuple[Keys, str]]:
    keys: Keys = ("nodes", name, "nat")
    links = links_of(scenario, name)
    if not scenario.nodes[name].forward:
        yield keys, f'"{name}" forwards nothing that it could translate; set forward = true'
    if nat.outside is not None and nat.outside not in links:
        known = ", ".join(links) or "none"
        yield (
            (*keys, "outside"),
            f'"{name}" has no link "{nat.outside}"{did_you_mean(nat.outside, links)} (its links: {known})',
        )
    elif len(links) < 2:
        yield keys, f'"{name}" has no link to the inside and another one to the outside'
    if nat.preserves_ports and nat.mapping != "endpoint-independent":
        yield (*keys, "ports"), f'the mapping "{nat.mapping}" {_DEPENDENT}; write ports = "random"'
    yield from _check_flows(scenario, name, nat.outside or links[-1] if links else "")
    if nat.timeout % NS_PER_S:
        yield (*keys, "timeout"), 'the kernel counts whole seconds here; write such as "30s"'


def _check_flows(scenario: Scenario, name: str, outside: str) -> Iterator[tuple[Keys, str]]:
    """Refuse flows across the translation, whose packets have other addresses on its other side: only programs that
    find each other by addresses that they observe can use it."""
    ends = tuple(link.ends for other, link in scenario.links.items() if other != outside)
    forwarding = frozenset(node for node, found in scenario.nodes.items() if found.forward)
    for group, flow in scenario.flows.items():
        known = {flow.from_, flow.to} <= scenario.nodes.keys()
        if known and flow.tool != "command" and links_between(ends, forwarding, flow.from_, flow.to) is None:
            yield (
                ("flows", group),
                f'its packets cross the address translation of "{name}", so they do not arrive as they were sent, and '
                'cannot be recognised; use tool = "command"',
            )

"""Checks of links: their ends, their interfaces, their addresses."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.lab_format.wires import PROPERTIES
from netwarp.scenario.check.devices import check_wire
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Link, Scenario
from netwarp.scenario.model.addresses import Interface, link_addresses
from netwarp.scenario.source import Keys

Found = tuple[Keys, str]


def check_link(name: str, link: Link, scenario: Scenario) -> Iterator[Found]:
    """Check one link by itself: two different known ends, `raw` only at these, values that fit together."""
    keys: Keys = ("links", name)
    if len(link.ends) != 2:
        yield (*keys, "ends"), f'a link has exactly two ends, not {len(link.ends)}; write ends = ["a", "b"]'
    elif link.ends[0] == link.ends[1]:
        yield (*keys, "ends"), f'both ends are "{link.ends[0]}"; a link joins two different nodes'
    for node in link.ends:
        if node not in scenario.nodes:
            yield (*keys, "ends"), f'there is no node "{node}"{did_you_mean(node, scenario.nodes)}'
    for node in link.raw:
        if node not in link.ends:
            yield (*keys, "raw"), f'"{node}" is not an end of this link{did_you_mean(node, link.ends)}'
    yield from _check_values(keys, link)
    yield from _check_port(keys, link)
    yield from check_wire(name, link, scenario)


def _check_port(keys: Keys, link: Link) -> Iterator[Found]:
    """Check that the link is not faster than the ports whose energy is modelled."""
    fastest = max(link.rate.forward, link.rate.reverse)
    if link.energy is not None and fastest > link.energy.rate_mbps * 1e6:
        yield (
            (*keys, "energy"),
            f'a port of "{link.energy.name}" sends {link.energy.rate_mbps:g} Mbit/s, and this link '
            f"{fastest / 1e6:g} Mbit/s; choose the model of a faster port",
        )


def _check_values(keys: Keys, link: Link) -> Iterator[Found]:
    for direction, name in enumerate(("forward", "reverse")):
        values = {found.name: getattr(link, found.name).of(direction) for found in PROPERTIES}
        for found in PROPERTIES:
            if why := found.problem(values, name):
                yield (*keys, found.name), why
        if direction < len(link.ends) and link.ends[direction] in link.raw and link.queue.of(direction) is not None:
            yield (
                (*keys, "queue"),
                f'the end "{link.ends[direction]}" has both a queue and `raw`, which replaces it; leave one out',
            )


def check_interfaces(scenario: Scenario) -> Iterator[Found]:
    """Check that each interface's name is unique on its node."""
    seen: dict[tuple[str, str], str] = {}
    for name, link in scenario.links.items():
        for node, interface in zip(link.ends, link.interfaces or (), strict=False):
            other = seen.setdefault((node, interface), name)
            if other != name:
                yield (
                    ("links", name, "interfaces"),
                    f'node "{node}" already has an interface "{interface}" (link "{other}"); choose another name',
                )


def check_addresses(scenario: Scenario) -> Iterator[Found]:
    """Check that addresses are valid and fit their link, and that no two links share a subnet."""
    if all(link.addresses is None for link in scenario.links.values()):
        return
    subnets: list[tuple[Interface, str]] = []
    for index, (name, link) in enumerate(scenario.links.items()):
        try:
            pairs = link_addresses(link, index)
        except ValueError as error:
            yield ("links", name, "addresses"), str(error)
            continue
        subnets += [(pair[0], name) for pair in pairs.values()]
    order = list(scenario.links)
    subnets.sort(key=lambda item: (item[0].version, int(item[0].network.network_address), item[0].network.prefixlen))
    widest = subnets[0] if subnets else None
    for subnet, name in subnets[1:]:
        assert widest is not None
        if subnet.version == widest[0].version and _overlap(subnet, widest[0]):
            later, earlier = sorted((name, widest[1]), key=order.index, reverse=True)
            yield (
                ("links", later, "addresses"),
                f'its subnet {subnet.network} overlaps {widest[0].network} of link "{earlier}"; '
                "give every link its own subnet",
            )
        else:
            widest = (subnet, name)


def _overlap(a: Interface, b: Interface) -> bool:
    return int(a.network.network_address) <= int(b.network.broadcast_address)

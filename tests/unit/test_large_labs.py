"""Labs of hundreds of nodes: their routes, their memory, the reach of their packets."""

from __future__ import annotations

import ipaddress
import json
from functools import cache

import pytest
from netwarp.lab import Lab, build_lab, memory_bytes
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from test_lab import grid, lab_of


def subnets_of(lab: Lab) -> dict[str, set[ipaddress.IPv4Network | ipaddress.IPv6Network]]:
    """The subnets that each node is attached to."""
    attached: dict[str, set[ipaddress.IPv4Network | ipaddress.IPv6Network]] = {}
    for end in (end for link in lab.links for end in link.ends):
        attached.setdefault(end.node, set()).update(ipaddress.ip_interface(text).network for text in end.addresses)
    return attached


def test_its_making_can_be_ended() -> None:
    """A lab of thousands of nodes takes half a minute: ending the command does not wait for it."""
    run = next(iter(make_plan(parse_scenario(grid(3, 3)), None, None, {})))

    def ended() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        build_lab(run, check=ended)


@pytest.mark.slow
def test_routes_lead_to_every_other_subnet_and_nowhere_else() -> None:
    """A hundred nodes: what a node's routes and its own subnets cover is all subnets, each once."""
    lab = lab_of(grid(10, 10))
    attached = subnets_of(lab)
    everything = set().union(*attached.values())
    bits = {4: 24, 6: 64}

    @cache
    def subnets(prefix: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        route = ipaddress.ip_network(prefix)
        return list(route.subnets(new_prefix=bits[route.version]))

    routes: dict[str, list[str]] = {}
    for route in lab.routes:
        routes.setdefault(route.node, []).append(route.prefix)
    for node, own in attached.items():
        reached = [subnet for prefix in routes[node] for subnet in subnets(prefix)]
        assert len(reached) == len(set(reached))
        assert set(reached) == everything - own
    assert json.dumps(lab.as_json()) == json.dumps(lab_of(grid(10, 10)).as_json())


def star(leaves: int) -> str:
    """A router with this number of hosts."""
    hosts = "".join(f"h{i} = {{}}\n" for i in range(leaves))
    links = "".join(f'[links.l{i}]\nends = ["hub", "h{i}"]\nrate = "100mbit"\n' for i in range(leaves))
    flow = f'[flows.f]\nfrom = "h0"\nto = "h{leaves - 1}"\ntool = "ping"\n'
    return f'name = "star"\nduration = "1s"\n[nodes]\nhub = {{ forward = true }}\n{hosts}{links}{flow}'


def test_routes_grow_as_n_log_n() -> None:
    """Three times the nodes have four times the routes, not nine times; the same holds for a chain, either way."""
    few, many = (len(lab_of(star(leaves)).routes) for leaves in (40, 120))
    assert many < 5 * few
    short, long = (len(lab_of(grid(length, 1)).routes) for length in (20, 60))
    assert long < 5 * short


def test_large_networks_have_the_memory_for_their_nodes() -> None:
    runs = [make_plan(parse_scenario(star(leaves))).runs[0] for leaves in (40, 499)]
    small, large = map(memory_bytes, runs)
    assert small == memory_bytes(make_plan(parse_scenario(star(10))).runs[0])
    assert large - small >= 450 * 438 * 1024


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.slow
def test_flows_farther_than_their_packets_live_are_refused(family: str) -> None:
    name = {"ipv4": "net.ipv4.ip_default_ttl", "ipv6": "net.ipv6.conf.default.hop_limit"}[family]
    near, far, beyond = (grid(nodes, 1) for nodes in (65, 66, 257))
    assert len(lab_of(near, f'flows.f.family="{family}"').links) >= 64
    with pytest.raises(ScenarioError) as raised:
        lab_of(far, f'flows.f.family="{family}"')
    assert f'the path has 65 links, and packets of "n0-0" cross 64; add sysctl = {{ "{name}" = 255 }}' in str(
        raised.value
    )
    ends = [f'nodes.{node}.sysctl={{"{name}" = 255}}' for node in ("n0-0", "n65-0")]
    assert lab_of(far, f'flows.f.family="{family}"', *ends).flows
    with pytest.raises(ScenarioError, match="the path has 256 links, and no packet crosses more than 255"):
        lab_of(beyond, f'flows.f.family="{family}"', *ends[:1])

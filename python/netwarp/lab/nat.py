"""Resolves the address translation of a router: the interface and address outside, and the seed of its ports."""

from __future__ import annotations

from collections.abc import Mapping

from netwarp.lab.draws import seed_for
from netwarp.lab.links import FIRST_INDEX
from netwarp.lab.network import NetworkGraph
from netwarp.lab_format.nodes import LabNat, LabRemote
from netwarp.scenario.check.nat import links_of
from netwarp.scenario.model.node import Behaviour, Nat
from netwarp.values.constants import NS_PER_S

_COUNTS: Mapping[Behaviour, LabRemote] = {
    "endpoint-independent": "any",
    "address-dependent": "address",
    "address-and-port-dependent": "port",
}


def build_nat(network: NetworkGraph, node: str, seed: int) -> LabNat | None:
    """The translation of a node; None if it has none."""
    nat = network.scenario.nodes[node].nat
    if nat is None:
        return None
    outside = nat.outside or links_of(network.scenario, node)[-1]
    number = network.names.index(outside)
    direction = network.links[number].ends.index(node)
    return LabNat(
        index=FIRST_INDEX + 2 * number + direction,
        address=str(network.addresses[number][4][direction].ip),
        mapping=_COUNTS[nat.mapping],
        filtering=_COUNTS[nat.filtering],
        preserved=nat.preserves_ports,
        hairpin=nat.hairpinning,
        timeout_ns=nat.timeout,
        seed=seed_for(seed, node, "nat") % 2**32,
    )


def nat_sysctl(nat: Nat | None) -> Mapping[str, str]:
    """The sysctls of a translating node: the kernel forgets its connections of UDP when their mappings end."""
    if nat is None:
        return {}
    seconds = str(nat.timeout // NS_PER_S)
    return {f"net.netfilter.nf_conntrack_udp_timeout{kind}": seconds for kind in ("", "_stream")}

"""Problems of flows that depend on their path."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows import FlowBase, FlowPath
from netwarp.scenario.check.reach import links_between, links_on_paths
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys


def check_on_path(
    keys: Keys, flow: FlowBase, scenario: Scenario, ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str]
) -> Iterator[tuple[Keys, str]]:
    """Check what a flow says about its path, as far as that is known: a single shortest one. Rates count as they are
    at first; a link of a trace or of delivery opportunities has none here."""
    if type(flow).path_problems is FlowBase.path_problems:
        return
    names = links_on_paths(dict(zip(scenario.links, ends, strict=True)), forwarding, flow)
    if len(names) != links_between(ends, forwarding, flow.from_, flow.to):
        return
    path = FlowPath(min(scenario.links[name].mtu for name in names), rate_bps=1)
    yield from (((*keys, field), why) for field, why in flow.path_problems(path, flow.active_ns(scenario.duration)))

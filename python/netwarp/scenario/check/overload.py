"""Open-loop flows that begin more connections than their path completes, and so have ever more of them open."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.flows import FlowBase, FlowPath
from netwarp.scenario.check.reach import links_between, links_on_paths
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.timeline import TimelineError, timeline
from netwarp.scenario.source import Keys

_LEAST_MTU = 1280


def check_overload(
    keys: Keys, flow: FlowBase, scenario: Scenario, ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str]
) -> Iterator[tuple[Keys, str]]:
    """Check that a flow has no more connections at once than ports, as far as its path is known: a single shortest one
    whose links have rates, of which the highest ones during the run count."""
    active_ns = flow.active_ns(scenario.duration)
    if flow.most_open is None or flow.open_at_once(FlowPath(_LEAST_MTU, rate_bps=1), active_ns) <= flow.most_open:
        return  # even if the path carried nothing
    names = links_on_paths(dict(zip(scenario.links, ends, strict=True)), forwarding, flow)
    if len(names) != links_between(ends, forwarding, flow.from_, flow.to):
        return
    try:
        rates = {name: _highest_bps(scenario, name) for name in names}
    except TimelineError:
        return  # reported already
    known = {name: rate for name, rate in rates.items() if rate}
    if not known:
        return
    slowest = min(known, key=lambda name: known[name])
    path = FlowPath(min(scenario.links[name].mtu for name in names), known[slowest])
    open_at_once = flow.open_at_once(path, active_ns)
    if open_at_once > flow.most_open:
        yield (
            (*keys, "arrivals"),
            f'more arrive than link "{slowest}" carries, so that about {open_at_once:,.0f} connections would be open '
            f"at once, and each needs one of {flow.most_open:,} ports; lower the rate or `size`, shorten the flow "
            "(`duration`), or raise the link's rate",
        )


def _highest_bps(scenario: Scenario, link: str) -> int | None:
    """The highest rate that either direction of a link has during the run; None if one has none."""
    rates = [state.rate for direction in range(2) for _, state in timeline(scenario, link, direction)]
    return None if None in rates else max(rate for rate in rates if rate is not None)

"""Checks that compare parts of a scenario with each other.

Every check yields `(keys, sentence)`: the place in the file and what is wrong there. All checks always run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.flows import Flow, kind_of
from netwarp.flows.transfer_size import mean_of
from netwarp.scenario.check.changes import check_changes
from netwarp.scenario.check.datagrams import check_datagrams
from netwarp.scenario.check.exec import check_exec
from netwarp.scenario.check.links import check_addresses, check_interfaces, check_link
from netwarp.scenario.check.modules import check_modules
from netwarp.scenario.check.mptcp import check_mptcp
from netwarp.scenario.check.nat import check_nat
from netwarp.scenario.check.on_path import check_on_path
from netwarp.scenario.check.overload import check_overload
from netwarp.scenario.check.reach import links_between, links_on_paths, unreachable
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import MAX_RUN_NS, Scenario, Tuner
from netwarp.scenario.source import Keys
from netwarp.values.fields import NODE_WIRE, Sysctl
from netwarp.values.units import format_duration

Found = tuple[Keys, str]
MAX_FLOWS = 10_000
LIFETIMES = {"ipv4": "net.ipv4.ip_default_ttl", "ipv6": "net.ipv6.conf.default.hop_limit"}
"""The sysctl that limits how many links a packet crosses, by address family."""
DEFAULT_LIFETIME = 64
MAX_LIFETIME = 255
"""The largest TTL or hop limit: both have eight bits."""
MAX_SAMPLES = 10_000_000


def check_scenario(scenario: Scenario) -> Iterator[Found]:
    """Check one resolved scenario; `check_study` checks sweep, cases and expectations."""
    if scenario.command is not None:
        yield from check_exec(scenario, scenario.command)
    if scenario.views and scenario.record.keep == "summary":
        yield ("record", "keep"), 'views are made from records: use "records", or remove the views (--set views=[])'
    if scenario.workload.makes_network:
        return
    yield from _check_times(scenario)
    if NODE_WIRE in scenario.nodes:
        yield ("nodes", NODE_WIRE), f'"{NODE_WIRE}" is the name of netwarp\'s own namespace; give the node another name'
    for name, link in scenario.links.items():
        yield from check_link(name, link, scenario)
    yield from check_interfaces(scenario)
    yield from check_addresses(scenario)
    yield from check_modules(scenario)
    yield from check_nat(scenario)
    yield from check_mptcp(scenario)
    yield from _check_flows(scenario)
    yield from check_changes(scenario)
    yield from _check_tuners(scenario)
    captured = [capture.at for capture in scenario.record.captures]
    for index, place in enumerate(captured):
        yield from _check_place(("record", "captures", index, "at"), place, captured, scenario)
    for index, place in enumerate(scenario.record.queue_states):
        yield from _check_place(("record", "queue_states", index), place, scenario.record.queue_states, scenario)


def _check_times(scenario: Scenario) -> Iterator[Found]:
    if scenario.duration > MAX_SAMPLES * scenario.record.sample_ns:
        yield (
            ("record", "sample"),
            f"these are {scenario.duration // scenario.record.sample_ns:,} samples of every socket, queue and link; "
            f"the maximum is {MAX_SAMPLES:,}: use longer intervals, or a shorter run",
        )
    if scenario.duration > MAX_RUN_NS:
        yield ("duration",), "is longer than 30 days; choose a shorter run"
    if scenario.warmup >= scenario.duration:
        yield (
            ("warmup",),
            f"the warm-up ({format_duration(scenario.warmup)}) leaves nothing of the run "
            f"({format_duration(scenario.duration)}) to measure; make it shorter",
        )


def _check_flows(scenario: Scenario) -> Iterator[Found]:
    ends = tuple(link.ends for link in scenario.links.values())
    known = all(len(pair) == 2 and scenario.nodes.keys() >= set(pair) for pair in ends)
    forwarding = frozenset(name for name, node in scenario.nodes.items() if node.forward)
    for name in scenario.flows:
        yield from _check_flow(name, scenario, ends if known else None, forwarding)
    total = sum(flow.count for flow in scenario.flows.values())
    needed = scenario.workload.needs_flows
    if needed and not scenario.flows:
        yield ("flows",), "nothing would be sent; add a flow, such as [flows.bulk] with from, to and tool"
    elif needed and total == 0:
        yield ("flows", next(iter(scenario.flows)), "count"), "nothing would be sent: every flow has a count of 0"
    if total > MAX_FLOWS:
        yield ("flows",), f"{total} flows are more than there are ports for; the maximum is {MAX_FLOWS}"


def _check_flow(
    name: str, scenario: Scenario, ends: tuple[tuple[str, ...], ...] | None, forwarding: frozenset[str]
) -> Iterator[Found]:
    """`ends` are those of all links, None if their errors are reported already."""
    flow = scenario.flows[name]
    keys: Keys = ("flows", name)
    known = True
    for field, node in (("from", flow.from_), ("to", flow.to)):
        if node not in scenario.nodes:
            known = False
            yield (*keys, field), f'there is no node "{node}"{did_you_mean(node, scenario.nodes)}'
    if flow.from_ == flow.to:
        yield (*keys, "to"), f'a flow to itself: "{flow.to}" is both from and to; choose another node'
    elif known and ends is not None:
        why = unreachable(ends, forwarding, flow.from_, flow.to)
        if why:
            yield (*keys, "to"), why
        else:
            yield from _check_lifetime(keys, flow, scenario, links_between(ends, forwarding, flow.from_, flow.to) or 0)
            yield from _check_links_on_path(keys, flow, scenario, ends, forwarding)
            yield from check_datagrams(keys, flow, scenario, ends, forwarding)
            yield from check_overload(keys, flow, scenario, ends, forwarding)
            yield from check_on_path(keys, flow, scenario, ends, forwarding)
    yield from _check_flow_times(keys, name, scenario)
    yield from (((*keys, field), why) for field, why in flow.problems())


def _check_links_on_path(
    keys: Keys, flow: Flow, scenario: Scenario, ends: tuple[tuple[str, ...], ...], forwarding: frozenset[str]
) -> Iterator[Found]:
    """Check that links which a flow names are on a shortest path of its packets."""
    for field, link in flow.links_on_path.items():
        if link not in scenario.links:
            yield (*keys, field), f'there is no link "{link}"{did_you_mean(link, scenario.links)}'
        elif link not in (on := links_on_paths(dict(zip(scenario.links, ends, strict=True)), forwarding, flow)):
            yield (*keys, field), f'link "{link}" is not on the path of the flow; its links are {", ".join(on)}'


def _check_lifetime(keys: Keys, flow: Flow, scenario: Scenario, links: int) -> Iterator[Found]:
    """Check that packets live long enough to cross their path.

    Each router subtracts one from a packet's TTL or hop limit, and drops the packet at zero (RFC 1812, 5.3.1;
    RFC 8200, section 3). A user's program may set its own.
    """
    if kind_of(flow.tool).command_fields:
        return
    name = LIFETIMES[flow.family]
    for node in (flow.from_, flow.to):
        lives = scenario.given_sysctl(node).get(name, str(DEFAULT_LIFETIME))
        if links > MAX_LIFETIME:
            yield (*keys, "to"), f"the path has {links} links, and no packet crosses more than {MAX_LIFETIME}"
            return
        if lives.isdecimal() and links > int(lives):
            yield (
                (*keys, "to"),
                f'the path has {links} links, and packets of "{node}" cross {lives}; '
                f'add sysctl = {{ "{name}" = {MAX_LIFETIME} }} to that node',
            )


def _check_flow_times(keys: Keys, name: str, scenario: Scenario) -> Iterator[Found]:
    flow = scenario.flows[name]
    start, duration = mean_of(flow.start), flow.duration
    if start >= scenario.duration:
        yield (
            (*keys, "start"),
            f"starts at {format_duration(start)}, when the run of {format_duration(scenario.duration)} is over",
        )
    elif isinstance(flow.start, int) and isinstance(duration, int) and start + duration > scenario.duration:
        yield (
            (*keys, "duration"),
            f"ends at {format_duration(start + duration)}, past the end of the run "
            f"({format_duration(scenario.duration)}); shorten it or lengthen the scenario's duration",
        )
    times = getattr(getattr(flow, "arrivals", None), "times_ns", ())
    if times and start + times[0] >= scenario.duration:
        yield (
            (*keys, "arrivals"),
            f"the first transfer is due at {format_duration(start + times[0])}, when the run of "
            f"{format_duration(scenario.duration)} is over",
        )
    if duration is not None and getattr(flow, "bytes", None) is not None:
        yield (*keys, "bytes"), "`bytes` and `duration` are both given; a flow ends by one of them"


def _check_tuners(scenario: Scenario) -> Iterator[Found]:
    chosen = scenario.run.tuner
    if chosen != "default" and chosen not in scenario.tuners:
        yield ("run", "tuner"), f'there is no tuner "{chosen}"{did_you_mean(chosen, ["default", *scenario.tuners])}'
    for name, tuner in scenario.tuners.items():
        if name == "default":
            yield ("tuners", name), 'the tuner "default" stands for no tuning; give this one another name'
        for node in tuner.nodes or ():
            if node not in scenario.nodes:
                yield ("tuners", name, "nodes"), f'there is no node "{node}"{did_you_mean(node, scenario.nodes)}'
        if not tuner.sysctl and tuner.queue is None and tuner.program is None:
            yield ("tuners", name), "tunes nothing; give it `sysctl`, `queue` or `program`"
        yield from _check_tuners_queue(("tuners", name), tuner, scenario)
    yield from _check_sysctls(scenario)


def _check_tuners_queue(keys: Keys, tuner: Tuner, scenario: Scenario) -> Iterator[Found]:
    """Check that a tuner with a queue names its nodes, and that their links have queues to replace."""
    if tuner.queue is None:
        return
    if tuner.nodes is None:
        yield (*keys, "queue"), "would replace every queue of every node, the bottleneck's too; name the `nodes`"
        return
    for name, link in scenario.links.items():
        for node in link.raw:
            if tuner.tunes(node):
                yield (*keys, "queue"), f'the end "{node}" of link "{name}" is set up by `raw`, which has its own queue'


def _check_sysctls(scenario: Scenario) -> Iterator[Found]:
    """Find settings of net.core.default_qdisc, which have no effect: every interface has the queue of its link."""
    settings: dict[Keys, Sysctl] = {("nodes", name): node.sysctl for name, node in scenario.nodes.items()}
    settings |= {("tuners", name): tuner.sysctl for name, tuner in scenario.tuners.items()}
    for keys, sysctl in settings.items():
        if "net.core.default_qdisc" in sysctl:
            queue = sysctl["net.core.default_qdisc"]
            yield (
                (*keys, "sysctl", "net.core.default_qdisc"),
                f'has no effect here, as each end of a link has its own queue; write queue = "{queue}" '
                + ("in the tuner" if keys[0] == "tuners" else "in the link, or in a tuner for the node"),
            )


def _check_place(keys: Keys, place: str, every: Sequence[str], scenario: Scenario) -> Iterator[Found]:
    """Check that a place that is recorded is an end of a link, and is named once."""
    link_name, colon, node = place.partition(":")
    if not colon or link_name not in scenario.links or node not in scenario.links[link_name].ends:
        places = [f"{name}:{end}" for name, link in scenario.links.items() for end in link.ends]
        yield keys, f'"{place}" is not a "link:node" of this scenario{did_you_mean(place, places)}'
    elif every.count(place) > 1:
        yield keys, f'"{place}" is {"captured" if "captures" in keys else "named"} twice'

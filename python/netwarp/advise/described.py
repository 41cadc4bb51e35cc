"""The environment that a user's scenario describes."""

import math

from netwarp.advise.environment import FULL_FRAME_BITS, MINE, Environment, Roles
from netwarp.advise.errors import AdviceError
from netwarp.flows.incast import IncastFlow
from netwarp.scenario import Scenario
from netwarp.values.json_values import as_table
from netwarp.values.units import format_duration

_LEFT_OUT = ("topology", "sweep", "cases", "presets", "expect", "views", "seeds", "baseline", "summary")
_MOST_CALL_BPS = 250_000
_PAYLOAD_BYTES = 1448
_DATA_CENTRE_NS = 5_000_000
"""The RTT up to which both ends of a scenario's path count as the user's own, as in a rack, a hall or a campus."""


def environment_of_scenario(scenario: Scenario, link: str | None, duration_ns: int | None) -> Environment:
    """Return the environment that a scenario describes, without its cases and axes. Raises AdviceError.

    Its bottleneck is `link`, or the slowest link. Bulk flows, `cbr` below 250 kbit/s (calls), requests and incasts
    (web) are recognised by their tools.
    """
    document = {key: value for key, value in scenario.source.data.items() if key not in _LEFT_OUT}
    rated = {name: one.rate for name, one in scenario.links.items() if one.rate is not None and not one.raw}
    if link is None:
        if not rated:
            raise AdviceError("no link of the scenario has a rate, so the bottleneck is unknown; name it with --link")
        link = min(rated, key=lambda name: min(rated[name].of(0) or math.inf, rated[name].of(1) or math.inf))
    if link not in scenario.links:
        raise AdviceError(f'there is no link "{link}" in the scenario (known: {", ".join(scenario.links)})')
    if scenario.links[link].raw:
        raise AdviceError(
            f'the link "{link}" is set up by raw tc commands, which a candidate cannot replace; use queue instead'
        )
    roles = _roles(scenario)
    flows = dict(as_table(document["flows"]))
    if roles.probe not in flows:
        first = next(iter(scenario.flows.values()))
        flows[roles.probe] = {"from": first.from_, "to": first.to, "tool": "ping", "interval": "50ms"}
    document = {**document, "name": "advise", "flows": flows, "record": {"exact": False}}
    if duration_ns is not None:
        document["duration"] = format_duration(duration_ns)
    document["run"] = {"start_jitter": "auto", **as_table(document.get("run"))}
    rate = rated.get(link)
    rates = None if rate is None else (rate.of(0), rate.of(1))
    delay = sum(one.delay.of(at) or 0 for one in scenario.links.values() for at in (0, 1) if one.delay is not None)
    first_cc = next((getattr(scenario.flows[name], "cc", None) for name in roles.controlled), None)
    queue = scenario.links[link].queue
    return Environment(
        words=f"the scenario {scenario.name}, limited by its link {link}",
        document=document,
        link=link,
        roles=roles,
        rates_bps=rates,
        rtt_ns=delay or _serialisation_ns(rates),
        control_now=first_cc or "cubic",
        queue_now=str((queue.of(0) or queue.of(1) if queue is not None else None) or "pfifo"),
        queue_is=MINE,
        own_ends=delay <= _DATA_CENTRE_NS,
        burst_packets=_burst(scenario, roles),
    )


def _serialisation_ns(rates: tuple[int, int] | None) -> int:
    """The time of a full frame each way: the RTT of a path that has no other delay."""
    return sum(FULL_FRAME_BITS * 10**9 // rate for rate in rates) if rates else 1_000_000


def _burst(scenario: Scenario, roles: Roles) -> int:
    """The number of full frames that arrive at once when all senders of all incasts answer."""
    total = 0
    for name in roles.incast:
        flow = scenario.flows[name]
        if isinstance(flow, IncastFlow):
            total += flow.count * flow.senders * -(-int(flow.response_size.mean) // _PAYLOAD_BYTES)
    return total


def _roles(scenario: Scenario) -> Roles:
    found: dict[str, list[str]] = {"bulk": [], "call": [], "request": [], "incast": [], "ping": []}
    for name, flow in scenario.flows.items():
        if flow.tool == "cbr" and getattr(flow, "rate", 0) <= _MOST_CALL_BPS:
            found["call"].append(name)
        elif flow.tool in found:
            found[flow.tool].append(name)
    return Roles(
        bulk=tuple(found["bulk"]),
        call=tuple(found["call"]),
        web=(*found["request"], *found["incast"]),
        incast=tuple(found["incast"]),
        probe=found["ping"][0] if found["ping"] else "probe",
    )

"""The environment that advice is for: a scenario as data, and what plays which part in it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netwarp.advise.errors import AdviceError
from netwarp.advise.traffic import Traffic
from netwarp.scenario import Scenario
from netwarp.units import format_duration, format_percent, format_rate

LINK, SHAPER = "line", "shaper"
FULL_FRAME_BITS = 1514 * 8
CALL_PAYLOAD_BYTES, CALL_INTERVAL_MS = 172, 20
"""G.711: 160 bytes of sound for each 20 ms, and the header of RTP."""
_CALL_RATE_BPS = (CALL_PAYLOAD_BYTES + 42) * 8 * 1000 // CALL_INTERVAL_MS
_WEB_BYTES = 30_000
_MAX_WEB_CLIENTS = 20
_ACCESS = 10
"""How many times faster than the line everything else is."""
_MIN_ACCESS_BPS = 100_000_000
_MOST_CALL_BPS = 250_000
_HOST = {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304"}}
"""Linux's own limits of buffers: advice is for hosts as they are, which a receiver's window may slow down at first."""


@dataclass(frozen=True)
class Roles:
    """The groups of flows by what they are in the judgement."""

    bulk: tuple[str, ...] = ()
    upload: tuple[str, ...] = ()
    call: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    probe: str = "probe"

    @property
    def controlled(self) -> tuple[str, ...]:
        """The groups whose congestion control a candidate sets."""
        return (*self.bulk, *self.upload, *self.web)


@dataclass(frozen=True)
class Estimate:
    """A property of the environment that was measured: its value, the interval that it lies in, and from what."""

    name: str
    value: str
    interval: str
    basis: str


@dataclass(frozen=True)
class Environment:
    """A scenario as data, the link that limits it, and the parts of its flows.

    `rates_bps` are the link's rates forward and in reverse, or None if a trace says them; `rtt_ns` that of the empty
    path. `spread` is by what factors rate and RTT may differ from what is stated: (low, high).
    """

    words: str
    document: Mapping[str, Any]
    link: str
    roles: Roles
    rates_bps: tuple[int, int] | None
    rtt_ns: int
    control_now: str = "cubic"
    queue_now: str = "pfifo limit 1000"
    rate_spread: tuple[float, float] = (0.8, 1.25)
    rtt_spread: tuple[float, float] = (0.8, 1.25)
    loss: float = 0.0
    shapes: bool = False
    estimates: Sequence[Estimate] = field(default=())

    @property
    def ends(self) -> tuple[str, str]:
        """From where to where data go: those of the first greedy flow, else of the first flow."""
        flows = self.document["flows"]
        name = next((one for one in (*self.roles.bulk, *self.roles.web, *flows) if one in flows), "")
        first = flows[name]
        return (first["to"], first["from"]) if first["tool"] == "request" else (first["from"], first["to"])


@dataclass(frozen=True)
class Line:
    """A line in numbers, as options describe it."""

    rates_bps: tuple[int, int] | None
    rtt_ns: int
    traffic: Traffic
    trace: str | None = None
    loss: float = 0.0
    jitter_ns: int = 0
    queue_now: str = "pfifo limit 1000"
    control_now: str = "cubic"
    offload: bool = False
    rate_spread: tuple[float, float] = (0.8, 1.25)
    rtt_spread: tuple[float, float] = (0.8, 1.25)


def environment_of(
    line: Line, duration_ns: int, *, shapes: bool = False, estimates: Sequence[Estimate] = ()
) -> Environment:
    """The environment of a line: server – router – client, with all delay and loss on the line between the last two.

    With `shapes` a shaper stands before the line, which a candidate may set below the line's rate.
    """
    flows, roles = _flows(line)
    access_bps = max(_ACCESS * max(line.rates_bps or (_MIN_ACCESS_BPS,)), _MIN_ACCESS_BPS)
    own: dict[str, Any] = {
        "ends": ["modem" if shapes else "router", "client"],
        "delay": format_duration(line.rtt_ns // 2),
    }
    if line.trace is not None:
        own["trace"] = line.trace
    elif line.rates_bps is not None:
        own["rate"] = _both(*map(format_rate, line.rates_bps))
    own |= {"queue": {"forward": line.queue_now, "reverse": line.queue_now}}
    own |= {"loss": format_percent(line.loss)} if line.loss else {}
    own |= {"jitter": format_duration(line.jitter_ns)} if line.jitter_ns else {}
    links: dict[str, Any] = {"access": {"ends": ["server", "router"], "rate": format_rate(access_bps)}}
    if shapes:
        links[SHAPER] = {"ends": ["router", "modem"], "rate": format_rate(access_bps)}
    links[LINK] = own
    if line.offload:
        links = {name: {**link, "offload": True} for name, link in links.items()}
    routers = ("router", "modem") if shapes else ("router",)
    document = {
        "name": "advise",
        "duration": format_duration(duration_ns),
        "warmup": format_duration(duration_ns // 5),
        "run": {"start_jitter": format_duration(duration_ns // 10)},
        "record": {"exact": False},
        "nodes": {"server": _HOST, **{name: {"forward": True} for name in routers}, "client": _HOST},
        "links": links,
        "flows": flows,
    }
    return Environment(
        words=_words(line),
        document=document,
        link=LINK,
        roles=roles,
        rates_bps=line.rates_bps,
        rtt_ns=line.rtt_ns,
        control_now=line.control_now,
        queue_now=line.queue_now,
        rate_spread=line.rate_spread,
        rtt_spread=line.rtt_spread,
        loss=line.loss,
        shapes=shapes,
        estimates=tuple(estimates),
    )


def _both(forward: str, reverse: str) -> str | dict[str, str]:
    return forward if forward == reverse else {"forward": forward, "reverse": reverse}


def _words(line: Line) -> str:
    if line.rates_bps is None:
        rate = f"the trace {line.trace}"
    else:
        rate = " down and ".join(dict.fromkeys(map(_rate_words, line.rates_bps)))
        rate += " up" if line.rates_bps[0] != line.rates_bps[1] else ""
    parts = [rate, f"RTT {line.rtt_ns / 1e6:g} ms", str(line.traffic)]
    parts += [f"loss {format_percent(line.loss)}"] if line.loss else []
    parts += [f"jitter {line.jitter_ns / 1e6:g} ms"] if line.jitter_ns else []
    return ", ".join(parts)


def _rate_words(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:g} Mbit/s"


def _flows(line: Line) -> tuple[dict[str, Any], Roles]:
    traffic, control = line.traffic, line.control_now
    down, up = {"from": "server", "to": "client"}, {"from": "client", "to": "server"}
    flows: dict[str, Any] = {}
    if traffic.bulk:
        flows["bulk"] = {**down, "tool": "bulk", "count": traffic.bulk, "cc": control}
    if traffic.upload:
        flows["upload"] = {**up, "tool": "bulk", "count": traffic.upload, "cc": control}
    if traffic.call:
        call = {"tool": "cbr", "count": traffic.call, "rate": format_rate(_CALL_RATE_BPS)}
        call["packet_size"] = CALL_PAYLOAD_BYTES
        flows |= {"call_down": {**down, **call}, "call_up": {**up, **call}}
    if traffic.web:
        flows["web"] = {**up, "tool": "request", "cc": control, **_web(line, traffic.web)}
    if traffic.udp_bps:
        flows["udp"] = {**down, "tool": "poisson", "rate": format_rate(traffic.udp_bps)}
    flows["probe"] = {**down, "tool": "ping", "interval": "50ms"}
    roles = Roles(
        bulk=("bulk",) if traffic.bulk else (),
        upload=("upload",) if traffic.upload else (),
        call=("call_down", "call_up") if traffic.call else (),
        web=("web",) if traffic.web else (),
    )
    return flows, roles


def _web(line: Line, share: float) -> dict[str, Any]:
    """Clients that together ask for the share of the line, if each answer takes three round trips and its own time."""
    if line.rates_bps is None:
        raise AdviceError("web traffic is a share of the line's rate, and a trace has no rate; leave `web` out")
    offered = share * line.rates_bps[0]
    clients = max(1, min(_MAX_WEB_CLIENTS, round(offered / (_WEB_BYTES * 8))))
    cycle_s = clients * _WEB_BYTES * 8 / offered
    answer_s = 3 * line.rtt_ns / 1e9 + _WEB_BYTES * 8 / line.rates_bps[0]
    think_ns = int(max(cycle_s - answer_s, 0.01) * 1e6) * 1000
    return {
        "count": clients,
        "response_size": f"{_WEB_BYTES // 1000}kB",
        "think": f"{format_duration(think_ns)} exponential",
    }


def environment_of_scenario(scenario: Scenario, link: str | None, duration_ns: int | None) -> Environment:
    """The environment that a scenario of the user's describes; its cases and axes are left out. Raises AdviceError.

    What limits it is `link`, else the slowest link. Bulk flows, `cbr` below 250 kbit/s (calls) and requests (web) are
    told by their tools.
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
            f'the link "{link}" is set up by tc commands of its own (raw), which a candidate cannot replace'
        )
    roles = _roles(scenario)
    flows = dict(document["flows"])
    if roles.probe not in flows:
        first = next(iter(scenario.flows.values()))
        flows[roles.probe] = {"from": first.from_, "to": first.to, "tool": "ping", "interval": "50ms"}
    document = {**document, "name": "advise", "flows": flows, "record": {"exact": False}}
    if duration_ns is not None:
        document["duration"] = format_duration(duration_ns)
    document["run"] = {"start_jitter": "auto", **document.get("run", {})}
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
        rtt_ns=delay,
        control_now=first_cc or "cubic",
        queue_now=str(queue.of(0) if queue is not None and queue.of(0) else "pfifo"),
    )


_LEFT_OUT = ("sweep", "cases", "presets", "expect", "views", "seeds", "baseline", "summary")


def _roles(scenario: Scenario) -> Roles:
    found: dict[str, list[str]] = {"bulk": [], "call": [], "request": [], "ping": []}
    for name, flow in scenario.flows.items():
        if flow.tool == "cbr" and getattr(flow, "rate", 0) <= _MOST_CALL_BPS:
            found["call"].append(name)
        elif flow.tool in found:
            found[flow.tool].append(name)
    return Roles(
        bulk=tuple(found["bulk"]),
        call=tuple(found["call"]),
        web=tuple(found["request"]),
        probe=found["ping"][0] if found["ping"] else "probe",
    )

"""The environment that advice is for: a scenario as data, and the role of each of its flows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netwarp.advise.errors import AdviceError
from netwarp.advise.traffic import Traffic
from netwarp.common import quantities
from netwarp.values.units import format_duration, format_percent, format_rate

LINK, SHAPER, LAN = "line", "router", "lan"
MINE, MODEM, PROVIDER = "mine", "modem", "provider"
OWNERS = (MINE, MODEM, PROVIDER)
"""The possible owners of the queue that fills: the user, the modem, or the provider."""
FULL_FRAME_BITS = 1514 * 8
CALL_PAYLOAD_BYTES, CALL_INTERVAL_MS = 172, 20
"""A call with G.711: 160 bytes of sound for each 20 ms, and the header of RTP."""
_CALL_RATE_BPS = (CALL_PAYLOAD_BYTES + 42) * 8 * 1000 // CALL_INTERVAL_MS
_WEB_BYTES = 30_000
_MAX_WEB_CLIENTS = 20
_ACCESS = 10
"""The factor by which all other links are faster than the line."""
_MIN_ACCESS_BPS = 100_000_000
_UNKNOWN_BPS = 10_000_000
"""The rate for parameters that need one if neither a rate nor a trace gives it."""
_HOST = {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304"}}
"""Linux's default limits of buffers: advice is for usual hosts, whose receive window may limit flows at first."""


@dataclass(frozen=True)
class Roles:
    """The groups of flows by their role in the judgement; `web` are all that make requests, `incast` those of them
    whose answers come from many senders at once."""

    bulk: tuple[str, ...] = ()
    upload: tuple[str, ...] = ()
    call: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    incast: tuple[str, ...] = ()
    probe: str = "probe"

    @property
    def controlled(self) -> tuple[str, ...]:
        """The groups whose congestion control a candidate sets."""
        return (*self.bulk, *self.upload, *self.web)


@dataclass(frozen=True)
class Estimate:
    """A measured property of the environment: its value, its interval, and its source."""

    name: str
    value: str
    interval: str
    basis: str


@dataclass(frozen=True)
class Environment:
    """A scenario as data, the link that limits it, and the parts of its flows.

    `rates_bps` are the link's rates forward and in reverse, or None if a trace gives them, whose means are `mean_bps`.
    `rtt_ns` is that of the empty path. The spreads are the factors (low, high) by which rate and RTT may differ from
    the stated values. `queue_is` is one of OWNERS, and `assumed` the sentence that says why, if it was not stated.
    `own_ends`: both ends of the flows are the user's. `burst_packets` arrive at once when every sender of an incast
    answers.
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
    queue_is: str = MINE
    assumed: str = ""
    own_ends: bool = False
    mean_bps: tuple[int, int] | None = None
    burst_packets: int = 0
    estimates: Sequence[Estimate] = field(default=())

    @property
    def usual_bps(self) -> tuple[int, int]:
        """The rates forward and in reverse; for a trace, their means."""
        return self.rates_bps or self.mean_bps or (_UNKNOWN_BPS, _UNKNOWN_BPS)

    @property
    def ends(self) -> tuple[str, str]:
        """The nodes between which data go: those of the first greedy flow, or of the first flow."""
        flows = self.document["flows"]
        name = next((one for one in (*self.roles.bulk, *self.roles.web, *flows) if one in flows), "")
        first = flows[name]
        return (first["to"], first["from"]) if first["tool"] in ("request", "incast") else (first["from"], first["to"])


@dataclass(frozen=True)
class Line:
    """A line in numbers, as options describe it. `trace_delay_ns` is the one-way delay that its trace begins with."""

    rates_bps: tuple[int, int] | None
    rtt_ns: int
    traffic: Traffic
    trace: str | None = None
    trace_delay_ns: int | None = None
    mean_bps: tuple[int, int] | None = None
    loss: float = 0.0
    jitter_ns: int = 0
    queue_now: str = "pfifo limit 1000"
    control_now: str = "cubic"
    offload: bool = False
    queue_is: str = MINE
    assumed: str = ""
    own_ends: bool = False
    rate_spread: tuple[float, float] = (0.8, 1.25)
    rtt_spread: tuple[float, float] = (0.8, 1.25)

    @property
    def usual_bps(self) -> tuple[int, int]:
        """The rates down and up; for a trace, their means."""
        return self.rates_bps or self.mean_bps or (_UNKNOWN_BPS, _UNKNOWN_BPS)


def environment_of(line: Line, duration_ns: int, *, estimates: Sequence[Estimate] = ()) -> Environment:
    """Return the environment of a line, with its delay and loss.

    If the queue is the user's, the path is server – router – client, and the line is between the last two. Otherwise it
    is server – provider – modem – router – client, and the line is between provider and modem, whose queues cannot be
    changed. The user's shapers are on the link between modem and router: towards the provider as on a router's
    interface, towards the client as on an ifb, which is also a shaped queue behind the line.
    """
    flows, roles = _flows(line)
    document = {
        "name": "advise",
        "duration": format_duration(duration_ns),
        "warmup": format_duration(duration_ns // 5),
        "run": {"start_jitter": format_duration(duration_ns // 10)},
        "record": {"exact": False},
        "nodes": {"server": _HOST, **{name: {"forward": True} for name in _routers(line)}, "client": _HOST},
        "links": _links(line),
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
        queue_is=line.queue_is,
        assumed=line.assumed,
        own_ends=line.own_ends,
        mean_bps=line.mean_bps,
        estimates=tuple(estimates),
    )


def _routers(line: Line) -> tuple[str, ...]:
    return ("router",) if line.queue_is == MINE else ("provider", "modem", "router")


def _links(line: Line) -> dict[str, Any]:
    mine = line.queue_is == MINE
    fast = format_rate(max(_ACCESS * max(line.usual_bps), _MIN_ACCESS_BPS))
    before, after = ("router", "client") if mine else ("provider", "modem")
    own: dict[str, Any] = {"ends": [before, after], "delay": format_duration(line.rtt_ns // 2)}
    access: dict[str, Any] = {"ends": ["server", before], "rate": fast}
    if line.trace is not None:
        own["trace"] = line.trace
        if line.trace_delay_ns is not None:
            del own["delay"]
            rest_ns = line.rtt_ns // 2 - line.trace_delay_ns
            access |= {"delay": format_duration(rest_ns)} if rest_ns > 0 else {}
    elif line.rates_bps is not None:
        own["rate"] = _both(*map(format_rate, line.rates_bps))
    own |= {"queue": {"forward": line.queue_now, "reverse": line.queue_now}}
    own |= {"loss": format_percent(line.loss)} if line.loss else {}
    own |= {"jitter": format_duration(line.jitter_ns)} if line.jitter_ns else {}
    links: dict[str, Any] = {"access": access, LINK: own}
    if not mine:
        links |= {
            SHAPER: {"ends": ["modem", "router"], "rate": fast},
            LAN: {"ends": ["router", "client"], "rate": fast},
        }
    return {name: {**link, "offload": True} for name, link in links.items()} if line.offload else links


def _both(forward: str, reverse: str) -> str | dict[str, str]:
    return forward if forward == reverse else {"forward": forward, "reverse": reverse}


def _words(line: Line) -> str:
    if line.rates_bps is None:
        rate = f"the trace {line.trace}"
    else:
        rate = " down and ".join(dict.fromkeys(map(quantities.rate, line.rates_bps)))
        rate += " up" if line.rates_bps[0] != line.rates_bps[1] else ""
    parts = [rate, f"RTT {quantities.duration(line.rtt_ns, 4)}", str(line.traffic)]
    parts += [f"loss {format_percent(line.loss)}"] if line.loss else []
    parts += [f"jitter {quantities.duration(line.jitter_ns)}"] if line.jitter_ns else []
    return ", ".join(parts)


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
    """Clients that together ask for the share of the line, if answers take three round trips and their transmission."""
    if line.rates_bps is None and line.mean_bps is None:
        raise AdviceError("web traffic is a share of the line's rate, and this trace has none; leave `web` out")
    rate = line.usual_bps[0]
    offered = share * rate
    clients = max(1, min(_MAX_WEB_CLIENTS, round(offered / (_WEB_BYTES * 8))))
    cycle_s = clients * _WEB_BYTES * 8 / offered
    answer_s = 3 * line.rtt_ns / 1e9 + _WEB_BYTES * 8 / rate
    think_ns = int(max(cycle_s - answer_s, 0.01) * 1e6) * 1000
    return {
        "count": clients,
        "response_size": f"{_WEB_BYTES // 1000}kB",
        "think": f"{format_duration(think_ns)} exponential",
    }

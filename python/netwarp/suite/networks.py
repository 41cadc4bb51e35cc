"""The networks of the cases: h1 – r1 – h2 with the bottleneck at r1, 10 Mbit/s and 40 ms, and cases on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netwarp.suite.case import Axis, Bar, Case, Measure
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow

CONTROL = "flows.subject.cc"
QUEUE = "links.bottleneck.queue"
DELAY = "links.bottleneck.delay"
RATE_MBPS = 10
_PART = 0.05
_OF_LINK = "a twentieth of the link"

ROOM = """[tuners.room]
sysctl = { "net.ipv4.tcp_rmem" = "4096 6291456 6291456", "net.ipv4.tcp_ecn_fallback" = 0 }
[run]
tuner = "room"
"""
"""Settings of cases in which most SYNs and segments are lost: a window of 3 MB from the start, so that no receiver
limits a control that ignores losses, and SYNs that ask for ECN again, so that DCTCP does not become Reno."""

UTILISATION = Measure("utilisation", "link", BOTTLENECK, "utilisation", margin=_PART, why=_OF_LINK)
QUEUE_P95 = Measure("queueing delay, p95", "queue", BOTTLENECK, "sojourn_ms_p95")
DROPS = Measure(
    "packets dropped", "queue", BOTTLENECK, "drop_pct", margin=1.0, why="1 of 100; CUBIC's seeds differ by tenths"
)
LOST = replace(DROPS, bar=Bar.REPORT)
CALL_DELAY = Measure("one-way delay of a call, p95", "flow", "call", "delay_ms_p95")
CALL_LOST = Measure("packets of a call lost", "flow", "call", "loss_pct", margin=1.0, why="a call hides 1 of 100")
FAIRNESS = Measure("Jain's index", "run", "", "jain_index", margin=_PART, why="0.95 is shares of 0.61 and 0.39")


def goodput(name: str, bar: Bar = Bar.CONCERN, words: str = "goodput") -> Measure:
    """The goodput of a flow."""
    return Measure(words, "flow", name, "goodput_mbps", bar, margin=_PART * RATE_MBPS, why=_OF_LINK)


def utilised(least: float, why: str) -> Measure:
    """The bottleneck's utilisation with a different bound."""
    return Measure("utilisation", "link", BOTTLENECK, "utilisation", least=least, why=why)


def harm(name: str, *kinds: str, to: str = "CUBIC's", bar: Bar = Bar.HARM) -> tuple[Measure, ...]:
    """The harm to a flow, of these kinds; `to` says whose flow it is."""
    words = {"goodput": "goodput", "rtt_p95": "RTT, p95", "completion_p95": "completion, p95"}
    return tuple(Measure(f"harm to {to} {words[kind]}", "flow", name, f"harm_{kind}", bar) for kind in kinds)


def buffers(*bdp: float) -> Axis:
    """The bottleneck's buffer in bandwidth-delay products."""
    return Axis(QUEUE, {f"pfifo limit {one:g}BDP": f"{one:g} BDP" for one in bdp})


def case(
    name: str,
    asks: str,
    source: str,
    measures: Sequence[Measure],
    flows: Sequence[str],
    *,
    sets: Sequence[str] = (CONTROL,),
    axis: Axis | None = None,
    lone: str = "",
    quick: bool = False,
    modules: Sequence[str] = (),
    **network: Any,
) -> Case:
    """A case on the dumbbell; `network` replaces parts of 40 s of 10 Mbit/s, 40 ms and one BDP of buffer.

    Its text has no seeds: `experiment_of` adds those of the suite.
    """
    points = ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in axis.points) if axis else ""
    usual: dict[str, Any] = {
        "seeds": None,
        "duration": "40s",
        "warmup": "10s",
        "rate": f"{RATE_MBPS}mbit",
        "delay": "20ms",
    }
    usual |= {"queue": "pfifo limit 1BDP", "sweep": f'"{axis.path}" = [{points}]' if axis else ""}
    experiment = dumbbell(name, flows="\n".join(flows), **(usual | network))
    if modules:
        experiment = replace(experiment, text=f"modules = {json.dumps(list(modules))}\n{experiment.text}")
    return Case(name, asks, source, experiment, tuple(measures), tuple(sets), axis, lone, quick)


def queue_case(
    name: str, asks: str, source: str, measures: Sequence[Measure], flows: Sequence[str], **more: Any
) -> Case:
    """A case whose subject is the bottleneck's queue."""
    return case(name, asks, source, measures, flows, sets=(QUEUE,), **more)


def bulk(name: str, *, source: str = "h1", to: str = "h2", **fields: str | int) -> str:
    """A flow, or a group of them, that always has data to send."""
    return flow(name, "bulk", source=source, to=to, **fields)


def requests(name: str, size: str, think: str, **fields: str | int) -> str:
    """Four users at h2 who load this much from h1, again and again."""
    users = {"count": 4} | fields
    return flow(name, "request", source="h2", to="h1", response_size=size, think=think, **users)


def call(name: str) -> str:
    """A call: G.711 in packets of 20 ms, with the headers of RTP."""
    return flow(name, "cbr", rate="85.6kbit", packet_size=172)


def far_host(name: str, delay: str) -> str:
    """A further sender with a separate access link."""
    return f'[nodes.{name}]\n[links.access-{name}]\nends = ["{name}", "r1"]\nrate = "1gbit"\ndelay = "{delay}"\n'


def changes(*steps: tuple[str, str]) -> str:
    """Changes of the bottleneck: each with its time and its line."""
    return "".join(f'[[changes]]\nlink = "bottleneck"\nat = "{at}"\n{line}\n' for at, line in steps)


def at_state(when: str, since: str, line: str) -> str:
    """A change of the bottleneck at a state of the subject, which counts from a time on."""
    return f'[[changes]]\nlink = "bottleneck"\nat = "{since}"\nwhen = "{when}"\n{line}\n'


def policer(rate: str, burst: str) -> str:
    """A policer where packets of h1 enter r1."""
    police = f"filter add dev {{dev}} ingress matchall action police rate {rate} burst {burst} conform-exceed drop"
    lines = ("qdisc add dev {dev} root pfifo limit 1000", "qdisc add dev {dev} clsact", police)
    return f"[links.access.raw]\nr1 = {json.dumps(lines)}\n"

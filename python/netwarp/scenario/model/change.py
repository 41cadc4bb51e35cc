"""Changes of links and flows during a run (`changes`), and of nodes before it (`tuners.NAME`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from netwarp.lab_format.wires import CHANGING
from netwarp.scenario.model.condition import State
from netwarp.values.fields import (
    Directed,
    Duration,
    DurationDistribution,
    Line,
    Model,
    PositiveDuration,
    Queue,
    Rate,
    Sysctl,
    about,
    either_direction,
)

_OF_A_FLOW = {"link": None, "delay": None, "flow": "web"}


class Change(Model):
    """A change of a link, or of a group of flows, at an instant of the run. Properties that the change does not name
    stay as they are.

    [changes.md](changes.md) says what happens to packets that are queued or on the wire, and to flows.
    """

    at: Duration = about(
        "When the change happens, counted from the start of the run. With `when`: the time from which this counts; "
        "default: the start.",
        "2s",
        refused=["10s"],
        default=0,
    )
    when: State | None = about(
        "The change of a link happens at the first ACK of a flow after which this holds: a column of "
        "[`acks`](records.md), or a variable that its congestion control exports ([modules.md](modules.md)).",
        "web.0.snd_cwnd_pkts >= 20",
        refused=["web.0.cwnd >= 20"],
        default=None,
    )
    link: str | None = about(
        "Which link changes. Give either this or `flow`.", "bottleneck", refused=["botleneck"], default=None
    )
    flow: str | None = about(
        "Which group of flows changes.",
        "web",
        refused=["wbe"],
        beside={**_OF_A_FLOW, "active": 3},
        default=None,
    )
    over: PositiveDuration | None = about(
        "A ramp of this length: the new value is reached linearly, in steps. Not for queues.",
        "2s",
        refused=["9s"],
        default=None,
    )
    step: PositiveDuration | None = about(
        "The time between two steps of a ramp; default: a fiftieth of the ramp.",
        "100ms",
        refused=["3s"],
        beside={"over": "2s"},
        default=None,
    )
    repeat: PositiveDuration | None = about(
        "The period after which the whole change happens again, until the end of the run.",
        "4s",
        refused=["0s"],
        default=None,
    )
    times: int | None = about(
        "With `repeat`: how many times the change happens in all.",
        2,
        refused=[0, 9],
        beside={"repeat": "4s"},
        default=None,
        ge=1,
        strict=True,
    )
    outage: Annotated[Directed[PositiveDuration | None], either_direction(plain_is_both=True)] | None = about(
        "The wire passes nothing for this long; packets sent into it are lost.",
        "200ms",
        refused=["9s"],
        default=None,
    )
    rate: Annotated[Directed[Rate | None], either_direction(plain_is_both=True)] | None = about(
        "The rate from then on: of a link, or of a flow that has one (`cbr`, `poisson`, `on_off`).",
        "1mbit",
        refused=["1kbit"],
        default=None,
    )
    think: DurationDistribution | None = about(
        "For `request` and `incast` flows: the length of pauses that begin from then on.",
        "5s exponential",
        refused=["5"],
        beside=_OF_A_FLOW,
        default=None,
    )
    active: int | None = about(
        "For groups of UDP, `request` or `incast` flows: how many of them, the first ones, are active from then on. "
        "The others send nothing until they are active again.",
        3,
        refused=[-1, 9],
        beside=_OF_A_FLOW,
        default=None,
        ge=0,
        strict=True,
    )
    if not TYPE_CHECKING:
        # The fields of the wire's properties, as their records define them.
        __annotations__ |= {found.name: found.change_field()[0] for found in CHANGING}
        vars().update({found.name: found.change_field()[1] for found in CHANGING})
    queue: Annotated[Directed[Queue | None], either_direction(plain_is_both=False)] | None = about(
        "The queue from then on. If it is of another kind, queued packets are dropped.",
        "pfifo limit 20",
        refused=[""],
        default=None,
    )


class Tuner(Model):
    """The tuning of some nodes. `run.tuner` names the tuner in use, and a sweep can vary it:
    `"run.tuner" = ["default", "big"]`."""

    nodes: tuple[str, ...] | None = about(
        "The nodes that are tuned; default: all.", ["h1"], refused=[["h9"]], default=None
    )
    sysctl: Sysctl = about(
        "Sysctls of these nodes' network namespaces.",
        {"net.ipv4.tcp_rmem": "4096 131072 6291456"},
        refused=[{"tcp_rmem": "4096 131072 6291456"}],
        default_factory=dict,
    )
    queue: Queue | None = about(
        "Replaces the queues at these nodes' ends of links, as net.core.default_qdisc would on a host.",
        "fq",
        refused=[""],
        beside={"nodes": ["h1"]},
        default=None,
    )
    program: tuple[Line, ...] | None = about(
        "A program that tunes by itself, such as bpftune. It is started on each of these nodes before the flows, must "
        "run until the run ends, and is then terminated. Its output is kept (tuner-NODE.out), and the sysctls that it "
        "changes are recorded (sysctls.arrows).",
        ["/usr/sbin/bpftune", "-s"],
        refused=[[]],
        default=None,
        min_length=1,
    )

    def tunes(self, node: str) -> bool:
        """Whether this node is among those it is for."""
        return self.nodes is None or node in self.nodes

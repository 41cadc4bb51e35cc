"""What changes: links and flows during a run (`changes`), nodes before it (`tuners.NAME`)."""

from __future__ import annotations

from typing import Annotated

from netwarp.fields import (
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
from netwarp.scenario.model.netem import JitterField, LossField

_OF_A_FLOW = {"link": None, "delay": None, "flow": "web"}


class Change(Model):
    """What changes of a link, or of a group of flows, at a moment of the run; what is not named stays as it is.

    [changes.md](changes.md) says what happens to packets that wait or are under way, and to flows.
    """

    at: Duration = about("When, from the start of the run.", "2s", refused=["10s"])
    link: str | None = about("Which link; or `flow`.", "bottleneck", refused=["botleneck"], default=None)
    flow: str | None = about(
        "Which group of flows, in place of a link.",
        "web",
        refused=["wbe"],
        beside={**_OF_A_FLOW, "active": 3},
        default=None,
    )
    over: PositiveDuration | None = about(
        "A ramp: get there in steps on a straight line, within this time. Not for queues.",
        "2s",
        refused=["9s"],
        default=None,
    )
    step: PositiveDuration | None = about(
        "The time between two steps of a ramp; a fiftieth of it unless given.",
        "100ms",
        refused=["3s"],
        beside={"over": "2s"},
        default=None,
    )
    repeat: PositiveDuration | None = about(
        "All of it happens again after each such time, to the end of the run.",
        "4s",
        refused=["0s"],
        default=None,
    )
    times: int | None = about(
        "How often in all, with `repeat`.", 2, refused=[0, 9], beside={"repeat": "4s"}, default=None, ge=1, strict=True
    )
    outage: Annotated[Directed[PositiveDuration | None], either_direction(plain_is_both=True)] | None = about(
        "For so long nothing gets through the wire; what is sent into it is lost.",
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
        "Of a `request` or `incast` flow: the pauses that begin from then on.",
        "5s exponential",
        refused=["5"],
        beside=_OF_A_FLOW,
        default=None,
    )
    active: int | None = about(
        "Of a group of UDP, `request` or `incast` flows: how many are active from then on, its first ones. The others "
        "send nothing until they are active again.",
        3,
        refused=[-1, 9],
        beside=_OF_A_FLOW,
        default=None,
        ge=0,
        strict=True,
    )
    delay: Annotated[Directed[Duration | None], either_direction(plain_is_both=True)] | None = about(
        "The delay from then on.", "50ms", refused=["50"], default=None
    )
    jitter: Annotated[Directed[JitterField | None], either_direction(plain_is_both=True)] | None = about(
        "The jitter from then on.", "5ms", refused=["5"], default=None
    )
    loss: Annotated[Directed[LossField | None], either_direction(plain_is_both=True)] | None = about(
        "The losses from then on.", "2%", refused=["2"], default=None
    )
    queue: Annotated[Directed[Queue | None], either_direction(plain_is_both=False)] | None = about(
        "The queue from then on. One of another kind drops the packets that wait.",
        "pfifo limit 20",
        refused=[""],
        default=None,
    )


class Tuner(Model):
    """What some nodes are tuned with. `run.tuner` names the one in use, and a sweep can vary it:
    `"run.tuner" = ["default", "big"]`."""

    nodes: tuple[str, ...] | None = about(
        "Which nodes; all of them unless given.", ["h1"], refused=[["h9"]], default=None
    )
    sysctl: Sysctl = about(
        "Kernel settings of these nodes' network namespaces.",
        {"net.ipv4.tcp_rmem": "4096 131072 6291456"},
        refused=[{"tcp_rmem": "4096 131072 6291456"}],
        default_factory=dict,
    )
    queue: Queue | None = about(
        "A queue in place of those at these nodes' ends of links, as net.core.default_qdisc gives a host.",
        "fq",
        refused=[""],
        beside={"nodes": ["h1"]},
        default=None,
    )
    program: tuple[Line, ...] | None = about(
        "A program that tunes by itself, such as bpftune: it is started on each of these nodes before the flows, must "
        "live until the run ends, and is ended then. What it prints is kept (tuner-NODE.out), what it sets is recorded "
        "(sysctls.arrows).",
        ["/usr/sbin/bpftune", "-s"],
        refused=[[]],
        default=None,
        min_length=1,
    )

    def tunes(self, node: str) -> bool:
        """Whether this node is among those it is for."""
        return self.nodes is None or node in self.nodes

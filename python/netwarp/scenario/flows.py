"""Traffic: one model for each tool. A field of another tool is refused, with the name of the tool it belongs to."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from netwarp.scenario import units
from netwarp.scenario.fields import (
    Duration,
    Line,
    Model,
    Name,
    PositiveDuration,
    PositiveSize,
    Rate,
    Spread,
    SpreadDuration,
    SpreadSize,
    about,
    kind,
    quantity_pattern,
)

CongestionControl = Annotated[
    str,
    Field(pattern=(_CC := r"^[a-z][a-z0-9_]{0,14}$")),
    kind("congestion control", "cubic", "bbr", "reno", pattern=_CC),
]
MAX_PAYLOAD_BYTES = 65507
TOOL = "What makes the traffic."
CC = "The sender's congestion control; any that the kernel has."


class FlowBase(Model):
    """What every flow has: its ends, how many of it, and when."""

    from_: Name = about("The node that sends.", "h1", refused=["h9"], alias="from")
    to: Name = about("The node that receives.", "h2", refused=["h1"])
    count: int = about(
        "How many flows of this kind run; 0 is none, as in a case without it. Of several, each is named `group.0`, "
        "`group.1` …",
        4,
        refused=[-1, 1001],
        default=1,
        ge=0,
        le=1000,
        strict=True,
    )
    start: Duration = about(
        "When it starts. Its start phase, drawn from the seed within `run.start_jitter`, is added.",
        "2s",
        refused=["10s"],
        default=0,
    )
    duration: PositiveDuration | None = about(
        "How long it lasts; to the end of the run unless given.", "5s", refused=["11s"], default=None
    )
    family: Literal["ipv4", "ipv6"] = about("The version of IP.", "ipv6", refused=["ipv5"], default="ipv4")


class BulkFlow(FlowBase):
    """TCP that always has data to send, until `duration` is over or `bytes` are sent.

    With `connect_ahead` its connection is opened that long before `start`, and all flows of the group start to send in
    the same instant, as the streams of iperf3 -P do. Without it each has a start phase of its own and connects at its
    start, so that one whose SYN is lost connects a second later, through the queue of the others.
    """

    tool: Literal["bulk"] = about(TOOL, "bulk")
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    bytes: PositiveSize | None = about(
        "How much to send; without it, data never run out.", "10MB", refused=[0], default=None
    )
    connect_ahead: Duration = about(
        "How long before `start` the connection is opened.",
        "1s",
        refused=["3s"],
        beside={"start": "2s"},
        default=0,
    )


class _UdpFlow(FlowBase):
    rate: Rate = about("The rate of frames with all their headers, while it sends.", "2mbit", refused=["0bit"])
    packet_size: SpreadSize = about(
        "Payload of a packet in bytes. A drawn size is cut at what one packet of the path holds.",
        "600 exponential",
        refused=[0, "600 gaussian"],
        default=Spread(mean=1472),
    )


class CbrFlow(_UdpFlow):
    """UDP packets at even intervals; `rate` counts frames with all their headers, `packet_size` is payload bytes."""

    tool: Literal["cbr"] = about(TOOL, "cbr")


class PoissonFlow(_UdpFlow):
    """UDP packets at exponential intervals; `rate` counts frames with all their headers."""

    tool: Literal["poisson"] = about(TOOL, "poisson")


class OnOffFlow(_UdpFlow):
    """UDP at `rate` for a while (`on`), then silence (`off`), over and over."""

    tool: Literal["on_off"] = about(TOOL, "on_off")
    on: SpreadDuration = about("How long it sends each time.", "200ms exponential", refused=["200ms normal"])
    off: SpreadDuration = about("How long it is silent each time.", "1s", refused=[1])


class RequestFlow(FlowBase):
    """TCP requests answered by responses, with a pause (`think`) between a response and the next request."""

    tool: Literal["request"] = about(TOOL, "request")
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    request_size: SpreadSize = about("Bytes of a request.", 200, refused=[0], default=Spread(mean=100))
    response_size: SpreadSize = about("Bytes of a response.", "30kB pareto", refused=["30k"])
    think: SpreadDuration = about(
        "The pause between a response and the next request.",
        "500ms exponential",
        refused=["-1ms"],
        default=Spread(mean=0),
    )


def _iperf_rate(value: object) -> int:
    """bit/s of the tool's -b; 0, as there, is no limit."""
    return 0 if value == "unlimited" else units.parse_positive_rate(value)


class Iperf3Flow(FlowBase):
    """The real iperf3. `rate` is its -b (`"unlimited"` is -b 0), `args` are passed on as they are."""

    tool: Literal["iperf3"] = about(TOOL, "iperf3")
    protocol: Literal["tcp", "udp"] = about("What it sends.", "udp", refused=["sctp"], default="tcp")
    cc: CongestionControl | None = about(
        "Congestion control of TCP (-C); the kernel's default unless given.", "reno", refused=["BBR"], default=None
    )
    rate: (
        Annotated[
            int,
            BeforeValidator(_iperf_rate),
            kind(
                "rate of iperf3",
                "unlimited",
                "10mbit",
                pattern=f"{quantity_pattern(units.RATE_UNITS, any_case=True)}|^unlimited$",
            ),
        ]
        | None
    ) = about(
        'Its -b: a rate, or `"unlimited"` (-b 0). Unless given, iperf3\'s own default: no limit for TCP, 1 Mbit/s for '
        "UDP.",
        "unlimited",
        refused=["10mbps"],
        default=None,
    )
    bytes: PositiveSize | None = about("How much to send (-n).", "10MB", refused=[0], default=None)
    args: tuple[Line, ...] = about(
        "Further arguments of the client, as they are.", ["-P", "4"], refused=["-P 4"], default=()
    )


class PingFlow(FlowBase):
    """Echo requests every `interval` with `size` bytes of payload."""

    tool: Literal["ping"] = about(TOOL, "ping")
    interval: PositiveDuration = about("The time between two requests.", "10ms", refused=["0s"], default=100_000_000)
    size: int = about(
        "Payload of a request in bytes.",
        1000,
        refused=[15, "1kB"],
        default=56,
        ge=16,
        le=MAX_PAYLOAD_BYTES,
        strict=True,
    )


class CommandFlow(FlowBase):
    """Any program of the host, with its arguments: `client` runs on the node `from`, `server` on the node `to`.

    In a word of either, `{source}` and `{destination}` become the flow's addresses, and `{port}` its destination port.
    What a program prints is kept in the run's directory.
    """

    tool: Literal["command"] = about(TOOL, "command")
    client: tuple[Line, ...] = about(
        "The program on `from` and its arguments, started at `start`.",
        ["ping", "-c", "3", "{destination}"],
        refused=[[], "ping {destination}"],
        min_length=1,
    )
    server: tuple[Line, ...] | None = about(
        "The program on `to` and its arguments, started before the run begins.",
        ["python3", "-m", "http.server", "{port}"],
        refused=[[]],
        default=None,
        min_length=1,
    )
    ready: Annotated[str, Field(pattern=r"^port [1-9][0-9]{0,4}$")] | None = about(
        "What shows that the server is ready: it listens on this port. The run begins after that.",
        "port 8080",
        refused=["8080"],
        beside={"server": ["python3", "-m", "http.server", "8080"]},
        default=None,
    )


Flow = Annotated[
    BulkFlow | CbrFlow | PoissonFlow | OnOffFlow | RequestFlow | Iperf3Flow | PingFlow | CommandFlow,
    Field(discriminator="tool"),
]
FLOW_MODELS: dict[str, type[FlowBase]] = {
    "bulk": BulkFlow,
    "cbr": CbrFlow,
    "poisson": PoissonFlow,
    "on_off": OnOffFlow,
    "request": RequestFlow,
    "iperf3": Iperf3Flow,
    "ping": PingFlow,
    "command": CommandFlow,
}


def flow_fields(tool: str | None = None) -> list[str]:
    """The fields of the given tool's flows as the file spells them; of all tools without one."""
    models: list[Any] = [FLOW_MODELS[tool]] if tool in FLOW_MODELS else list(FLOW_MODELS.values())
    return list(dict.fromkeys(field.alias or name for model in models for name, field in model.model_fields.items()))


def tools_with(field: str) -> list[str]:
    """The tools whose flows have this field."""
    return [tool for tool in FLOW_MODELS if field in flow_fields(tool)]

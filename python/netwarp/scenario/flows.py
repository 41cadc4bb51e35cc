"""Traffic: one model for each tool. A field of another tool is refused, with the name of the tool it belongs to."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

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
)

CongestionControl = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,14}$", examples=["cubic", "bbr", "reno"])]
MAX_PAYLOAD_BYTES = 65507


class FlowBase(Model):
    """What every flow has: its ends, how many of it (0: none, as in a case without it), and when (`duration` None: to
    the end of the run)."""

    from_: Name = Field(alias="from")
    to: Name
    count: int = Field(default=1, ge=0, le=1000)
    start: Duration = 0
    duration: PositiveDuration | None = None
    family: Literal["ipv4", "ipv6"] = "ipv4"


class BulkFlow(FlowBase):
    """TCP that always has data to send, until `duration` is over or `bytes` are sent.

    With `connect_ahead` its connection is opened that long before `start`, and all flows of the group start to send in
    the same instant, as the streams of iperf3 -P do. Without it each has a start phase of its own and connects at its
    start, so that one whose SYN is lost connects a second later, through the queue of the others.
    """

    tool: Literal["bulk"]
    cc: CongestionControl = "cubic"
    bytes: PositiveSize | None = None
    connect_ahead: Duration = 0


class _UdpFlow(FlowBase):
    rate: Rate
    packet_size: SpreadSize = Spread(mean=1472)


class CbrFlow(_UdpFlow):
    """UDP packets at even intervals; `rate` counts frames with all their headers, `packet_size` is payload bytes."""

    tool: Literal["cbr"]


class PoissonFlow(_UdpFlow):
    """UDP packets at exponential intervals; `rate` counts frames with all their headers."""

    tool: Literal["poisson"]


class OnOffFlow(_UdpFlow):
    """UDP at `rate` for a while (`on`), then silence (`off`), over and over."""

    tool: Literal["on_off"]
    on: SpreadDuration
    off: SpreadDuration


class RequestFlow(FlowBase):
    """TCP requests answered by responses, with a pause (`think`) between a response and the next request."""

    tool: Literal["request"]
    cc: CongestionControl = "cubic"
    request_size: SpreadSize = Spread(mean=100)
    response_size: SpreadSize
    think: SpreadDuration = Spread(mean=0)


def _iperf_rate(value: object) -> int:
    """bit/s of the tool's -b; 0, as there, is no limit."""
    return 0 if value == "unlimited" else units.parse_positive_rate(value)


class Iperf3Flow(FlowBase):
    """The real iperf3. `rate` is its -b (`"unlimited"` is -b 0), `args` are passed on as they are."""

    tool: Literal["iperf3"]
    protocol: Literal["tcp", "udp"] = "tcp"
    cc: CongestionControl | None = None
    rate: (
        Annotated[
            int,
            BeforeValidator(_iperf_rate),
            WithJsonSchema({"type": "string", "examples": ["unlimited", "10mbit"]}),
        ]
        | None
    ) = None
    bytes: PositiveSize | None = None
    args: tuple[Line, ...] = ()


class PingFlow(FlowBase):
    """Echo requests every `interval` with `size` bytes of payload."""

    tool: Literal["ping"]
    interval: PositiveDuration = 100_000_000
    size: int = Field(default=56, ge=16, le=MAX_PAYLOAD_BYTES)


class CommandFlow(FlowBase):
    """Any program: `server` runs on `to`, and `client` on `from` once the server is `ready` (`"port 8080"`)."""

    tool: Literal["command"]
    client: tuple[Line, ...] = Field(min_length=1)
    server: tuple[Line, ...] | None = Field(default=None, min_length=1)
    ready: Annotated[str, Field(pattern=r"^port [1-9][0-9]{0,4}$", examples=["port 8080"])] | None = None


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

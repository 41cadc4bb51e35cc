"""A link between two nodes: the tables `links.NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema, model_validator

from netwarp.lab_format.wires import PROPERTIES
from netwarp.lab_format.wires.netem import Jitter, LossModel
from netwarp.lab_format.wires.planned import Plan
from netwarp.scenario.model.energy import PortField
from netwarp.scenario.model.link_presets import LINK_PRESETS, PresetName, with_preset
from netwarp.scenario.model.trace import Trace, TraceField
from netwarp.values.fields import (
    Directed,
    InterfaceName,
    Line,
    Model,
    Name,
    Queue,
    Rate,
    about,
    both_directions,
    either_direction,
)

Addresses = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema(
        {"title": "addresses", "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    ),
]
_DEFAULT_QUEUE = Directed[Queue | None].model_construct(forward=None, reverse=None)
_NO_TRACE = Directed[TraceField | None].model_construct(forward=None, reverse=None)


def _rate_or_trace(value: object, info: ValidationInfo) -> object:
    """Use the first rate of the direction's trace if the rate is left out."""
    if value is not None and not isinstance(value, dict):
        return value
    given = value or {}
    trace: Directed[Trace | None] | None = info.data.get("trace")
    if trace is None:  # the trace's own error is reported already
        return {"forward": "1gbit", "reverse": "1gbit"} | given
    begins = {name: trace.of(direction) for direction, name in enumerate(("forward", "reverse"))}
    rates = {name: f"{t.first_rate_bps}bit" for name, t in begins.items() if t and t.first_rate_bps} | given
    if value is None and len(rates) < 2:
        if not any(begins.values()):
            raise ValueError('the link has no `rate`; every link has a finite one, such as rate = "1gbit"')
        name = next(name for name in begins if name not in rates)
        raise ValueError(f'the trace does not give the initial rate ({name}); set it, such as rate = "10mbit"')
    return rates


class Link(Model):
    """A link between two nodes: a rate and a queue at each sending end, and a wire between them.

    `forward` is the direction from the first end to the second, `reverse` the opposite one. A property that can
    differ by direction takes a plain value or a table such as `{ forward = "10ms", reverse = "20ms" }`.
    """

    ends: tuple[Name, ...] = about("The two nodes.", ["r1", "h2"], refused=[["r1"], ["r1", "r1"]], min_length=1)
    like: PresetName | None = about(
        "A preset (see below) for the fields that the link does not have itself: `ends` are the provider and the user.",
        "dsl",
        refused=["dls"],
        beside={"rate": None, "delay": None, "queue": None},
        default=None,
    )
    interfaces: tuple[InterfaceName, InterfaceName] | None = about(
        "Names of the interfaces at the two ends; default: `eth0`, `eth1` … on each node.",
        ["wan0", "eth0"],
        refused=[["lo", "eth0"]],
        default=None,
    )
    addresses: tuple[Addresses, Addresses] | None = about(
        "Addresses of the two ends with prefix lengths: IPv4, IPv6 or a list of both. Default: "
        "`10.0.K.1/24` and `fd6e:7700:0:K::1/64` for link number K, and `.2` at the other end.",
        ["192.168.1.1/24", "192.168.1.2/24"],
        refused=[["192.168.1.1", "192.168.1.2"], ["192.168.1.1/24", "192.168.2.2/24"]],
        default=None,
    )
    trace: Annotated[Directed[TraceField | None], either_direction(plain_is_both=True)] = about(
        "A shipped trace, or a file (relative to the scenario's), of the link's rate, delay and loss over time. A "
        "plain value applies to both directions. See [changes.md](changes.md).",
        "lte",
        refused=["3g"],
        beside={"rate": None},
        default=_NO_TRACE,
    )
    rate: Annotated[Directed[Rate], both_directions(), BeforeValidator(_rate_or_trace)] = about(
        "The rate at which each end sends frames. Every link needs one, from here or from a trace. A plain value "
        "applies to both directions.",
        "5mbit",
        refused=["10mbps", "5", "0bit", "20tbit"],
        default=None,
        validate_default=True,
    )
    if TYPE_CHECKING:
        delay: Directed[int]
        jitter: Directed[Jitter]
        loss: Directed[LossModel | Plan]
    else:
        # The fields of the wire's properties, as their records define them.
        __annotations__ |= {found.name: found.link_field()[0] for found in PROPERTIES}
        vars().update({found.name: found.link_field()[1] for found in PROPERTIES})
    queue: Annotated[Directed[Queue | None], either_direction(plain_is_both=False)] = about(
        "Queue discipline of the sending end and its options, in tc's syntax. A plain value applies to the forward "
        "direction only. A `limit` may be relative: `0.5BDP`, a part of the rate at the start × the largest RTT of the "
        "flows through it, or `20ms`, the amount that this rate sends in that time. The lab has it in packets or "
        "bytes, as the discipline counts (`netwarp show`). Default: `pfifo` with room for two bandwidth-delay "
        "products, at least 1000 packets.",
        "pfifo limit 100",
        "fq_codel limit 0.5BDP",
        refused=["qdisc add pfifo", "", "noqueue"],
        default=_DEFAULT_QUEUE,
    )
    mtu: int = about(
        "Maximum size of an IP packet in bytes; IPv6 requires at least 1280 (RFC 8200).",
        9000,
        refused=[1279, 70000],
        default=1500,
        ge=1280,
        le=65535,
        strict=True,
    )
    offload: bool = about(
        "Segmentation and aggregation offloads (TSO, GSO, GRO).", True, refused=[1], default=False, strict=True
    )
    wire: Literal["auto", "netem", "device"] = about(
        "What carries the packets: a `device` of netwarp's kernel, as whose root the queue is on a network card; or "
        "`netem` behind a shaper, whose child is the queue. `auto`: a device with the engine uml, except where a link "
        "has what netem alone does; netem with the other engines ([wires.md](wires.md)).",
        "netem",
        refused=["cable"],
        default="auto",
    )
    ring: int = about(
        "How many frames a link that is a device takes from its queue before the first has left: the descriptors "
        "of a network card's transmit ring. With more than one, byte queue limits decide how many it holds.",
        256,
        refused=[0],
        default=1,
        ge=1,
        le=65535,
        strict=True,
    )
    energy: PortField | None = about(
        "Model of the energy of this link's ports: a shipped one, or a file (relative to the scenario's). It is "
        "computed after the run and changes no packet ([energy.md](energy.md)).",
        "1000base-t-eee",
        refused=["1000base-x", "lte"],
        default=None,
    )
    raw: dict[str, tuple[Line, ...]] = about(
        "tc commands for an end's interface `{dev}`, executed in this order, in place of rate and queue.",
        {"r1": ["qdisc add dev {dev} root handle 1: tbf rate 10mbit burst 5kb limit 100kb"]},
        refused=[{"h1": ["qdisc add dev {dev} root pfifo"]}],
        beside={"queue": None},
        default_factory=dict,
    )

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, data: Any) -> Any:
        known = isinstance(data, dict) and data.get("like") in LINK_PRESETS
        return with_preset(data, data["like"]) if known else data

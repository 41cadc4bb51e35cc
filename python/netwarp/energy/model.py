"""The models of energy: the fields of their files, with units. Each number of a file has a source there.

They are plain data: scenarios name them, `run.json` has them, and `analysis/energy/` computes with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from netwarp.common.words import nearest, shortened

_STRICT = ConfigDict(extra="forbid")
Watts = Annotated[float, Field(ge=0, le=1e6, strict=True, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e9, strict=True, allow_inf_nan=False)]
"""A time, or a share of energy, in the unit that the field's name ends with."""
Length = Annotated[float, Field(gt=0, le=1e9, strict=True, allow_inf_nan=False)]
"""A time above 0, in the unit that the field's name ends with."""
Share = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**6, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LowPowerIdle:
    """Energy-Efficient Ethernet (IEEE 802.3az, clause 78): a direction without frames falls asleep in `sleep_us` (Ts),
    is quiet for `quiet_us` (Tq) between refreshes of `refresh_us` (Tr), and takes `wake_us` (Tw) before its next frame.

    `quiet_share` is the power while it is quiet, as a share of the active power; asleep, waking and refreshing cost
    the active power. `both_directions`: it sleeps only while neither direction has frames.
    """

    __pydantic_config__ = _STRICT
    sleep_us: Amount
    wake_us: Amount
    quiet_us: Length
    refresh_us: Amount
    quiet_share: Share
    both_directions: bool = False

    @property
    def mean_share(self) -> float:
        """The mean power asleep, refreshes included, as a share of the active power."""
        return (self.quiet_us * self.quiet_share + self.refresh_us) / (self.quiet_us + self.refresh_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalescing:
    """Burst transmission: a sleeping direction wakes `time_us` after the first frame that waits, or with the
    `frames`-th; without a number of them it waits for the time alone."""

    __pydantic_config__ = _STRICT
    time_us: Amount
    frames: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A link's port: it sends at `rate_mbps`, and each frame takes `overhead_bytes` more than its Ethernet frame
    without checksum. `active_w` is one port's power, and that of a direction: the sender's half at one end, and the
    receiver's at the other. Without `low_power_idle` it never sleeps."""

    __pydantic_config__ = _STRICT
    kind: Literal["port"] = "port"
    name: str = ""
    summary: str
    rate_mbps: Length
    overhead_bytes: Annotated[int, Field(ge=0, le=1000, strict=True)]
    active_w: Watts
    low_power_idle: LowPowerIdle | None = None
    coalescing: Coalescing | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A router or switch: `idle_w` without ports, `port_w` for each link that has no model of its ports, and the energy
    of each packet and of each byte of a frame that it sends."""

    __pydantic_config__ = _STRICT
    kind: Literal["switch"] = "switch"
    name: str = ""
    summary: str
    idle_w: Watts
    port_w: Watts
    packet_nj: Amount
    byte_nj: Amount
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host's network stack: the energy beyond `idle_w` of sending or receiving a packet, of each byte of its frame,
    of a TCP acknowledgement without data (`ack_uj` in place of the packet's), and of waking up for the first packet
    after `awake_ms` without any. An aggregate counts as one packet, as it passes the stack once."""

    __pydantic_config__ = _STRICT
    kind: Literal["host"] = "host"
    name: str = ""
    summary: str
    idle_w: Watts
    sent_packet_uj: Amount
    received_packet_uj: Amount
    ack_uj: Amount
    byte_nj: Amount
    wakeup_uj: Amount
    awake_ms: Amount
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A radio that listens for `on_ms` of every `period_ms` with `on_mw`, and draws `base_mw` otherwise."""

    __pydantic_config__ = _STRICT
    base_mw: Amount
    on_mw: Amount = 0.0
    on_ms: Amount = 0.0
    period_ms: Length = 1.0

    @property
    def mean_w(self) -> float:
        """Its mean power."""
        on = min(self.on_ms / self.period_ms, 1.0)
        return (on * self.on_mw + (1 - on) * self.base_mw) / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail(Cycle):
    """A cycle that lasts for `duration_ms` after a packet, or after the tail before it."""

    __pydantic_config__ = _STRICT
    duration_ms: Length


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """A modem or a Wi-Fi station, as the node that has it. A packet that finds it idle promotes it, which takes
    `promotion_ms` at `promotion_mw`. From then it is active at `active_mw` until `inactivity_ms` after the last packet,
    passes through its `tails`, and is idle. Each Mbit costs `uplink_mj_per_mbit` or `downlink_mj_per_mbit` in addition,
    which is a power that grows with the throughput, in mW per Mbit/s."""

    __pydantic_config__ = _STRICT
    kind: Literal["radio"] = "radio"
    name: str = ""
    summary: str
    promotion_ms: Amount
    promotion_mw: Amount
    active_mw: Amount
    uplink_mj_per_mbit: Amount
    downlink_mj_per_mbit: Amount
    inactivity_ms: Amount
    tails: tuple[Tail, ...] = ()
    idle: Cycle
    sources: Mapping[str, str] = field(default_factory=dict)


NodeModel = Switch | Host | Radio
Model = Port | NodeModel
KINDS: Mapping[str, type[Model]] = {"port": Port, "switch": Switch, "host": Host, "radio": Radio}


@cache
def _reader(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


def read_model(data: Mapping[str, Any]) -> Model:
    """The model in a file's data. Raises ValueError with a sentence, also if one of its numbers has no source."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f'its kind is {kind!r}; expected kind = "KIND" with one of {", ".join(KINDS)}')
    try:
        model: Model = _reader(kind).validate_python(dict(data))
    except ValidationError as error:
        raise ValueError(_sentence(error.errors(include_url=False)[0], kind)) from None
    numbers = set(_numbers(model))
    if missing := sorted(numbers - model.sources.keys()):
        raise ValueError(f'"{missing[0]}" has no source; say under [sources] where it is from, or "assumed: …"')
    if unknown := sorted(model.sources.keys() - numbers):
        raise ValueError(f'[sources] has "{unknown[0]}", which is not a number of this model')
    return model


_EXPECTED = {
    "greater_than_equal": "a number of at least {ge:,.0f}",
    "greater_than": "a number above {gt:,.0f}",
    "less_than_equal": "a number of at most {le:,.0f}",
    "finite_number": "a finite number",
    "float_type": "a number, without quotes",
    "int_type": "a whole number, without quotes",
    "string_type": 'text in quotes, such as "assumed: …"',
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}


def _sentence(detail: ErrorDetails, kind: str) -> str:
    """An error of pydantic in words for the author of the file."""
    where = ".".join(map(str, detail["loc"]))
    if detail["type"] == "missing":
        return f"{where} is missing; a {kind} needs it"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        names = [one.name for one in fields(KINDS[kind])] if len(detail["loc"]) == 1 else []
        return f"{where} is not a field of a {kind}{nearest(str(detail['loc'][-1]), names)}; remove it"
    expected = _EXPECTED.get(detail["type"])
    if expected is None:
        return f"{where or kind}: {detail['msg'][:200]}"
    return f"{where} is {shortened(repr(detail['input']), 50)}; expected {expected.format(**detail.get('ctx', {}))}"


def _numbers(model: Any, prefix: str = "") -> list[str]:
    """The fields of a model that need a source: its numbers, and its tables as a whole."""
    found = []
    for one in fields(model):
        value = getattr(model, one.name)
        if is_dataclass(value):
            found += _numbers(value, f"{prefix}{one.name}.")
        elif (isinstance(value, tuple) and value) or isinstance(value, int | float):
            found.append(f"{prefix}{one.name}")
    return found

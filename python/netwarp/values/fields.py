"""The types of a scenario's fields: each a parser of a unit with its JSON Schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from netwarp.values import units
from netwarp.values.json_values import JsonObject
from netwarp.values.names import KERNEL_NAME, NAME, checked_kernel_name, checked_label, checked_name
from netwarp.values.qdisc import written

T = TypeVar("T")

NODE_WIRE = "wire"
"""The name of the hidden namespace that holds the wires; no node may have it."""


class Model(BaseModel):
    """The base of all parts of a scenario: unknown fields are refused, validated values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


if TYPE_CHECKING:
    OnDemand = Annotated[T, "on demand"]
else:

    class OnDemand:
        """A part of a scenario, `OnDemand[Link]`, whose validator is built when the first such part is validated.

        Building a validator takes milliseconds, and a scenario has few kinds of parts; that of a command has none. Of a
        union whose `tag` names one of its `members`, only those are built that values name.
        """

        def __init__(self, part: Any, tag: str = "", members: Mapping[str, type[Model]] | None = None) -> None:
            self.part = part
            self._tag = tag
            self._members = members or {}
            self._validators: dict[str, SchemaValidator] = {}

        def __class_getitem__(cls, part: Any) -> Any:
            return Annotated[part, cls(part)]

        @cached_property
        def adapter(self) -> TypeAdapter[Any]:
            """The validator of the part."""
            return TypeAdapter(_built(self.part))

        def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
            return core_schema.with_info_plain_validator_function(
                lambda value, info: self._validator(value).validate_python(value, context=info.context)
            )

        def _validator(self, value: Any) -> TypeAdapter[Any] | SchemaValidator:
            """The validator of a value: that of the member which its tag names, or of the union if it is unknown."""
            tag = value.get(self._tag) if isinstance(value, dict) else None
            if not isinstance(tag, str) or tag not in self._members:
                return self.adapter
            if tag not in self._validators:
                member = {tag: _built(self._members[tag]).__pydantic_core_schema__}
                self._validators[tag] = SchemaValidator(core_schema.tagged_union_schema(member, self._tag))
            return self._validators[tag]

        def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
            return handler(core_schema.definitions_schema(self.adapter.core_schema, []))


def _built(part: Any) -> Any:
    """The part; if it is a model, with its validator built, which its serializer then need not build again."""
    if isinstance(part, type) and issubclass(part, BaseModel):
        part.model_rebuild()
    return part


def about(
    description: str,
    *examples: Any,
    refused: Sequence[Any] = (),
    beside: JsonObject | None = None,
    **options: Any,
) -> Any:
    """Define a field with its description, examples, and refused values.

    The JSON Schema and docs/scenario.md are generated from this; the page quotes netwarp's error for each refused
    value. `beside` has other fields that the examples need (None: fields that they exclude). `options` are pydantic's.
    """
    extra: dict[str, Any] = {"refused": list(refused), "beside": dict(beside or {})}
    return Field(description=description, examples=list(examples), json_schema_extra=extra, **options)


def kind(title: str, *examples: str, pattern: str | None = None, number: int | None = None) -> WithJsonSchema:
    """The JSON Schema of a value that is written as text, or if `number` is given also as a whole number from there."""
    text: dict[str, Any] = {"type": "string", "examples": list(examples)}
    if pattern is not None:
        text["pattern"] = pattern
    if number is None:
        return WithJsonSchema(text | {"title": title})
    return WithJsonSchema({"title": title, "anyOf": [text, {"type": "integer", "minimum": number}]})


def listed(title: str, *examples: str) -> WithJsonSchema:
    """The JSON Schema of a value that is written as a list of texts."""
    items = {"type": "string", "examples": list(examples)}
    return WithJsonSchema({"title": title, "type": "array", "items": items})


def quantity_pattern(names: Iterable[str], any_case: bool = False) -> str:
    """The regular expression of a number with one of these units."""
    spelled = ("".join(f"[{c}{c.upper()}]" for c in name) if any_case else name for name in names)
    return rf"^\s*\+?\d+(\.\d+)?\s?({'|'.join(spelled)})\s*$"


def _positive_duration(value: object) -> int:
    duration = units.parse_duration(value)
    if duration == 0:
        raise ValueError('must be longer than 0, such as "100ms"')
    return duration


def _positive_size(value: object) -> int:
    size = units.parse_size(value)
    if size == 0:
        raise ValueError('must be more than 0 bytes, such as "10MB"')
    return size


def _interface(value: str) -> str:
    """Check an interface's name: IFNAMSIZ is 16 with the final NUL, dev_valid_name() refuses '/', ':', white space,
    "." and ".."."""
    if len(value.encode()) > 15:
        raise ValueError(f'"{value[:80]}" is too long; Linux allows interface names of at most 15 characters')
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", value, re.ASCII) or value in {".", "..", "lo"}:
        raise ValueError(f'"{value}" cannot name an interface; use letters, digits, "_", "-" and "." ("lo" is taken)')
    return value


def _one_line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("must be one line of printable text")
    return value.strip()


def _queue(value: str) -> str:
    words = _one_line(value).split()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", words[0]) or words[0] in {"qdisc", "tc", "add", "root", "dev", "parent"}:
        raise ValueError(
            f'"{value[:80]}" is not a queue; write the qdisc and its options in tc\'s syntax, '
            'such as "pfifo limit 100" or "fq_codel"'
        )
    if words[0] == "noqueue":
        raise ValueError(
            '"noqueue" holds no packets: all that come while another leaves are lost; write "pfifo limit 1" for the '
            "smallest queue"
        )
    return " ".join(written(words))


def _sysctl(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError('sysctl is a table such as { "net.ipv4.tcp_ecn" = 1 }')
    checked = {}
    for key, setting in value.items():
        if not re.fullmatch(r"[a-z0-9_]+([./][A-Za-z0-9_-]+)+", key, re.ASCII):
            raise ValueError(f'"{key}" is not a sysctl; write its dotted name, quoted, such as "net.ipv4.tcp_ecn"')
        if isinstance(setting, bool):
            setting = int(setting)  # noqa: PLW2901 the kernel's spelling of a boolean
        if not isinstance(setting, int | str):
            raise ValueError(f'the value of sysctl "{key}" must be a whole number or text')
        checked[key.replace("/", ".")] = _one_line(str(setting))
    return checked


Name = Annotated[str, AfterValidator(checked_name), kind("name", "bottleneck", pattern=f"^{NAME.pattern}$")]
Label = Annotated[str, AfterValidator(checked_label), kind("label", "ten flows")]
InterfaceName = Annotated[
    str, AfterValidator(_interface), kind("interface name", "wan0", pattern="^[A-Za-z0-9_.-]{1,15}$")
]
KernelName = Annotated[
    str,
    BeforeValidator(checked_kernel_name),
    kind("name of a kernel", "stock", "patched", pattern=f"^{KERNEL_NAME.pattern}$"),
]
Line = Annotated[str, AfterValidator(_one_line), kind("text", "curl")]
Queue = Annotated[str, AfterValidator(_queue), kind("queue", "pfifo limit 100", "fq_codel")]
_DURATION = quantity_pattern(units.DURATION_UNITS)
_SIZE = quantity_pattern(units.SIZE_UNITS)
Rate = Annotated[
    int,
    BeforeValidator(units.parse_positive_rate),
    kind("rate", "10mbit", "1gbit", pattern=quantity_pattern(units.RATE_UNITS, any_case=True)),
]
Duration = Annotated[int, BeforeValidator(units.parse_duration), kind("duration", "10ms", "60s", pattern=_DURATION)]
PositiveDuration = Annotated[
    int, BeforeValidator(_positive_duration), kind("duration above 0", "100ms", "60s", pattern=_DURATION)
]
Percent = Annotated[
    float, BeforeValidator(units.parse_percent), kind("percentage", "0.5%", pattern=r"^\s*[+-]?\d+(\.\d+)?\s?%\s*$")
]
PositiveSize = Annotated[int, BeforeValidator(_positive_size), kind("size", "10MB", pattern=_SIZE, number=1)]
Sysctl = Annotated[
    dict[str, str],
    BeforeValidator(_sysctl),
    WithJsonSchema(
        {"title": "sysctls", "type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}
    ),
]


class Directed(Model, Generic[T]):
    """A property of a link in each of its two directions: `forward` is ends[0] → ends[1]."""

    forward: T
    reverse: T

    def of(self, direction: int) -> T:
        """The value in direction 0 (forward) or 1 (reverse)."""
        return self.reverse if direction else self.forward

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Either the plain value or a table of the two directions."""
        both = handler.resolve_ref_schema(handler(schema))
        directions = both["properties"]
        table = {"type": "object", "properties": directions, "additionalProperties": False}
        return {"anyOf": [dict(directions["forward"]), table]}


def both_directions(default: object = None) -> BeforeValidator:
    """Validate a directed property: a plain value applies to both directions, a missing direction takes `default`."""

    def expand(value: object) -> object:
        if isinstance(value, Directed):
            return value
        if isinstance(value, dict):
            return value if default is None else {"forward": default, "reverse": default} | value
        return {"forward": value, "reverse": value}

    return BeforeValidator(expand)


def either_direction(plain_is_both: bool) -> BeforeValidator:
    """Validate a directed property that may lack a direction (None); a plain value applies to both or to `forward`."""

    def expand(value: object) -> object:
        if isinstance(value, Directed):
            return value
        if isinstance(value, dict):
            return {"forward": None, "reverse": None} | value
        return {"forward": value, "reverse": value if plain_is_both else None}

    return BeforeValidator(expand)


Shape = Literal["constant", "exponential", "pareto"]


class Distribution(Model):
    """A quantity that is always `mean`, or distributed around it: `exponential`, or heavy-tailed as `pareto` (of shape
    1.2 and infinite variance, as for file sizes on the Web: Crovella, Bestavros, IEEE/ACM ToN 5(6), 1997)."""

    mean: int
    distribution: Shape = "constant"


def _spread(value: object, parse: Any, example: str) -> object:
    """Parse `X`, `X exponential` or `exponential X`, in either order."""
    if isinstance(value, Distribution):
        return value
    distribution = "constant"
    if isinstance(value, str):
        words = value.split()
        named = [word for word in words if word in get_args(Shape)]
        if named:
            distribution = named[0]
            words.remove(distribution)
        if len(words) != 1:
            raise ValueError(
                f'"{value[:80]}" is not understood; write "{example}", "{example} exponential" or "{example} pareto"'
            )
        value = int(words[0]) if parse is not units.parse_duration and words[0].isdecimal() else words[0]
    return {"mean": parse(value), "distribution": distribution}


DurationDistribution = Annotated[
    Distribution,
    BeforeValidator(lambda value: _spread(value, units.parse_duration, "200ms")),
    kind("duration, fixed or drawn", "200ms", "200ms exponential", "200ms pareto"),
]


def _drawn_duration(value: object, parse: Callable[[object], int]) -> int | Distribution:
    if isinstance(value, Distribution):
        return value
    found = _spread(value, parse, "200ms")
    assert isinstance(found, dict)
    return int(found["mean"]) if found["distribution"] == "constant" else Distribution(**found)


DrawnDuration = Annotated[
    int | Distribution,
    BeforeValidator(lambda value: _drawn_duration(value, units.parse_duration)),
    kind("duration, fixed or drawn", "200ms", "200ms exponential", "200ms pareto"),
]
"""A fixed time in ns, or a distribution."""
DrawnPositiveDuration = Annotated[
    int | Distribution,
    BeforeValidator(lambda value: _drawn_duration(value, _positive_duration)),
    kind("duration above 0, fixed or drawn", "200ms", "200ms exponential", "200ms pareto"),
]


class Spread(Model):
    """A time that is always `least_ns` (`constant`), uniform from `least_ns` to `most_ns`, or `exponential` with a mean
    of `least_ns`."""

    distribution: Literal["constant", "uniform", "exponential"] = "constant"
    least_ns: int
    most_ns: int

    def quantiles_ns(self) -> list[int]:
        """Its quantiles at equal steps from 0 to 1; empty if it is always 0.

        The last step of an exponential one, a thousandth of all draws, ends at the quantile of the step's middle.
        """
        if self.distribution == "uniform":
            return [self.least_ns, self.most_ns]
        if not self.least_ns:
            return []
        if self.distribution == "constant":
            return [self.least_ns]
        shares = [*(step / _STEPS for step in range(_STEPS)), 1 - 0.5 / _STEPS]
        return [round(-self.least_ns * math.log1p(-share)) for share in shares]


_STEPS = 1024
"""The number of steps of a distribution in the kernel (netwarp_costs.c)."""


def _signed(text: str, minus: bool) -> int:
    """Parse a duration or 0, with a minus sign if `minus` allows it."""
    if minus and text.startswith("-"):
        return -_signed(text[1:], False)
    return 0 if text == "0" else units.parse_duration(text)


def _spread_of_time(value: object, minus: bool) -> object:
    """Parse `0`, `X`, `X to Y` or `X exponential`; with `minus` (the time may be early) also `-X`."""
    if isinstance(value, Spread):
        return value
    match str(value).split():
        case [least, "to", most]:
            low, high = _signed(least, minus), _signed(most, minus)
            if high <= low:
                raise ValueError(f'"{value}" ends before it begins; write the smaller one first')
            return {"distribution": "uniform", "least_ns": low, "most_ns": high}
        case [mean, "exponential"] if not minus:
            found = _positive_duration(mean)
            return {"distribution": "exponential", "least_ns": found, "most_ns": found}
        case [always]:
            found = _signed(always, minus)
            return {"least_ns": found, "most_ns": found}
    example = '"-10ms to 10ms", "-5ms"' if minus else '"0.3ms to 1ms", "0.5ms", "0.5ms exponential"'
    raise ValueError(f'"{str(value)[:80]}" is not understood; write {example} or 0')


StartTime = Annotated[
    Spread,
    BeforeValidator(lambda value: _spread_of_time(value, minus=False)),
    kind("duration, fixed or drawn", "0.3ms to 1ms", "0.5ms", "0.5ms exponential", number=0),
]
ClockOffset = Annotated[
    Spread,
    BeforeValidator(lambda value: _spread_of_time(value, minus=True)),
    kind("offset, fixed or drawn", "-10ms to 10ms", "-5ms", number=0),
]
SizeDistribution = Annotated[
    Distribution,
    BeforeValidator(lambda value: _spread(value, _positive_size, "600")),
    kind("size, fixed or drawn", "600 exponential", "30kB pareto", number=1),
]

"""Planned impairments, exact to the packet: `every 100`, `packets 17, 18, 40`, `from 3s to 3.2s`. Each can be limited
to some packets: `every 100 data of bulk`, `packets 3 acks`.

A plan counts the unicast packets that match it and that the direction's interface has begun to send since it exists;
the first one is 1. Other packets, which the kernel sends by itself (MLD), do not count and are not affected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Address, Port, Time, UInt32, UInt64, meaning
from netwarp.values.units import format_duration, parse_duration, parse_percent

MAX_NUMBERS = 1000
"""The most packets that one plan names: the attribute that holds their numbers has 64 kB."""
MAX_EVERY = 2**32 - 1
MAX_NUMBER = 2**63 - 1
PLAN_WORDS = ("every", "packets", "from")
"""The words with which a plan begins."""
_USAGE = '"every 100", "packets 17, 18, 40" or "from 3s to 3.2s", and after it "data", "acks" or "of FLOW"'
PlannedKind = Literal["any", "data", "acks"]
_KINDS: tuple[PlannedKind, ...] = ("data", "acks")
LabPlanned = PlannedKind
"""Packets that a plan is about: those with data are all but TCP segments without payload; ACKs are TCP segments without
payload, SYN, FIN and RST."""


class Plan(BaseModel):
    """Each packet whose number is a multiple of `every`, those with these `numbers`, or those that begin to leave from
    `from_ns` until before `to_ns`; only among packets of `kind` and of `flow` (a flow or group), if given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: int | None = None
    numbers: tuple[int, ...] = ()
    from_ns: int | None = None
    to_ns: int | None = None
    kind: PlannedKind = "any"
    flow: str | None = None

    def words(self) -> str:
        """The value as a scenario writes it."""
        return " ".join([_which(self), *_of_what(self.kind, self.flow)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPlannedFlow(LabObject):
    """A flow that a plan is about: its packets in both directions."""

    protocol: Annotated[UInt32, meaning("number of its transport protocol")]
    source: Address
    destination: Address
    destination_port: Annotated[Port, meaning("0: the protocol has no ports")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPlan(LabObject):
    """The affected packets of a direction, counted from 1: one of the first three fields selects them."""

    every: Annotated[UInt32 | None, meaning("each packet whose number is a multiple")] = None
    numbers: Annotated[tuple[UInt64, ...], meaning("single packets, in ascending order")] = ()
    from_ns: Annotated[Time | None, meaning("each packet that begins to leave from then on, from t0")] = None
    to_ns: Annotated[Time | None, meaning("and before")] = None
    kind: Annotated[LabPlanned, meaning("of the packets that count")] = "any"
    flow: Annotated[str | None, meaning("name of the flow or group whose packets count; null: all do")] = None
    flows: Annotated[tuple[LabPlannedFlow, ...], meaning("the flows of this name")] = ()

    def words(self) -> str:
        """The plan as a scenario writes it."""
        return " ".join([_which(self), *_of_what(self.kind, self.flow)])


def lab_plan(plan: Plan) -> LabPlan:
    """The plan in a lab, still without the flows of its name."""
    return LabPlan(**plan.model_dump())


def is_plan(value: object) -> TypeGuard[Plan]:
    """Whether a property of a scenario's link is planned."""
    return isinstance(value, Plan)


def parse_plan(text: str) -> Plan | None:
    """Parse a plan; None if the text does not begin with the first word of one. Raises ValueError."""
    words = text.replace(",", " ").split()
    if words[:1] == [] or words[0] not in PLAN_WORDS:
        return None
    of: dict[str, Any] = {}
    if len(words) > 2 and words[-2] == "of":
        of["flow"] = words[-1]
        words = words[:-2]
    if words[-1] in _KINDS:
        of["kind"] = words.pop()
    match words:
        case ["every", number]:
            return Plan(every=_number(number, MAX_EVERY), **of)
        case ["packets", *numbers] if numbers:
            return Plan(numbers=_ascending([_number(number, MAX_NUMBER) for number in numbers]), **of)
        case ["from", start, "to", end]:
            from_ns, to_ns = _interval(parse_duration(start), parse_duration(end))
            return Plan(from_ns=from_ns, to_ns=to_ns, **of)
    raise ValueError(f'"{text}" is not a plan; expected {_USAGE}')


def _which(plan: Plan | LabPlan) -> str:
    if plan.every is not None:
        return f"every {plan.every}"
    if plan.from_ns is not None and plan.to_ns is not None:
        return f"from {format_duration(plan.from_ns)} to {format_duration(plan.to_ns)}"
    return "packets " + ", ".join(map(str, plan.numbers))


def _of_what(kind: PlannedKind, flow: str | None) -> list[str]:
    return [*([kind] if kind != "any" else []), *([f"of {flow}"] if flow else [])]


def _number(word: str, most: int) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= most):
        raise ValueError(f'"{word}" is not the number of a packet: whole numbers from 1 to {most}, as in {_USAGE}')
    return int(word)


def _ascending(numbers: list[int]) -> tuple[int, ...]:
    found = tuple(sorted(set(numbers)))
    if len(found) < len(numbers):
        raise ValueError("a plan names a packet twice; name each once")
    if len(found) > MAX_NUMBERS:
        raise ValueError(f"a plan names {len(found)} packets; the maximum is {MAX_NUMBERS}")
    return found


def _interval(from_ns: int, to_ns: int) -> tuple[int, int]:
    if from_ns >= to_ns:
        raise ValueError(
            f"the plan ends at {format_duration(to_ns)}, which is not after its start ({format_duration(from_ns)}); "
            "write the earlier time first"
        )
    return from_ns, to_ns


def _parse_share(value: object) -> float | Plan:
    """Parse a percentage or a plan. Raises ValueError with a sentence."""
    if is_plan(value):
        return value
    plan = parse_plan(value) if isinstance(value, str) else None
    return plan or parse_percent(value)


PlannedShare = Annotated[
    float | Plan,
    BeforeValidator(_parse_share),
    WithJsonSchema({"title": "percentage", "type": "string", "examples": ["0.1%", "every 100", "packets 17, 18"]}),
]
"""A share of packets, or a plan."""

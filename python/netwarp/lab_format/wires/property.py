"""A property of a wire: one record for everything that the stages need to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from netwarp.lab_format.quantities import Share
from netwarp.lab_format.wires.planned import LabPlan, is_plan, lab_plan
from netwarp.values.fields import Directed, Percent, about, both_directions, either_direction
from netwarp.values.json_values import JsonObject
from netwarp.values.units import format_percent

if TYPE_CHECKING:
    from netwarp.lab_format.wires.wire import WireBase as LabWire

_DIRECTED: Any = Directed
"""`Directed`, for types that are known only at run time."""


@dataclass(frozen=True)
class LabField:
    """A field of a lab's wire; its `default` is that of a wire without the property."""

    name: str
    type: Any
    default: Any
    meaning: str = ""


@dataclass(frozen=True)
class Attribute:
    """An attribute of netem that holds only one property (linux/pkt_sched.h).

    `cells` are its content in order: `share` (a probability in 32 bits), `time` (ns in 64 bits), `zero32`, `zero64`. A
    change sends it again only if it is `repeated`, or if it differs: some attributes restart a random sequence.
    """

    name: str
    number: int
    cells: tuple[str, ...]
    repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class WireProperty:
    """One property of a wire; by default a share of packets, subclasses override the rest."""

    name: str
    """The field of a link in a scenario, which is also netem's keyword."""
    meaning: str
    """The description of that field."""
    examples: tuple[Any, ...]
    refused: tuple[Any, ...]
    kind: Any = Percent
    """The type of a value for one direction."""
    change_kind: Any = None
    """The same in a change, if a change takes fewer values."""
    nothing: Any = 0.0
    """The value of a wire without this property, and its text in a scenario."""
    nothing_written: str = "0%"
    fields: tuple[LabField, ...]
    """The fields of a lab's wire; the first one is set (not zero) if the wire has the property."""
    beside: JsonObject | None = None
    """Other fields of the link that the examples need."""
    change: tuple[str, str] | None = None
    """If `[[changes]]` may set it: an example, and a value that is refused."""
    attribute: Attribute | None = None
    """The attribute that sets it in netem; None if several properties share one (`network/wire.rs`)."""
    verb: str = ""
    """The verb in a report for the wire's effect: `duplicates`."""
    short: str = ""
    """The word in a drawing of the network; default: its name."""
    copies: bool = False
    """Whether the wire delivers more packets than it took."""
    copies_aggregates: bool = False
    """Whether it does so only with offloads: netem splits an aggregate first."""
    corrupts: bool = False
    """Whether a checksum may discard packets that the wire delivers, which neither a queue nor a wire counts."""
    skips_delay: bool = False
    """Whether packets may leave the wire without any delay."""
    only_delays: bool = False
    """Whether it only delays packets, so that a lab also runs without it."""
    plan: str = ""
    """The field of a lab's wire that plans it, if it can be planned."""

    def link_field(self) -> tuple[Any, Any]:
        """Type and default of the field of a link in a scenario."""
        default = _DIRECTED[self.kind].model_construct(forward=self.nothing, reverse=self.nothing)
        field = about(
            self.meaning, *self.examples, refused=list(self.refused), beside=self.beside or {}, default=default
        )
        return Annotated[_DIRECTED[self.kind], both_directions(self.nothing_written)], field

    def change_field(self) -> tuple[Any, Any]:
        """Type and default of the field of a change in a scenario."""
        assert self.change is not None
        example, refused = self.change
        field = about(f"The {self.name} from then on.", example, refused=[refused], default=None)
        kind = self.change_kind or self.kind
        return Annotated[_DIRECTED[kind | None], either_direction(plain_is_both=True)] | None, field

    def does(self, value: Any) -> bool:
        """Whether a value of the scenario has an effect on packets."""
        return bool(value)

    def problem(self, values: Mapping[str, Any], direction: str) -> str | None:
        """The conflict among the properties of one direction (`forward`, `reverse`); None if there is none."""
        return None

    def note(self, value: Any) -> str | None:
        """A note on a value for the author of a scenario; None if nothing is unusual."""
        return None

    def between(self, start: Any, end: Any, part: tuple[int, int]) -> Any:
        """The value of a ramp at `part` (n of m) of the way. Raises ValueError if it cannot be interpolated."""
        passed, whole = part
        return start + (end - start) * passed / whole

    def lab_values(self, value: Any) -> Mapping[str, object]:
        """The lab's fields for a value, which may be a plan."""
        return {self.plan: lab_plan(value)} if is_plan(value) else {self.fields[0].name: value}

    def first(self, wire: LabWire) -> Any:
        """The property's first field in a wire."""
        return getattr(wire, self.fields[0].name)

    def acts(self, wire: LabWire) -> bool:
        """Whether a wire of a lab has the property."""
        return bool(self.first(wire) or self.planned(wire))

    def planned(self, wire: LabWire) -> LabPlan | None:
        """The property's plan in a wire."""
        found: LabPlan | None = getattr(wire, self.plan) if self.plan else None
        return found

    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """Its options in the syntax of tc-netem(8)."""
        if self.acts(wire):
            yield f"{self.name} {format_percent(self.first(wire))}"

    def drawn(self, wire: LabWire) -> str:
        """The wire's property in a drawing of the network; empty if it has none."""
        return f", {self.short or self.name}" if self.acts(wire) else ""

    def described(self, wire: LabWire) -> str | None:
        """The wire's effect on packets other than delay, in words; None if there is none."""
        if plan := self.planned(wire):
            return f"{self.verb} {plan.words()}"
        return f"{self.verb} {100 * self.first(wire):.4g} %" if self.acts(wire) else None

    def amount(self, wire: LabWire) -> float:
        """The property as one number in `unit`; NaN if it has several."""
        return 100 * float(self.first(wire))

    def change_words(self, before: LabWire, after: LabWire) -> str | None:
        """A change in words; None if it stays the same."""
        old, new = self.amount(before), self.amount(after)
        return f"{self.name} {old:g} → {new:g} {self.unit}" if old != new else None

    @property
    def unit(self) -> str:
        """The unit of `amount`."""
        return "%"

    @property
    def drawn_over_time(self) -> bool:
        """Whether a figure shows `amount` over time."""
        return self.change is not None


def plan_field(name: str) -> LabField:
    """The field that plans a property; only links that are devices have plans."""
    return LabField(f"{name}_plan", LabPlan | None, None, "of a device: to which packets it happens")


def share_field(name: str, meaning: str = "probability") -> LabField:
    """A field that holds a probability."""
    return LabField(name, Share, 0.0, meaning)

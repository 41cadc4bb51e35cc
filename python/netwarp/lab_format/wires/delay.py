"""`delay` and `jitter`: the time that a wire holds a packet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.lab_format.quantities import Delay, Share, Text
from netwarp.lab_format.wires.netem import Jitter, JitterField
from netwarp.lab_format.wires.property import Attribute, LabField, WireProperty
from netwarp.values.fields import Duration
from netwarp.values.units import format_duration, format_percent

if TYPE_CHECKING:
    from netwarp.lab_format.wires.wire import WireBase as LabWire

TC_UNIT_NS = 1_000
"""The smallest unit of time that tc takes."""


def tc_time(time_ns: int) -> str:
    """Format a time for tc, to the microsecond."""
    rounded_ns = (time_ns + TC_UNIT_NS // 2) // TC_UNIT_NS * TC_UNIT_NS
    return format_duration(rounded_ns) if rounded_ns else "0us"


@dataclass(frozen=True)
class TimeProperty(WireProperty):
    """A property that is a time in ns."""

    @property
    def unit(self) -> str:
        """Milliseconds."""
        return "ms"

    def between(self, start: Any, end: Any, part: tuple[int, int]) -> Any:
        """Interpolate in whole nanoseconds."""
        return start + round((end - start) * part[0] / part[1])

    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """The time to the microsecond."""
        if self.acts(wire):
            yield f"{self.name} {tc_time(self.first(wire))}"

    def described(self, wire: LabWire) -> str | None:
        """The time in ms."""
        return f"{self.verb} {self.amount(wire):.4g} ms" if self.acts(wire) else None

    def amount(self, wire: LabWire) -> float:
        """The time in ms."""
        return float(self.first(wire) * 1e-6)


@dataclass(frozen=True)
class _Delay(TimeProperty):
    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """The delay, also 0 if a jitter follows."""
        if wire.delay_ns or wire.jitter_ns:
            yield f"delay {tc_time(wire.delay_ns)}"

    def drawn(self, wire: LabWire) -> str:
        """Empty: the delay is shown beside the rate."""
        return ""

    def described(self, wire: LabWire) -> str | None:
        """None: the delay is shown beside the rate."""
        return None


@dataclass(frozen=True)
class _Jitter(TimeProperty):
    def does(self, value: Any) -> bool:
        """Whether the delay varies."""
        return bool(value.ns)

    def note(self, value: Any) -> str | None:
        """A note that netem's correlation has no effect (get_crandom(), tabledist() in sch_netem.c)."""
        if not value.correlation:
            return None
        return "the correlation has no effect: netem takes a remainder of the correlated number, which removes it"

    def between(self, start: Any, end: Any, part: tuple[int, int]) -> Any:
        """Interpolate between two jitters of the same distribution and correlation."""
        shape = end if end.ns else start
        same = (start.distribution, start.correlation) == (end.distribution, end.correlation)
        if same or not start.ns or not end.ns:
            return shape.model_copy(update={"ns": super().between(start.ns, end.ns, part)})
        raise ValueError("a ramp of the jitter keeps its distribution and correlation; name the same at its end")

    def lab_values(self, value: Any) -> Mapping[str, object]:
        """The lab's fields, without a distribution if it is netem's default."""
        distribution = value.distribution if value.ns and value.distribution != "uniform" else None
        return {"jitter_ns": value.ns, "jitter_correlation": value.correlation, "distribution": distribution}

    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """The words that follow those of the delay."""
        if wire.jitter_ns:
            yield tc_time(wire.jitter_ns)
            if wire.jitter_correlation:
                yield format_percent(wire.jitter_correlation)
            if wire.distribution:
                yield f"distribution {wire.distribution}"

    def drawn(self, wire: LabWire) -> str:
        """The jitter, shown after the delay."""
        return f" ± {format_duration(wire.jitter_ns)}" if wire.jitter_ns else ""

    def described(self, wire: LabWire) -> str | None:
        """None: the jitter is shown beside the delay."""
        return None

    @property
    def drawn_over_time(self) -> bool:
        """False: a figure does not show the jitter."""
        return False


DELAY = _Delay(
    name="delay",
    meaning="One-way propagation delay of the wire. A plain value applies to each direction.",
    examples=("10ms",),
    refused=(10, "-10ms"),
    kind=Duration,
    nothing=0,
    nothing_written="0s",
    fields=(LabField("delay_ns", Delay, 0),),
    change=("50ms", "50"),
    attribute=Attribute("TCA_NETEM_LATENCY64", 10, ("time",), repeated=True),
    only_delays=True,
)

JITTER = _Jitter(
    name="jitter",
    meaning="How much the delay varies: `TIME [CORRELATION%] [DISTRIBUTION]`, where the distribution is uniform, "
    "normal, pareto or paretonormal. Packets stay in order, so that a link which is never idle shows none "
    "([limitations.md](limitations.md)).",
    examples=("2ms normal",),
    refused=("2ms gamma",),
    kind=JitterField,
    nothing=Jitter(ns=0),
    nothing_written="0s",
    fields=(
        LabField("jitter_ns", Delay, 0),
        LabField("jitter_correlation", Share, 0.0, "with the previous packet"),
        LabField(
            "distribution",
            Text | None,
            None,
            "distribution of the jitter: a table of iproute2; null is netem's uniform one",
        ),
    ),
    change=("5ms", "5"),
    attribute=Attribute("TCA_NETEM_JITTER64", 11, ("time",), repeated=True),
    only_delays=True,
)

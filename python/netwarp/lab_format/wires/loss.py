"""`loss`: packets that a wire does not deliver, by netem's models or by plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Share, Yes, meaning
from netwarp.lab_format.wires.netem import ChangedLossField, FourState, GilbertElliott, LossField, RandomLoss
from netwarp.lab_format.wires.planned import is_plan, lab_plan
from netwarp.lab_format.wires.property import LabField, WireProperty, plan_field
from netwarp.values.units import format_percent

if TYPE_CHECKING:
    from netwarp.lab_format.wires.wire import WireBase as LabWire


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRandomLoss(LabObject):
    """Independent losses, or correlated ones: `loss random` of tc-netem(8)."""

    model: Literal["random"] = "random"
    p: Annotated[Share, meaning("probability of loss")]
    correlation: Annotated[Share, meaning("with the previous packet")] = 0.0
    ecn: Annotated[Yes, meaning("packets that can be marked are marked instead of lost")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabGilbertElliott(LabObject):
    """Losses of two states (Gilbert and Elliott): `loss gemodel` of tc-netem(8)."""

    model: Literal["gemodel"] = "gemodel"
    p: Annotated[Share, meaning("from the good state to the bad")]
    r: Annotated[Share, meaning("from the bad state to the good")]
    one_minus_h: Annotated[Share, meaning("probability of loss in the bad state")]
    one_minus_k: Annotated[Share, meaning("probability of loss in the good state")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabStateLoss(LabObject):
    """Losses of four states: `loss state` of tc-netem(8)."""

    model: Literal["state"] = "state"
    p13: Annotated[Share, meaning("from the good state into a burst of losses")]
    p31: Annotated[Share, meaning("out of it")]
    p32: Annotated[Share, meaning("from a burst into a gap within it")]
    p23: Annotated[Share, meaning("back")]
    p14: Annotated[Share, meaning("of a single loss")]


LabLoss = LabRandomLoss | LabGilbertElliott | LabStateLoss
"""Models of loss, see tc-netem(8)."""
_CLASSES: Mapping[type, Callable[..., LabLoss]] = {
    RandomLoss: LabRandomLoss,
    GilbertElliott: LabGilbertElliott,
    FourState: LabStateLoss,
}
"""The class of a loss in a scenario → its class in a lab."""


@dataclass(frozen=True)
class _Loss(WireProperty):
    def does(self, value: Any) -> bool:
        """Whether packets may be lost."""
        return not (isinstance(value, RandomLoss) and value.p == 0)

    def note(self, value: Any) -> str | None:
        """A note that netem's correlation lowers the loss (get_crandom() in sch_netem.c)."""
        if not (isinstance(value, RandomLoss) and value.p and value.correlation):
            return None
        return (
            "netem's correlated loss loses fewer packets than configured, because correlated draws avoid the "
            "extremes; for bursts at a known rate use gemodel"
        )

    def between(self, start: Any, end: Any, part: tuple[int, int]) -> Any:
        """Interpolate between two random losses."""
        if isinstance(start, RandomLoss) and isinstance(end, RandomLoss):
            shape = end if end.p else start
            same = (start.correlation, start.ecn) == (end.correlation, end.ecn)
            if same or not start.p or not end.p:
                return shape.model_copy(update={"p": super().between(start.p, end.p, part)})
        raise ValueError('a ramp of the loss leads from one random loss to another, such as "0%" to "5%"')

    def lab_values(self, value: Any) -> Mapping[str, object]:
        """The lab's fields; the loss is None if nothing is lost."""
        if is_plan(value):
            return {"loss": None, "loss_plan": lab_plan(value)}
        return {"loss": _CLASSES[type(value)](**value.model_dump()) if self.does(value) else None}

    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """`loss random 1% 25%`, `loss gemodel p r 1-h 1-k`, `loss state p13 p31 p32 p23 p14`."""
        loss = _of(wire)
        if loss is None:
            return
        numbers = [format_percent(value) for value in astuple(loss) if isinstance(value, float)]
        if not isinstance(loss, LabRandomLoss):
            yield f"loss {loss.model} {' '.join(numbers)}"
            return
        if not loss.correlation:
            numbers = numbers[:1]
        yield f"loss random {' '.join(numbers)}{' ecn' if loss.ecn else ''}"

    def described(self, wire: LabWire) -> str | None:
        """The model, or the probability."""
        loss = _of(wire)
        if not isinstance(loss, LabRandomLoss):
            return f"loss by {loss.model}" if loss else super().described(wire)
        correlated = f", correlated {100 * loss.correlation:.4g} %" if loss.correlation else ""
        return f"loss {100 * loss.p:.4g} %{correlated}"

    def amount(self, wire: LabWire) -> float:
        """The probability of loss in percent; NaN for a model with several probabilities."""
        loss = _of(wire)
        if loss is None:
            return 0.0
        return 100 * float(loss.p) if isinstance(loss, LabRandomLoss) else float("nan")

    def change_words(self, before: LabWire, after: LabWire) -> str | None:
        """The change from one model to another, in words."""
        if _of(before) == _of(after):
            return None
        return f"loss {_words(_of(before))} → {_words(_of(after))}"


def _of(wire: LabWire) -> LabLoss | None:
    found: LabLoss | None = wire.loss
    return found


def _words(loss: LabLoss | None) -> str:
    if loss is None:
        return "0 %"
    return f"{loss.p * 100:g} %" if isinstance(loss, LabRandomLoss) else loss.model


LOSS = _Loss(
    name="loss",
    meaning="Packet loss on the wire in netem's syntax: `P [CORRELATION] [ecn]`, `gemodel P [R [1-H [1-K]]]`, "
    "`state P13 [P31 [P32 [P23 [P14]]]]`. With `ecn`, packets that ECN can mark are marked instead of lost. Or, with "
    '`wire = "device"`, by plan: `every 100`, `packets 17, 18, 40`, `from 3s to 3.2s`, and of some packets only: '
    "`every 10 acks`, `packets 3 data of bulk` ([wires.md](wires.md)).",
    examples=("gemodel 1% 10%",),
    refused=("0.5", "101%"),
    kind=LossField,
    change_kind=ChangedLossField,
    nothing=RandomLoss(p=0.0),
    nothing_written="0%",
    fields=(LabField("loss", Annotated[LabLoss, Field(discriminator="model")] | None, None), plan_field("loss")),
    verb="loss",
    plan="loss_plan",
    change=("2%", "2"),
)

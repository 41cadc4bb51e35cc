"""`loss`: packets that a wire does not deliver, by netem's models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from netwarp.lab_format.quantities import Share, Text
from netwarp.lab_format.wires.netem import LossField, RandomLoss
from netwarp.lab_format.wires.property import LabField, LabWire, WireProperty
from netwarp.units import format_percent


def _meaning(text: str) -> Any:
    return Field(description=text)


class LabRandomLoss(TypedDict):
    """Independent losses, or correlated ones: `loss random` of tc-netem(8)."""

    model: Literal["random"]
    p: Annotated[float, _meaning("probability of loss")]
    correlation: Annotated[float, _meaning("with the previous packet")]
    ecn: Annotated[bool, _meaning("packets that can be marked are marked instead of lost")]


class LabGilbertElliott(TypedDict):
    """Losses of two states (Gilbert and Elliott): `loss gemodel` of tc-netem(8)."""

    model: Literal["gemodel"]
    p: Annotated[float, _meaning("from the good state to the bad")]
    r: Annotated[float, _meaning("from the bad state to the good")]
    one_minus_h: Annotated[float, _meaning("probability of loss in the bad state")]
    one_minus_k: Annotated[float, _meaning("probability of loss in the good state")]


class LabStateLoss(TypedDict):
    """Losses of four states: `loss state` of tc-netem(8)."""

    model: Literal["state"]
    p13: Annotated[float, _meaning("from the good state into a burst of losses")]
    p31: Annotated[float, _meaning("out of it")]
    p32: Annotated[float, _meaning("from a burst into a gap within it")]
    p23: Annotated[float, _meaning("back")]
    p14: Annotated[float, _meaning("of a single loss")]


LabLoss = LabRandomLoss | LabGilbertElliott | LabStateLoss


class LossDocument(BaseModel):
    """The loss of a stored wire, as far as it is read."""

    model_config = ConfigDict(extra="allow", strict=True)

    model: Text
    p: Share | None = None
    correlation: Share | None = None

    @model_validator(mode="after")
    def _has_its_probability(self) -> LossDocument:
        if self.model == "random" and self.p is None:
            raise ValueError("a random loss has a probability `p`")
        return self


@dataclass(frozen=True)
class _Loss(WireProperty):
    def does(self, value: Any) -> bool:
        """Whether anything may be lost."""
        return not (isinstance(value, RandomLoss) and value.p == 0)

    def note(self, value: Any) -> str | None:
        """netem's correlation does not do what its name says (get_crandom() in sch_netem.c)."""
        if not (isinstance(value, RandomLoss) and value.p and value.correlation):
            return None
        return (
            "netem's correlated loss loses fewer packets than configured, because correlated draws stay away "
            "from the extremes; for bursts at a known rate use gemodel"
        )

    def between(self, start: Any, end: Any, part: tuple[int, int]) -> Any:
        """Between two random losses."""
        if isinstance(start, RandomLoss) and isinstance(end, RandomLoss):
            shape = end if end.p else start
            same = (start.correlation, start.ecn) == (end.correlation, end.ecn)
            if same or not start.p or not end.p:
                return shape.model_copy(update={"p": super().between(start.p, end.p, part)})
        raise ValueError('a ramp of the loss leads from one random loss to another, such as "0%" to "5%"')

    def lab_values(self, value: Any) -> dict[str, Any]:
        """None without loss."""
        return {"loss": value.model_dump() if self.does(value) else None}

    def tc_words(self, wire: LabWire) -> Iterator[str]:
        """`loss random 1% 25%`, `loss gemodel p r 1-h 1-k`, `loss state p13 p31 p32 p23 p14`."""
        if not (loss := wire["loss"]):
            return
        numbers = [format_percent(value) for value in loss.values() if isinstance(value, float)]
        if loss["model"] != "random":
            yield f"loss {loss['model']} {' '.join(numbers)}"
            return
        if not loss["correlation"]:
            numbers = numbers[:1]
        yield f"loss random {' '.join(numbers)}{' ecn' if loss['ecn'] else ''}"

    def described(self, wire: LabWire) -> str | None:
        """The model, or the probability."""
        if not (loss := wire.get("loss")):
            return None
        if loss.get("model") != "random":
            return f"loss by {loss.get('model')}"
        correlated = f", correlated {100 * loss['correlation']:.4g} %" if loss.get("correlation") else ""
        return f"loss {100 * loss['p']:.4g} %{correlated}"

    def amount(self, wire: LabWire) -> float:
        """The probability of loss in percent; NaN of a model that has not just one."""
        if not (loss := wire.get("loss")):
            return 0.0
        return 100 * float(loss["p"]) if loss.get("model") == "random" else float("nan")

    def change_words(self, before: LabWire, after: LabWire) -> str | None:
        """From one model to another."""
        if before.get("loss") == after.get("loss"):
            return None
        return f"loss {_words(before.get('loss'))} → {_words(after.get('loss'))}"


def _words(loss: Mapping[str, Any] | None) -> str:
    if not loss:
        return "0 %"
    return f"{loss['p'] * 100:g} %" if loss.get("model") == "random" else str(loss.get("model"))


LOSS = _Loss(
    name="loss",
    meaning="Packet loss on the wire in netem's syntax: `P [CORRELATION] [ecn]`, `gemodel P [R [1-H [1-K]]]`, "
    "`state P13 [P31 [P32 [P23 [P14]]]]`. With `ecn`, packets that ECN can mark are marked instead of lost.",
    examples=("gemodel 1% 10%",),
    refused=("0.5", "101%"),
    kind=LossField,
    nothing=RandomLoss(p=0.0),
    nothing_written="0%",
    fields=(LabField("loss", LabLoss | None, LossDocument | None, None),),
    change=("2%", "2"),
)

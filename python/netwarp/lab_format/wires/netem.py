"""The netem syntax that a link accepts: loss models, and jitter with a distribution.

The grammar is that of tc-netem(8); defaults of omitted parameters are those of iproute2's `q_netem.c`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from netwarp.lab_format.wires.planned import PLAN_WORDS, Plan, is_plan, parse_plan
from netwarp.values.units import format_duration, format_percent, parse_duration, parse_percent

Distribution = Literal["uniform", "normal", "pareto", "paretonormal"]
_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Jitter(_Words):
    """Variation of the delay: ± `ns`, its correlation with the previous packet (0..1), and its distribution."""

    ns: int
    correlation: float = 0.0
    distribution: Distribution = "uniform"

    def words(self) -> str:
        """The value in netem's syntax."""
        correlation = f" {format_percent(self.correlation)}" if self.correlation else ""
        shape = f" distribution {self.distribution}" if self.distribution != "uniform" else ""
        return f"{format_duration(self.ns)}{correlation}{shape}"


class RandomLoss(_Words):
    """Loss of each packet with probability `p`, correlated with the previous packet.

    With `ecn`, a packet that ECN can mark is marked (CE) where it would have been lost.
    """

    model: Literal["random"] = "random"
    p: float
    correlation: float = 0.0
    ecn: bool = False

    def words(self) -> str:
        """The value in netem's syntax."""
        correlation = f" {format_percent(self.correlation)}" if self.correlation else ""
        return f"{format_percent(self.p)}{correlation}{' ecn' if self.ecn else ''}"


class GilbertElliott(_Words):
    """netem's `gemodel`: `p` good → bad, `r` bad → good, loss probability in bad (1-h) and in good (1-k)."""

    model: Literal["gemodel"] = "gemodel"
    p: float
    r: float
    one_minus_h: float
    one_minus_k: float

    def words(self) -> str:
        """The value in netem's syntax."""
        return "gemodel " + " ".join(format_percent(x) for x in (self.p, self.r, self.one_minus_h, self.one_minus_k))


class FourState(_Words):
    """netem's four-state Markov model `state`; the numbers name the transitions."""

    model: Literal["state"] = "state"
    p13: float
    p31: float
    p32: float
    p23: float
    p14: float

    def words(self) -> str:
        """The value in netem's syntax."""
        return "state " + " ".join(format_percent(x) for x in (self.p13, self.p31, self.p32, self.p23, self.p14))


LossModel = RandomLoss | GilbertElliott | FourState


def parse_loss(value: object) -> LossModel:
    """Parse a loss model: `"0.5%"`, `"0.5% 25% ecn"`, `"random …"`, `"gemodel p [r [1-h [1-k]]]"`, `"state p13 …"`.

    No loss is `RandomLoss(p=0)`. Raises ValueError with a sentence.
    """
    if isinstance(value, RandomLoss | GilbertElliott | FourState):
        return value
    if not isinstance(value, str) or not value.split():
        raise ValueError('loss is written as text, such as "0.5%" or "gemodel 1% 10%"')
    name, *rest = value.split()
    if name in PLAN_WORDS:
        raise ValueError("plans hold for a whole run; give them in the link, as its `loss`")
    if name == "gemodel":
        return _gemodel(_percentages(rest, 1, 4, "gemodel p [r [1-h [1-k]]]"))
    if name == "state":
        return _state(_percentages(rest, 1, 5, "state p13 [p31 [p32 [p23 [p14]]]]"))
    words = rest if name == "random" else [name, *rest]
    ecn = words[-1:] == ["ecn"]
    numbers = _percentages(words[:-1] if ecn else words, 1, 2, "0.5% [correlation 25%] [ecn]")
    return RandomLoss(p=numbers[0], correlation=numbers[1] if len(numbers) > 1 else 0.0, ecn=ecn)


def _percentages(words: list[str], minimum: int, maximum: int, usage: str) -> list[float]:
    if not minimum <= len(words) <= maximum:
        raise ValueError(f'loss takes {minimum} to {maximum} percentages here: "{usage}"')
    try:
        return [parse_percent(word) for word in words]
    except ValueError as error:
        raise ValueError(f'{error}; loss is "0.5%", "0.5% 25%", "gemodel 1% 10%" or "state 1% 10%"') from None


def _gemodel(numbers: list[float]) -> GilbertElliott:
    p = numbers[0]
    r, one_minus_h, one_minus_k = (numbers + [1.0 - p, 1.0, 0.0][len(numbers) - 1 :])[1:]
    return GilbertElliott(p=p, r=r, one_minus_h=one_minus_h, one_minus_k=one_minus_k)


def _state(numbers: list[float]) -> FourState:
    p13 = numbers[0]
    p31, p32, p23, p14 = (numbers + [1.0 - p13, 0.0, 1.0, 0.0][len(numbers) - 1 :])[1:]
    return FourState(p13=p13, p31=p31, p32=p32, p23=p23, p14=p14)


def parse_jitter(value: object) -> Jitter:
    """Parse a jitter: `"2ms"`, `"2ms normal"`, `"2ms 25%"`, `"2ms 25% distribution normal"`."""
    if isinstance(value, Jitter):
        return value
    if not isinstance(value, str) or not value.split():
        raise ValueError('jitter is written as text, such as "2ms" or "2ms normal"')
    first, *rest = value.split()
    fields: dict[str, Any] = {"ns": parse_duration(first)}
    if rest and rest[0].endswith("%"):
        fields["correlation"] = parse_percent(rest.pop(0))
    if rest and rest[0] == "distribution":
        rest.pop(0)
    if rest:
        fields["distribution"] = rest.pop(0)
        if fields["distribution"] not in _DISTRIBUTIONS:
            known = ", ".join(_DISTRIBUTIONS)
            raise ValueError(f'"{fields["distribution"]}" is not a distribution of jitter; known are {known}')
    if rest:
        raise ValueError(f'"{value}" has too many words; jitter is "TIME [CORRELATION%] [DISTRIBUTION]"')
    return Jitter(**fields)


def parse_link_loss(value: object) -> LossModel | Plan:
    """Parse the loss of a link: a netem model, or a plan. Raises ValueError with a sentence."""
    if is_plan(value):
        return value
    plan = parse_plan(value) if isinstance(value, str) else None
    return plan or parse_loss(value)


_EXAMPLES = ["0.5%", "0.5% 25%", "0.5% ecn", "gemodel 1% 10%", "state 1% 10%"]
LossField = Annotated[
    LossModel | Plan,
    BeforeValidator(parse_link_loss),
    WithJsonSchema({"title": "loss", "type": "string", "examples": [*_EXAMPLES, "every 100"]}),
]
ChangedLossField = Annotated[
    LossModel,
    BeforeValidator(parse_loss),
    WithJsonSchema({"title": "loss", "type": "string", "examples": _EXAMPLES}),
]
JitterField = Annotated[
    Jitter,
    BeforeValidator(parse_jitter),
    WithJsonSchema({"title": "jitter", "type": "string", "examples": ["2ms", "2ms normal", "2ms 25% pareto"]}),
]

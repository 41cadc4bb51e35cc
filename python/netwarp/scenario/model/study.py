"""Variations and expected results: the tables `cases` and `expect`, and the list of seeds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from netwarp.values import units
from netwarp.values.fields import (
    Label,
    Model,
    about,
    kind,
)

MAX_SEEDS = 100_000
INTERVAL = "interval"
TUNER = "run.tuner"
"""The path of the tuner in use, which expectations can name even if no sweep varies it."""


def _seeds(value: object) -> tuple[int, ...]:
    """Read seeds: `N` means 1..N; a list is taken as it is."""
    numbers = value if isinstance(value, list | tuple) else None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_SEEDS:
            raise ValueError(f"{value} is not a number of seeds; it must be between 1 and {MAX_SEEDS}")
        return tuple(range(1, value + 1))
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 2**63 for n in numbers):
        raise ValueError("seeds are a number (3 means 1, 2, 3) or a list of whole numbers such as [1, 2, 3]")
    if len(set(numbers)) != len(numbers):
        raise ValueError("a seed is listed twice; the same seed gives the same run, so leave one of them out")
    return tuple(numbers)


Seeds = Annotated[
    tuple[int, ...],
    BeforeValidator(_seeds),
    WithJsonSchema(
        {
            "title": "seeds",
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_SEEDS},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True},
            ],
        }
    ),
]


def _within(value: object) -> float | str:
    return INTERVAL if value == INTERVAL else units.parse_percent(value)


Within = Annotated[
    float | Literal["interval"],
    BeforeValidator(_within),
    WithJsonSchema({"title": "percentage or interval", "type": "string", "examples": ["2%", INTERVAL]}),
]


def _share(value: object) -> float:
    share = units.parse_percent(value)
    if not 0 < share < 1:
        raise ValueError(f'"{value}" is not between 0% and 100%; leave it out to require all seeds')
    return share


Share = Annotated[float, BeforeValidator(_share), kind("percentage", "80%")]


class Case(Model):
    """A named point: paths and their values. Cases are alternatives, whereas axes of `sweep` multiply."""

    name: Label = about("The name of the case.", "ten flows", refused=["", "=1+1", "a\nb"])
    use: tuple[str, ...] = about(
        "Presets whose settings apply; if two of them set the same path, the later one wins.",
        ["bbr"],
        refused=[["reno"]],
        default=(),
    )
    set: dict[str, Any] = about(
        "Paths and their values, which override those of presets.",
        {"flows.bulk.count": 10},
        refused=[{"links.bottleneck.qeue": "fq"}],
        default_factory=dict,
    )


Scalar = str | int | float | bool
Selection = dict[str, Scalar | tuple[Scalar, ...]]
"""A choice of results: `name`, `case`, `seed`, `run.tuner` or a swept path, and its value or a list of
alternatives."""


class Expectation(Model):
    """An expected result: a condition on a metric, checked in every run that `where` selects. It is a bound (`min`,
    `max`), an order or a value. [expectations.md](expectations.md) says when each holds."""

    metric: str = about(
        "Scope and name of a metric of [metrics.md](metrics.md).",
        "flow.goodput_mbps",
        refused=["goodput_mbps", "pipe.drops"],
    )
    where: Selection = about(
        "Selects rows of the summary by `name` (of a flow; of a queue as `link:node`), `case`, `seed`, "
        "`run.tuner` or a swept path. A list matches any of its values.",
        {"name": "bulk"},
        refused=[{"name": "blk"}, {"colour": "red"}],
        default_factory=dict,
    )
    ascending: tuple[Selection, ...] = about(
        "An order: every value that a step selects is below every value of the next one, in runs that are otherwise "
        "alike.",
        [{"case": "ten flows"}, {"case": "BBR"}],
        refused=[[{"case": "BBR"}]],
        beside={"min": None},
        default=(),
    )
    min: float | None = about(
        "The smallest value allowed.", 9.0, refused=["9"], default=None, allow_inf_nan=False, strict=True
    )
    max: float | None = about(
        "The largest value allowed.", 9.6, refused=[8], default=None, allow_inf_nan=False, strict=True
    )
    equals: float | None = about(
        "The expected mean over the seeds, `within` some distance.",
        9.5,
        refused=["9.5"],
        beside={"min": None, "within": "2%"},
        default=None,
        allow_inf_nan=False,
        strict=True,
    )
    within: Within | None = about(
        'How close: a fraction of the value, or `"interval"` for the 99.9 % confidence interval of the mean (at least '
        "two seeds; for skewed values at least 20).",
        "2%",
        refused=["near"],
        beside={"min": None, "equals": 9.5},
        default=None,
    )
    share: Share | None = about(
        "The share of seeds with which bounds or an order must hold; default: all.",
        "80%",
        refused=["0%", "100%"],
        default=None,
    )

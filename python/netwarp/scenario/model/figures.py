"""The figures that answer a scenario's questions: names of figures over time, and metrics by axes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from netwarp.scenario.errors import did_you_mean
from netwarp.values.fields import Model

KINDS = ("auto", "bar", "line", "box", "heatmap", "cdf")


class FigureWish(Model):
    """A figure by its `name` (a pattern, as for `netwarp plot`), or a `metric` by axes, drawn as that `kind`."""

    name: str = ""
    metric: str = ""
    by: tuple[str, ...] = ()
    kind: str = "auto"


def _figure(value: object) -> object:
    """Read a name, or a table with `metric`, `by` and `kind`. Raises ValueError with a sentence."""
    if isinstance(value, str) and value.strip():
        return {"name": value.strip()}
    if not isinstance(value, dict) or not isinstance(value.get("metric"), str) or "." not in value["metric"]:
        raise ValueError(
            'a figure is a name such as "rtt-bulk", or a table such as '
            '{ metric = "flow.goodput_mbps", by = ["links.bottleneck.queue"] }'
        )
    if unknown := set(value) - {"metric", "by", "kind"}:
        raise ValueError(f"a figure of a metric has metric, by and kind; it has no {', '.join(sorted(unknown))}")
    by = value.get("by", [])
    if not isinstance(by, list | tuple) or not all(isinstance(axis, str) for axis in by):
        raise ValueError('by is a list of axes, such as by = ["links.bottleneck.queue", "flows.bulk.cc"]')
    kind = value.get("kind", "auto")
    if kind not in KINDS:
        raise ValueError(f'"{kind}" is not a kind of figure{did_you_mean(str(kind), KINDS)}')
    return value


FigureField = Annotated[
    FigureWish,
    BeforeValidator(_figure),
    WithJsonSchema(
        {
            "title": "figure",
            "anyOf": [
                {"type": "string", "examples": ["rtt-bulk", "cwnd-*--cubic"]},
                {
                    "type": "object",
                    "properties": {
                        "metric": {"type": "string", "examples": ["flow.rtt_ms_p95"]},
                        "by": {"type": "array", "items": {"type": "string"}},
                        "kind": {"enum": list(KINDS)},
                    },
                    "required": ["metric"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]

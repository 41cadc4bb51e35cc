"""The type of JSON and TOML values whose content is decided by users or other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = Mapping[str, Json]


def as_table(value: Json) -> JsonObject:
    """The value if it is a table, else an empty table."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Json) -> Sequence[Json]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, (list, tuple)) else ()


def varied(scenario: JsonObject) -> Iterator[tuple[str, Json]]:
    """The paths that sweeps and cases of a scenario's data set, with each of their values."""
    for path, values in as_table(scenario.get("sweep")).items():
        yield from ((path, value) for value in as_list(values))
    for case in as_list(scenario.get("cases")):
        yield from as_table(as_table(case).get("set")).items()


_REST_OF_A_VALUE = re.compile(r"\s*(\.|[eE][+-]?|-|t(ru?)?|f(a(ls?)?)?|n(ul?)?|u[0-9a-fA-F]{0,4})?\s*")
"""The unread rest of a number, of true, false or null, or of an escape, that is cut short."""


def is_cut_short(error: json.JSONDecodeError) -> bool:
    """Whether the text is the beginning of a JSON value and ends within it, if only within a number."""
    return "Unterminated" in error.msg or _REST_OF_A_VALUE.fullmatch(error.doc, error.pos) is not None

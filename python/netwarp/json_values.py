"""What JSON and TOML can say: the type of what has no other, since users or other programs decide what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = Mapping[str, Json]


def as_table(value: Json) -> JsonObject:
    """A value that is a table; empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Json) -> Sequence[Json]:
    """A value that is a list; empty if it is none."""
    return value if isinstance(value, (list, tuple)) else ()


def varied(scenario: JsonObject) -> Iterator[tuple[str, Json]]:
    """The paths that sweeps and cases of a scenario's data set, each with each of its values."""
    for path, values in as_table(scenario.get("sweep")).items():
        yield from ((path, value) for value in as_list(values))
    for case in as_list(scenario.get("cases")):
        yield from as_table(as_table(case).get("set")).items()

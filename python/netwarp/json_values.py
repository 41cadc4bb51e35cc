"""What JSON and TOML can say: the type of what has no other, since users or other programs decide what is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = Mapping[str, Json]


def as_table(value: Json) -> JsonObject:
    """A value that is a table; empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Json) -> Sequence[Json]:
    """A value that is a list; empty if it is none."""
    return value if isinstance(value, (list, tuple)) else ()

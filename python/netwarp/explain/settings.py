"""Intended differences of two runs: those between their labs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netwarp.store.rundir import RunDir
from netwarp.values.json_values import Json

MAX_CHARS = 60
_NAMED = ("name", "interface", "at_ns")
"""Members of two lists are matched by the first of these fields that they have."""


def lab_differences(a: RunDir, b: RunDir) -> list[str]:
    """Settings of the labs that differ, such as `links.bottleneck.ends.r1.queue.limit: 20 → 21`. Raises StoreError."""
    return [
        f"{path.lstrip('.')}: {one} → {other}"
        for path, one, other in _differences("", a.lab.as_json(), b.lab.as_json())
    ]


def _differences(path: str, a: Any, b: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys([*a, *b]):
            yield from _differences(f"{path}.{key}", a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list):
        yield from _differences(path, _by_name(a), _by_name(b))
    elif a != b:
        yield path, _text(a), _text(b)


def _by_name(entries: Sequence[Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for number, entry in enumerate(entries):
        names = [entry[key] for key in _NAMED if key in entry] if isinstance(entry, Mapping) else []
        name = str(names[0]) if names else str(number)
        found[name if name not in found else f"{name}.{number}"] = entry
    return found


def _text(value: Any) -> str:
    return "none" if value is None else textwrap.shorten(str(value), MAX_CHARS, placeholder=" …")

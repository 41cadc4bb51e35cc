"""Bounds of a scenario's size, checked on its plain data before anything is made of it.

Beyond them checks take minutes, a plan does not fit into memory, or a kernel fails. No practical study comes near them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from netwarp.scenario.source import Keys
from netwarp.values.json_values import JsonObject

Found = tuple[Keys, str]

MAX_RUNS = 100_000
"""The most runs of a plan, which is held in memory and has to finish."""
MAX_VALUES = 100_000
MAX_TEXT = 10_000
MAX_ENTRIES: Mapping[str, int] = {
    "nodes": 2_000,
    "links": 4_000,
    "flows": 10_000,
    "changes": 2_000,
    "tuners": 1_000,
    "presets": 1_000,
    "cases": 1_000,
    "expect": 1_000,
    "figures": 100,
    "views": 100,
    "sweep": 20,
}
"""Entries of a scenario's own tables and lists; all others have up to `MAX_LISTED`."""
MAX_LISTED = 1_000
MAX_SETTINGS = 100_000
"""Settings of all cases together, those of the presets that they use included."""


def beyond_bounds(data: JsonObject) -> list[Found]:
    """Find the first part of a scenario's data that exceeds its bound; looking for a second may take forever."""
    return next(([found] for found in (*_entries(data), *_settings(data), *_sizes(data), *_points(data))), [])


def _entries(data: JsonObject) -> Iterator[Found]:
    for name, maximum in MAX_ENTRIES.items():
        count = _count(data.get(name))
        if count > maximum:
            yield (name,), f"there are {count:,} entries; a scenario has at most {maximum:,} of them"


def _sizes(data: JsonObject) -> Iterator[Found]:
    """Check the lengths of all texts, keys and lists."""
    left: list[tuple[Keys, Any]] = [((), data)]
    while left:
        keys, value = left.pop()
        if isinstance(value, str) and len(value) > MAX_TEXT:
            yield keys, f"this text has {len(value):,} characters; the maximum is {MAX_TEXT:,}"
        elif isinstance(value, dict | list):
            maximum = _maximum(keys)
            if len(value) > maximum:
                yield keys, f"there are {len(value):,} entries; the maximum is {maximum:,}"
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inner in pairs:
                if isinstance(key, str) and len(key) > MAX_TEXT:
                    yield keys, f"a key has {len(key):,} characters; the maximum is {MAX_TEXT:,}"
                elif isinstance(inner, dict | list | str):
                    left.append(((*keys, key), inner))


def _maximum(keys: Keys) -> int:
    if len(keys) == 1:
        return MAX_ENTRIES.get(str(keys[0]), MAX_VALUES if keys == ("seeds",) else MAX_LISTED)
    return MAX_VALUES if keys[:1] == ("sweep",) and len(keys) == 2 else MAX_LISTED


def _settings(data: JsonObject) -> Iterator[Found]:
    presets, cases = data.get("presets"), data.get("cases")
    total = 0
    for case in cases if isinstance(cases, list) else ():
        if not isinstance(case, dict):
            continue
        used = case.get("use")
        total += _count(case.get("set"))
        if isinstance(used, list) and isinstance(presets, dict):
            total += sum(_count(presets.get(str(name))) for name in used)
    if total > MAX_SETTINGS:
        yield (
            ("cases",),
            f"its cases and the presets that they use have {total:,} settings; the maximum is {MAX_SETTINGS:,}",
        )


def _points(data: JsonObject) -> Iterator[Found]:
    sweep = data.get("sweep")
    points = math.prod(_count(values) for values in sweep.values()) if isinstance(sweep, dict) else 1
    points *= max(_count(data.get("cases")), 1)
    if points > MAX_RUNS:
        yield (
            ("sweep",),
            f"there are {points:,} points (of all axes and cases); a plan has at most {MAX_RUNS:,} runs: take fewer "
            "values, fewer axes, or several scenarios",
        )


def _count(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0

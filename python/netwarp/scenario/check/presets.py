"""Presets: named settings that cases share. A case's `use` is merged into its `set` before anything is checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model.paths import resolve_path
from netwarp.scenario.source import Keys
from netwarp.values.json_values import Json, JsonObject, as_list, as_table

Found = tuple[Keys, str]


def with_presets(data: JsonObject) -> dict[str, Json]:
    """The data of a scenario file with each case's `set` complete: its presets in order, then its own settings.

    If two of them set the same path, the later one holds. Data that does not have the form of presets and cases stays
    as it is, for validation to report.
    """
    presets, cases = data.get("presets"), data.get("cases")
    if not isinstance(presets, dict) or not isinstance(cases, list):
        return dict(data)
    return {**data, "cases": [_complete(case, presets) for case in cases]}


def _complete(case: Any, presets: JsonObject) -> Any:
    if not isinstance(case, dict) or not isinstance(case.get("use"), list) or not isinstance(case.get("set", {}), dict):
        return case
    named = [preset for name in case["use"] if isinstance(preset := presets.get(str(name)), dict)]
    return case | {"set": {path: value for part in (*named, case.get("set", {})) for path, value in part.items()}}


def check_presets(data: JsonObject) -> Iterator[Found]:
    """Check the paths that presets set, and the names of presets that cases use, in validated data."""
    presets = as_table(data.get("presets"))
    for name, settings in presets.items():
        for path in as_table(settings):
            try:
                resolve_path(path, data)
            except ValueError as error:
                yield ("presets", name, path), str(error)
    for index, case in enumerate(as_list(data.get("cases"))):
        for name in map(str, as_list(as_table(case).get("use"))):
            if name not in presets:
                yield ("cases", index, "use"), f'there is no preset "{name}"{did_you_mean(name, presets)}'

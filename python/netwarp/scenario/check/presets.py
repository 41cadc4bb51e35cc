"""Presets: named settings that cases share. A case's `use` is merged into its `set` before anything is checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.values.json_values import Json, JsonObject

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


def check_presets(scenario: Scenario, keys: Mapping[str, tuple[str, ...] | str]) -> Iterator[Found]:
    """Check the paths that presets set (`keys`: those of each path, or a reason), and the presets that cases use."""
    for name, settings in scenario.presets.items():
        for path in settings:
            if isinstance(why := keys[path], str):
                yield ("presets", name, path), why
    for index, case in enumerate(scenario.cases):
        for name in case.use:
            if name not in scenario.presets:
                yield ("cases", index, "use"), f'there is no preset "{name}"{did_you_mean(name, scenario.presets)}'

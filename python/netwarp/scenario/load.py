"""A shipped name or a path → a validated Scenario, or a ScenarioError that says everything that is wrong with it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netwarp.scenario.check import check_scenario
from netwarp.scenario.check_study import check_study
from netwarp.scenario.errors import Problem, ScenarioError, did_you_mean
from netwarp.scenario.explain import explain
from netwarp.scenario.files import read_file
from netwarp.scenario.model import Scenario
from netwarp.scenario.paths import parse_setting, resolve_path, swept_path, with_value
from netwarp.scenario.presets import with_presets
from netwarp.scenario.source import Keys, Source

MAX_FILE_BYTES = 4 * 2**20
MAX_DEPTH = 20
"""How deep tables and lists of a scenario may be nested; the format itself needs eight."""


def shipped_scenarios() -> dict[str, Path]:
    """The scenarios that come with netwarp: name → file, sorted by name."""
    folder = Path(str(resources.files("netwarp") / "scenarios"))
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def load_scenario(source: str | Path, settings: Sequence[str] = ()) -> Scenario:
    """The scenario called `source` (a shipped name, or a path) with `--set` settings (`"PATH=VALUE"`) applied.

    Raises ScenarioError with every problem found.
    """
    path = _find(source)
    return parse_scenario(_read(path), str(path), settings, path.parent)


def parse_scenario(text: str, label: str = "scenario", settings: Sequence[str] = (), folder: Path = Path()) -> Scenario:
    """The scenario in a TOML text; `label` stands for the file in messages. Raises ScenarioError.

    Files that the scenario names are looked for in `folder`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_problem(error)], label) from None
    except RecursionError:
        raise ScenarioError("the brackets are nested too deeply to be a scenario", label) from None
    if _is_deep(data):
        raise ScenarioError(f"its tables are nested more than {MAX_DEPTH} deep; no scenario's are", label)
    data, overrides = _apply(with_presets(data), settings)
    return validate(Source(label, text, data, overrides, tuple(settings), folder))


def validate(source: Source) -> Scenario:
    """The scenario in the source's data, checked field by field and then as a whole. Raises ScenarioError."""
    try:
        scenario = Scenario.model_validate(source.data, context={"folder": source.folder})
    except ValidationError as error:
        raise ScenarioError(problems_at(explain(error, source.data), source), source.label) from None
    found = [*check_scenario(scenario), *check_study(scenario, source.data, source.overrides)]
    if found:
        raise ScenarioError(problems_at(found, source), source.label)
    scenario._source = source
    return scenario


def problems_at(found: Sequence[tuple[Keys, str]], source: Source) -> list[Problem]:
    """Findings as problems with their lines, each once, in the order of the file."""
    problems = dict.fromkeys(_locate(keys, message, source) for keys, message in found)
    return sorted(problems, key=lambda problem: problem.line or 0)


def _locate(keys: Keys, message: str, source: Source) -> Problem:
    where = ".".join(_quoted(key) for key in keys)
    for path, value in source.overrides.items():
        if where == path or where.startswith(path + ".") or path.startswith(where + "."):
            return Problem(message, f"--set {path}={value}", None)
    return Problem(message, where, source.line_of(keys))


def _quoted(key: str | int) -> str:
    return str(key) if re.fullmatch(r"[\w-]*", str(key)) else f'"{key}"'


def _find(source: str | Path) -> Path:
    shipped = shipped_scenarios()
    path = Path(source)
    if str(source) in shipped and not path.is_file():
        return shipped[str(source)]
    try:
        if path.is_dir():
            raise ScenarioError("this is a directory; name a scenario file in it", str(source))
        if path.exists() and not path.is_file():
            raise ScenarioError("this is a device or a pipe; a scenario is a file", str(source))
        if not path.exists():
            raise ScenarioError(
                f"there is no such file and no shipped scenario of that name{did_you_mean(str(source), shipped)}",
                str(source),
            )
    except (OSError, ValueError) as error:
        raise ScenarioError(f"this cannot be a file: {_reason(error)}", str(source)[:200]) from None
    return path


def _read(path: Path) -> str:
    try:
        content = read_file(path, MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        raise ScenarioError(f"the file cannot be read: {_reason(error)}", str(path)) from None
    if len(content) > MAX_FILE_BYTES:
        raise ScenarioError(f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB; no scenario is", str(path))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = Problem("the file is not text in UTF-8; a scenario is a TOML file", line=line)
        raise ScenarioError([problem], str(path)) from None


def _is_deep(data: object) -> bool:
    level: list[object] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
    return bool(level)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _syntax_problem(error: tomllib.TOMLDecodeError) -> Problem:
    message = str(error)
    match = re.search(r" \(at line (\d+), column (\d+)\)", message)
    line = int(match[1]) if match else None
    column = f" (column {match[2]})" if match else ""
    return Problem(f"this is not TOML: {re.sub(r' [(]at .*[)]$', '', message)}{column}", line=line)


def _apply(data: dict[str, Any], settings: Sequence[str]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Data with the settings in place; on a swept path the axis shrinks to the one value."""
    overrides: dict[str, Any] = {}
    problems: list[Problem] = []
    for setting in settings:
        try:
            path, value = parse_setting(setting)
            if axis := swept_path(path):
                data = _sweep(data, axis, value)
                overrides[f'sweep."{axis}"'] = value
                continue
            keys = resolve_path(path, data, sweepable=False)
            data = _set(data, keys, value)
            overrides[".".join(keys)] = value
        except ValueError as error:
            problems.append(Problem(str(error), f"--set {setting}"))
        except (TypeError, AttributeError, KeyError, IndexError):
            problems.append(Problem("the file does not have a table there", f"--set {setting}"))
    if problems:
        raise ScenarioError(problems, "command line")
    return data, overrides


def _sweep(data: dict[str, Any], axis: str, values: Any) -> dict[str, Any]:
    """Data with the axis: in the place of the file's own of the same path, else the last."""
    if not isinstance(values, list):
        raise ValueError(f"an axis needs a list of values, such as [{json.dumps(values, default=str)}]")
    keys = resolve_path(axis, data)
    own = (path for path in data.get("sweep", {}) if split_equal(path, keys, data))
    return with_value(data, ("sweep", next(own, axis)), values)


def _set(data: dict[str, Any], keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    sweep = data.get("sweep")
    for path in sweep if isinstance(sweep, dict) else ():
        try:
            swept = resolve_path(path, data)
        except ValueError:
            continue  # reported with the file's other problems
        if swept == keys:
            return with_value(data, ("sweep", path), [value])
        if swept[: len(keys)] == keys or keys[: len(swept)] == swept:
            raise ValueError(f'the sweep sets "{path}", which overlaps this; set that path instead')
    for case in data.get("cases", ()):
        for path in case.get("set", ()) if isinstance(case, dict) else ():
            if split_equal(path, keys, data):
                name = case.get("name")
                raise ValueError(f'the case "{name}" sets this as well; choose cases with --case, or edit the file')
    return with_value(data, keys, value)


def split_equal(path: str, keys: tuple[str, ...], data: Mapping[str, Any]) -> bool:
    """Whether `path` names the same place as `keys`."""
    try:
        return resolve_path(path, data) == keys
    except ValueError:
        return False

"""Loads a scenario by its shipped name or its path; a ScenarioError names everything that is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netwarp.modules.named import FILE
from netwarp.modules.program import PROGRAM
from netwarp.scenario.check.bounds import beyond_bounds
from netwarp.scenario.check.presets import with_presets
from netwarp.scenario.check.scenario import check_scenario
from netwarp.scenario.check.study import check_study, paths_of
from netwarp.scenario.errors import COMMAND_LINE, MAX_PROBLEMS, Problem, ScenarioError, did_you_mean
from netwarp.scenario.load.explain import explain
from netwarp.scenario.load.topology import TopologyError, as_table_of_topology, with_topology
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.exec_scenario import ExecScenario
from netwarp.scenario.model.paths import keys_or_reason, parse_setting, resolve_path, swept_path, with_value
from netwarp.scenario.source import Keys, Source, split_dotted
from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.shipped import own_scenarios, shipped_scenarios
from netwarp.studies import registry
from netwarp.studies.base import StudyError
from netwarp.values.files import read_file
from netwarp.values.json_values import Json, JsonObject, as_list, as_table

MAX_FILE_BYTES = 4 * 2**20
_CASES = "cases."
"""The prefix of a setting's path that replaces values of cases."""


def _shipped(name: str) -> Path | None:
    """The shipped scenario of this name; studies are searched last. Raises StudyError if several offer it."""
    return own_scenarios().get(name) or registry.scenario(name)


def load_scenario(source: str | Path, settings: Sequence[str] = (), *, typed: Sequence[str] | None = None) -> Scenario:
    """The scenario called `source` (a shipped name, or a path) with `--set` settings (`"PATH=VALUE"`) applied.

    Files that settings name are looked for in the current directory, then beside the scenario. Raises ScenarioError
    with every problem found. `typed`: the settings that the user gave, if not all.
    """
    path = _find(source)
    given = texts_in(settings if typed is None else typed)
    return parse_scenario(_read(path), str(path), settings, path.parent, _found_in(Path.cwd(), settings), given=given)


def parse_scenario(
    text: str,
    label: str = "scenario",
    settings: Sequence[str] = (),
    folder: Path = Path(),
    elsewhere: Mapping[str, Path] | None = None,
    *,
    given: frozenset[str] = frozenset(),
) -> Scenario:
    """The scenario in a TOML text; `label` stands for the file in messages. Raises ScenarioError.

    Files that the scenario names are looked for in `folder`, or where `elsewhere` says. `given` are the texts of
    settings that a user typed, who may name any file.
    """
    try:
        data = parse_toml(text)
    except TomlError as error:
        raise ScenarioError([Problem(str(error), line=error.line)], label) from None
    _refuse_beyond_bounds(Source(label, text, data))
    own = data = as_table_of_topology(with_presets(data))
    source = Source(label, text, data, {}, tuple(settings), folder, elsewhere or {}, given=given)
    # Settings of the topology first: they decide which nodes and links the others may name.
    of_topology = [setting for setting in settings if setting.split("=")[0].split(".")[0].strip() == "topology"]
    others = [setting for setting in settings if setting not in of_topology]
    data, first = _apply(data, of_topology, {})
    made = generated(replace(source, overrides=first), data).data if others and "topology" in data else {}
    changed, second = _apply(data, others, {name: made[name] for name in ("nodes", "links") if name in made})
    source = generated(replace(source, overrides={**first, **second}), changed)
    _refuse_beyond_bounds(source)
    try:
        return validate(source)
    except ScenarioError as error:
        if all(problem.origin for problem in error.problems) or not _is_valid(
            Source(label, text, {}, folder=folder), own
        ):
            raise
        options = " ".join(source.overrides.values())
        cause = Problem(f"the file is valid by itself; the problem comes from {options}", origin=COMMAND_LINE)
        raise ScenarioError([*error.problems, cause], label) from None


def _found_in(folder: Path, settings: Sequence[str]) -> dict[str, Path]:
    """The files in a folder that values of settings may name: name → the folder."""
    found: dict[str, Path] = {}
    for setting in settings:
        with suppress(ValueError, OSError):  # an invalid setting is reported where it is applied
            found |= {place: folder for place in _file_names(parse_setting(setting)[1]) if (folder / place).exists()}
    return found


def texts_in(settings: Sequence[str]) -> frozenset[str]:
    """The texts in values of settings."""
    found: set[str] = set()
    for setting in settings:
        with suppress(ValueError):  # an invalid setting is reported where it is applied
            found |= set(_texts(parse_setting(setting)[1]))
    return frozenset(found)


def _file_names(value: Any) -> Iterator[str]:
    """Every text in a value that may be the name of a file: of a module or program, the part before its parameters."""
    for each in _texts(value):
        text = each.removeprefix(FILE).removeprefix(PROGRAM)
        yield from (text, *text.split()[:1])


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, which may contain blanks and commas."""
    match value:
        case str():
            yield from (each.strip() for each in (value, *value.split(",")))
        case list():
            yield from (text for each in value for text in _texts(each))
        case dict():
            yield from (text for each in value.values() for text in _texts(each))


def generated(source: Source, written: JsonObject) -> Source:
    """The source with these data, and with the nodes and links that their topology generates. Raises ScenarioError."""
    source = replace(source, data=written, written=written)
    try:
        return replace(source, data=with_topology(written, source.context))
    except TopologyError as error:
        raise ScenarioError(problems_at(error.found, source), source.label) from None


def _is_valid(source: Source, written: JsonObject) -> bool:
    try:
        validate(generated(source, written))
    except ScenarioError:
        return False
    return True


def validate(source: Source) -> Scenario:
    """The scenario in the source's data, checked field by field and then as a whole. Raises ScenarioError."""
    try:
        scenario = (ExecScenario if "exec" in source.data else Scenario).model_validate(
            source.data, context=source.context
        )
    except ValidationError as error:
        raise ScenarioError(problems_at(explain(error, source.data), source), source.label) from None
    keys = {path: keys_or_reason(path, source.data) for path in paths_of(scenario)}
    checks = chain(check_scenario(scenario), check_study(scenario, keys, source.overrides))
    found = list(islice(checks, MAX_PROBLEMS))
    if found:
        raise ScenarioError(problems_at(found, source), source.label)
    scenario._source = source
    scenario._keys = {path: found for path, found in keys.items() if not isinstance(found, str)}
    return scenario


def _refuse_beyond_bounds(source: Source) -> None:
    if found := beyond_bounds(source.data):
        raise ScenarioError(problems_at(found, source), source.label)


def problems_at(found: Sequence[tuple[Keys, str]], source: Source) -> list[Problem]:
    """Findings as problems with their lines, each once, in the order of the file."""
    problems = dict.fromkeys(_locate(keys, message, source) for keys, message in found)
    return sorted(problems, key=lambda problem: problem.line or 0)


def _locate(keys: Keys, message: str, source: Source) -> Problem:
    where = ".".join(_quoted(key) for key in keys)
    for path, given in source.overrides.items():
        if where == path or where.startswith(path + ".") or path.startswith(where + "."):
            return Problem(message, given, None, COMMAND_LINE)
    line = source.line_of(keys)
    if line is None and keys[:1] in {("nodes",), ("links",)}:
        line = source.line_of(("topology",))
    return Problem(message, where, line)


def _quoted(key: str | int) -> str:
    return str(key) if re.fullmatch(r"[\w-]*", str(key)) else f'"{key}"'


def _find(source: str | Path) -> Path:
    path = Path(source)
    try:
        if not path.is_file() and (shipped := _shipped(str(source))) is not None:
            return shipped
        if path.is_dir():
            raise ScenarioError("this is a directory; name a scenario file in it", str(source))
        if path.exists() and not path.is_file():
            raise ScenarioError("this is a device or a pipe; a scenario must be a regular file", str(source))
        if not path.exists():
            raise ScenarioError(
                "; ".join(
                    [
                        "there is no such file and no shipped scenario of that name"
                        + did_you_mean(str(source), shipped_scenarios()),
                        *registry.unloadable(),
                    ]
                ),
                str(source),
            )
    except StudyError as error:
        raise ScenarioError(str(error), str(source)) from None
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


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _apply(data: dict[str, Json], settings: Sequence[str], made: JsonObject) -> tuple[dict[str, Json], dict[str, str]]:
    """Data with the settings applied, and the option that gave each. A setting of a swept path reduces its axis to
    this one value. `made` are the tables of all nodes and links, if a topology generates some."""
    overrides: dict[str, str] = {}
    problems: list[Problem] = []
    own_tuners = set(_table(data, "tuners"))
    for setting in settings:
        given = _as_option(setting)
        try:
            path, value = parse_setting(setting)
            if axis := swept_path(path):
                data = _sweep(data, axis, _several(value), made)
                overrides[f'sweep."{axis}"'] = given
                continue
            if path.startswith(_CASES):
                data, replaced = _in_cases(data, path.removeprefix(_CASES), value, made)
                overrides |= dict.fromkeys(replaced, given)
                continue
            data = _with_tuner(path, data)
            keys = _tuner(path) or resolve_path(path, {**data, **made}, sweepable=False)
            data = as_table_of_topology(_set(data, keys, value, made))
            overrides[".".join(keys)] = given
        except ValueError as error:
            problems.append(Problem(str(error), given, None, COMMAND_LINE))
        except (TypeError, AttributeError, KeyError, IndexError):
            problems.append(Problem("the file does not have a table there", given, None, COMMAND_LINE))
    if problems:
        raise ScenarioError(problems, COMMAND_LINE)
    for name in _unused_tuners(data, own_tuners):
        given = next(option for path, option in overrides.items() if path.split(".")[:2] == ["tuners", name])
        known = f"; the file has {', '.join(sorted(own_tuners))}" if own_tuners else ""
        why = f'nothing uses the tuner "{name}" that this adds{known}; add --set run.tuner={name}'
        raise ScenarioError([Problem(why, given, None, COMMAND_LINE)], COMMAND_LINE)
    return data, overrides


def _several(value: Any) -> Any:
    """A list of values that commas separate, each parsed as `--set` does; any other value as it is."""
    if not isinstance(value, str) or "," not in value:
        return value
    return [parse_setting(f"value={text.strip()}")[1] for text in value.split(",")]


def _as_option(setting: str) -> str:
    """The setting as the option that gives it."""
    axis = setting.removeprefix("sweep.")
    return f"--set {setting}" if axis == setting else f"--sweep {axis}"


def _tuner(path: str) -> tuple[str, ...] | None:
    """The keys of a path that names a whole tuner (no other table can be set as a whole); None for other paths."""
    keys = tuple(split_dotted(path))
    return keys if len(keys) == 2 and keys[0] == "tuners" else None


def _with_tuner(path: str, data: dict[str, Json]) -> dict[str, Json]:
    """Data that has the tuner which the path names, if it names one."""
    keys = split_dotted(path)
    if keys[0] != "tuners" or len(keys) < 2 or keys[1] in _table(data, "tuners"):
        return data
    return with_value(data, ("tuners", keys[1]), {})


def _table(data: JsonObject, name: str) -> JsonObject:
    """A table of the file; empty if it is missing or not a table, which validation reports."""
    return as_table(data.get(name))


def _unused_tuners(data: JsonObject, own: set[str]) -> list[str]:
    """Added tuners that no run would use."""
    added = [name for name in _table(data, "tuners") if name not in own]
    if not added:
        return []
    cases = data.get("cases")
    tables = [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []
    swept = _table(data, "sweep").get("run.tuner")
    used = [_table(data, "run").get("tuner"), *(swept if isinstance(swept, list) else [])]
    used += [_table(case, "set").get("run.tuner") for case in tables]
    return [name for name in added if name not in used]


def _in_cases(data: dict[str, Json], path: str, value: Any, made: JsonObject) -> tuple[dict[str, Json], list[str]]:
    """Data in which the cases that set this path set it to this value, and the places that were changed."""
    known = {**data, **made}
    keys = resolve_path(path, known, sweepable=False)
    cases: list[Json] = []
    changed: list[str] = []
    for number, case in enumerate(as_list(data.get("cases"))):
        settings = as_table(as_table(case).get("set"))
        own = next((each for each in settings if _names(each, keys, known)), None)
        cases.append(case if own is None else {**as_table(case), "set": {**settings, own: value}})
        changed += [] if own is None else [f'cases.{number}.set."{own}"']
    if not changed:
        raise ValueError(f"no case sets {path}; without `cases.` this sets it for all")
    return {**data, "cases": cases}, changed


def _sweep(data: dict[str, Json], axis: str, values: Any, made: JsonObject) -> dict[str, Json]:
    """Data with the axis: it replaces the file's axis of the same path, or comes last."""
    if not isinstance(values, list):
        raise ValueError(f"an axis needs a list of values, such as [{json.dumps(values, default=str)}]")
    keys = resolve_path(axis, {**data, **made})
    own = (path for path in _table(data, "sweep") if _names(path, keys, {**data, **made}))
    return _put(data, ("sweep", next(own, axis)), values)


def _set(data: dict[str, Json], keys: tuple[str, ...], value: Any, made: JsonObject) -> dict[str, Json]:
    for path in _table(data, "sweep"):
        swept = keys_or_reason(path, {**data, **made})
        if isinstance(swept, str):
            continue  # reported with the file's other problems
        if swept == keys:
            return _put(data, ("sweep", path), [value])
        if swept[: len(keys)] == keys or keys[: len(swept)] == swept:
            raise ValueError(f'the sweep sets "{path}", which overlaps this; set that path instead')
    return _put(data, keys, value)


def _put(data: dict[str, Json], keys: tuple[str, ...], value: Any) -> dict[str, Json]:
    """Set a value as `with_value` does. Raises TypeError if the file's section is not a table."""
    if len(keys) > 1 and not isinstance(data.get(keys[0], {}), dict | list):
        raise TypeError(keys[0])
    return with_value(data, keys, value)


def _names(path: str, keys: tuple[str, ...], data: JsonObject) -> bool:
    """Whether a path names the place at `keys`."""
    return keys_or_reason(path, data) == keys

"""A command line → the scenario that is this command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.scenario.errors import COMMAND_LINE, ScenarioError
from netwarp.scenario.load.loader import parse_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.paths import toml

Options = Mapping[str, str | int]
"""Fields of a section, as a file spells them."""
_DELETE = "\x7f"
"""DEL, which JSON leaves unescaped and TOML does not allow unescaped."""


def command_scenario(
    words: Sequence[str],
    directory: Path,
    *,
    env: Mapping[str, str],
    varied: Mapping[str, Sequence[str]],
    seeds: Sequence[int] = (1,),
    run: Options | None = None,
    machine: Options | None = None,
    timeout: str | None = None,
) -> Scenario:
    """The scenario of a command that starts in `directory` with `env`, once for each value of the `varied` variables.

    `run` are options of its runs, `machine` those of the command's machine (`exec`), `timeout` the virtual time that
    it may take, all as a file spells them. Raises ScenarioError.
    """
    given = {"command": list(words), "directory": str(directory), "env": dict(env), **(machine or {})}
    lines = [f"name = {_toml(name_of(words))}", f"seeds = {_toml(list(seeds))}"]
    lines += [] if timeout is None else [f"duration = {_toml(timeout)}"]
    lines += ["", "[exec]"]
    lines += [f"{key} = {_toml(value)}" for key, value in given.items()]
    lines += ["", "[run]", *(f"{key} = {_toml(value)}" for key, value in (run or {}).items())]
    lines += ["", "[sweep]", *(f'"exec.env.{name}" = {_toml(list(values))}' for name, values in varied.items()), ""]
    return parse_scenario("\n".join(lines), "exec", folder=directory)


def name_of(words: Sequence[str]) -> str:
    """The name of a command's results: its program without the path."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(words[0]).name if words else "").strip("-")
    return f"exec-{name}"[:64].rstrip("-")


def _toml(value: object) -> str:
    try:
        text = toml(value)
        text.encode()
    except UnicodeEncodeError:
        raise ScenarioError(
            "a command, its directory and its variables must be text in UTF-8, and this has other bytes", COMMAND_LINE
        ) from None
    return text.replace(_DELETE, "\\u007f")

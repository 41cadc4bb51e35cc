"""Makes of a scenario one with a shell or another command in its network, in place of its flows or beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netwarp.scenario.errors import ScenarioError, did_you_mean
from netwarp.scenario.load.loader import load_scenario
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.paths import toml

BEGINNING = "/run/netwarp-shell.bash"
"""The start-up file of an interactive shell in a lab; the agent writes it."""
NODE = "NETWARP_NODE"
"""The environment variable that names the node in which a command runs."""


def session_scenario(
    source: str,
    settings: Sequence[str] = (),
    *,
    node: str | None = None,
    script: str | None = None,
    flows: bool = False,
    recorded: bool = False,
    directory: str = "/",
    env: Mapping[str, str] | None = None,
    pace: float | None = None,
    seed: int | None = None,
) -> Scenario:
    """The scenario `source` at the first point of its sweep, with a shell in `node` (default: the first).

    The shell reads `script`; None: a terminal. Raises ScenarioError.
    """
    words = ["bash", "--noprofile", "--norc"] if script is not None else ["bash", "--noprofile", "--rcfile", BEGINNING]
    command = {
        "directory": directory,
        "record": "packets" if recorded else "none",
        "flows": flows,
        "terminal": script is None,
        **({} if script is None else {"input": script}),
        **({} if pace is None else {"pace": pace}),
    }
    return with_command(source, words, command, settings, node=node, env=env, seed=seed)


def with_command(
    source: str,
    words: Sequence[str],
    options: Mapping[str, object],
    settings: Sequence[str] = (),
    *,
    node: str | None = None,
    env: Mapping[str, str] | None = None,
    seed: int | None = None,
) -> Scenario:
    """The scenario `source` at the first point of its sweep, with a command in `node` (default: the first).

    `options` are further fields of `exec`, in a file's syntax. Raises ScenarioError.
    """
    # Loaded with a command from the start: without one a scenario needs flows, and a command does not.
    found = load_scenario(source, [*settings, f"exec.command={toml(words)}"])
    if not found.nodes:
        raise ScenarioError("this is a command and has no network to work in; run it with `netwarp run`", source)
    nodes = list(found.nodes)
    if node is not None and node not in nodes:
        known = ", ".join(nodes)
        raise ScenarioError(f'there is no node "{node}"{did_you_mean(node, nodes)}; the nodes are {known}', source)
    start = node or nodes[0]
    command = {"command": list(words), "env": {**(env or {}), NODE: start}, "node": start, **options}
    point = [f"sweep.{path}={toml([values[0]])}" for path, values in found.sweep.items()]
    rest = [f"seeds={toml([found.seeds[0] if seed is None else seed])}", "views=[]", "figures=[]"]
    given = [f"exec.{name}={_toml(value)}" for name, value in command.items()]
    return load_scenario(source, [*settings, *point, *rest, *given], typed=settings)


def _toml(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else toml(value).replace("\x7f", "\\u007f")

"""The mark of tests that run in a machine: its arguments, and the seeds of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

MARK = "netwarp"
SEED = "netwarp_seed"
"""The fixture, and so the parameter, that holds the seed of a test's machine."""
SEEDS = range(2**63)


@dataclass(frozen=True)
class Wish:
    """The arguments of a test's mark."""

    scenario: str | None
    settings: Mapping[str, Any]
    node: str | None
    flows: bool
    seed: int


class MarkError(Exception):
    """A mark with invalid arguments; the message is a sentence."""


def seeds_of(text: str | None) -> tuple[int, ...]:
    """Parse `3` (the seeds 1 to 3) or `1,5`. Raises UsageError."""
    try:
        numbers = tuple(int(part) for part in (text or "1,").split(",") if part)
    except ValueError:
        numbers = ()
    is_count = bool(text) and "," not in str(text)
    if not numbers or min(numbers) < is_count or len(set(numbers)) < len(numbers):
        raise pytest.UsageError(f'--netwarp-seeds is a number of seeds such as 3, or seeds such as 1,5, not "{text}"')
    return tuple(range(1, numbers[0] + 1)) if is_count else numbers


def seeds_for(config: pytest.Config, mark: pytest.Mark | None) -> Sequence[int]:
    """The seeds of a test: its mark's, or those of the command line. Raises MarkError."""
    given = mark.kwargs.get("seeds") if mark else None
    if given is None:
        return seeds_of(config.getoption("--netwarp-seeds"))
    numbers = range(1, given + 1) if isinstance(given, int) else given
    is_list = isinstance(numbers, Sequence) and all(type(one) is int and one in SEEDS for one in numbers)
    if not is_list or not numbers or len(set(numbers)) < len(numbers):
        raise MarkError(
            f"seeds of the mark {MARK} is a number of seeds such as 3, or a list such as [1, 5], not {given!r}"
        )
    return numbers


def wish_of(item: pytest.Item) -> Wish:
    """Read the mark. Raises MarkError for unknown arguments."""
    mark = item.get_closest_marker(MARK)
    given = dict(mark.kwargs) if mark else {}
    names = [given.pop("scenario", None), *(mark.args if mark else ())]
    scenario, settings = names[-1], given.pop("settings", {})
    node, flows = given.pop("node", None), given.pop("flows", True)
    given.pop("seeds", None)
    if given or len(names) > 2:
        raise MarkError(f"the mark {MARK} has no argument {', '.join(given) or names[-1]}")
    if not isinstance(settings, Mapping):
        raise MarkError(f"settings of the mark {MARK} is a dictionary of paths and values, not {settings!r}")
    call = getattr(item, "callspec", None)
    values = dict(call.params) if call else {}
    seed = values[SEED] if SEED in values else seeds_for(item.config, mark)[0]
    texts = {path: _filled(path, value, values) for path, value in settings.items()}
    return Wish(_place(item, scenario), texts, node, bool(flows), int(seed))


def _filled(path: str, value: Any, values: Mapping[str, Any]) -> Any:
    """A setting with the test's parameters in it."""
    try:
        return value.format(**values) if isinstance(value, str) else value
    except (KeyError, IndexError, ValueError):
        known = ", ".join(values) or "none"
        raise MarkError(
            f'the setting {path} = "{value}" names a parameter that the test lacks; it has {known}'
        ) from None


def _place(item: pytest.Item, scenario: str | None) -> str | None:
    """The scenario as a path or a shipped name: that of the mark, the command line or the configuration file."""
    if scenario is not None:
        beside = item.path.parent / scenario
        return str(beside if beside.is_file() else scenario)
    if asked := item.config.getoption("--netwarp-scenario"):
        return str(asked)
    if default := str(item.config.getini("netwarp_scenario") or ""):
        folder = item.config.inipath.parent if item.config.inipath else item.config.rootpath
        return str(folder / default) if (folder / default).is_file() else default
    return None

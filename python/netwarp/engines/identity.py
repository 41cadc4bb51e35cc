"""The identity of a run beside its scenario and seed, the same for planning, executing and repeating it."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from netwarp.engines.base import Engine
from netwarp.scenario.model import Scenario

RESOLUTION = ("values", "modules", "energy", "lab_format", "flows", "scenario", "plan.py", "lab")
"""Modules and folders of netwarp that turn a scenario into labs."""


def identity_of(engine: Engine, scenario: Scenario) -> dict[str, str]:
    """Return everything that decides the bytes of a scenario's runs on this machine; it is part of every run's id.

    Raises EngineError.
    """
    return {**engine.identity(scenario), "netwarp": sources_digest(*RESOLUTION)}


def identity_here(engine: Engine, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the same for the programs that another identity names; missing ones are left out. Raises EngineError."""
    return {**engine.identity_here(asked), "netwarp": sources_digest(*RESOLUTION)}


def differing(engine: Engine, identity: Mapping[str, str]) -> list[str]:
    """Name the parts of an identity that differ on this machine now, or are missing (`iperf3`). Raises EngineError."""
    here = identity_here(engine, identity)
    return sorted(name_of(key) for key in {*here, *identity} if here.get(key) != identity.get(key))


def name_of(key: str) -> str:
    """The name of the part that a key of an identity stands for, such as a program's."""
    return key.removeprefix("program ")


@cache
def sources_digest(*parts: str) -> str:
    """SHA-256 (hex) over netwarp's own Python sources, or over those of some of its modules and folders."""
    root = Path(__file__).parents[1]
    roots = [root / part for part in parts] or [root]
    total = hashlib.sha256()
    for path in sorted(file for part in roots for file in ([part] if part.is_file() else part.rglob("*.py"))):
        total.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()

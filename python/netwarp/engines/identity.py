"""What decides the bytes of a run beside its scenario and seed: one answer for whoever plans, makes or repeats runs."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from netwarp.engines.base import Engine
from netwarp.scenario.model import Scenario

RESOLUTION = (
    *(
        "json_values.py",
        "constants.py",
        "qdisc.py",
        "units.py",
        "names.py",
        "fields.py",
        "files.py",
        "c_source.py",
        "module.py",
    ),
    *("json_values.py", "lab_format", "flows", "scenario", "plan.py", "lab"),
)
"""Which of netwarp's own sources make a lab of a scenario."""


def identity_of(engine: Engine, scenario: Scenario) -> dict[str, str]:
    """What decides the bytes of a scenario's runs on this machine: it goes into every run's id. Raises EngineError."""
    return {**engine.identity(scenario), "netwarp": sources_digest(*RESOLUTION)}


def identity_here(engine: Engine, asked: Mapping[str, str]) -> dict[str, str]:
    """The same of what another's identity names, without what is missing here. Raises EngineError."""
    return {**engine.identity_here(asked), "netwarp": sources_digest(*RESOLUTION)}


def differing(engine: Engine, identity: Mapping[str, str]) -> list[str]:
    """What of an identity is another, or missing, on this machine now (`iperf3`, `tc`). Raises EngineError."""
    here = identity_here(engine, identity)
    return sorted(name_of(key) for key in {*here, *identity} if here.get(key) != identity.get(key))


def name_of(key: str) -> str:
    """What a key of an identity stands for: of a program its name."""
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

"""The engines by name: netwarp's own, and those that installed packages offer.

A package offers an engine as an entry point of the group `netwarp.engines`: its name, and a function from
`EngineOptions` to the engine. Netwarp's own are stated in the same way, so that the module of one is imported when
it is asked for by its name, and not before.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

from netwarp.common.words import nearest
from netwarp.engines.base import BY_DIGEST, Engine, EngineError, EngineOptions, EngineSpec, UnknownEngineError

GROUP = "netwarp.engines"
DEFAULT = "uml"
SSH = "ssh"

Find = Callable[[EngineOptions], Engine]
"""Finds an engine on this machine. Raises EngineError saying what is missing."""

ENGINES: Mapping[str, EntryPoint] = {
    name: EntryPoint(name, finds, GROUP)
    for name, finds in (
        (DEFAULT, "netwarp.engines.uml:find_uml_engine"),
        ("host", "netwarp.engines.host.engine:find_host_engine"),
        (SSH, "netwarp.engines.ssh.engine:find_ssh_engine"),
    )
}


def engine_names() -> list[str]:
    """The names of all engines, netwarp's own first."""
    return list(dict.fromkeys([*ENGINES, *sorted(entry_points(group=GROUP).names)]))


def find_engine(name: str | None = None, options: EngineOptions | None = None) -> Engine:
    """The engine of that name on this machine, by default `uml`. Raises EngineError."""
    chosen, given = name or DEFAULT, options or EngineOptions()
    if given.inventory is not None and chosen in ENGINES and chosen != SSH:
        raise EngineError(f"The engine {chosen} runs labs on this machine alone: --inventory is for the engine ssh.")
    found: Find = ENGINES[chosen].load() if chosen in ENGINES else _offered(chosen)
    return found(given)


def find_same_engine(spec: EngineSpec) -> Engine:
    """The engine that another process named. Raises EngineError, MissingPartError."""
    return find_engine(spec.name, spec.options)


def with_kernel_of(engine: Engine, digest: str | None) -> Engine:
    """Return this engine with the kernel of that digest; the same engine for None. Raises EngineError,
    MissingPartError."""
    if digest is None:
        return engine
    return find_engine(engine.spec.name, replace(engine.spec.options, kernel=f"{BY_DIGEST}{digest}"))


def _offered(name: str) -> Find:
    offered = entry_points(group=GROUP, name=name)
    if not offered:
        known = engine_names()
        raise UnknownEngineError(f'There is no engine "{name}"{nearest(name, known)}; there are: {", ".join(known)}.')
    try:
        find: Find = next(iter(offered)).load()
    except Exception as error:  # another package's module may raise anything when it is imported
        raise EngineError(f'The engine "{name}" cannot be loaded: {type(error).__name__}: {error}') from error
    return find

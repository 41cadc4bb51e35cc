"""Checks of the modules of one run: they share a kernel, so names are unique and each parameter has one value."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.modules.named import Module, module_of
from netwarp.modules.program import PROGRAM
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.values.qdisc import Qdisc


def check_modules(scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    """Find conflicts that keep the kernel from loading all modules of a run, and options that tc cannot pass on."""
    taken: dict[str, Module] = {}
    for keys, module in _named(scenario):
        other = taken.setdefault(module.name, module)
        if other.digest != module.digest:
            yield keys, f"{module.place} and {other.place} are both called {module.name}; give one file another name"
        elif other.parameters != module.parameters:
            yield (
                keys,
                f"{module.place} is in this run with other parameters already ({_words(other)}); a kernel has one set "
                "of parameters for a module: copy the file under another name, and register another name in it",
            )
        elif other.program != module.program:
            yield (
                keys,
                f"{PROGRAM}{module.place} is in this run with another content or other arguments already; give one of "
                "the two programs another name",
            )
        for name in (*module.congestion_controls, *module.qdiscs):
            if (owner := taken.setdefault(f"={name}", module)).digest != module.digest:
                yield keys, f'{module.place} registers "{name}", as {owner.place} does; rename one of the two'
    yield from _options(scenario)


def _named(scenario: Scenario) -> Iterator[tuple[Keys, Module]]:
    yield from ((("modules", number), module) for number, module in enumerate(scenario.modules))
    for name, flow in scenario.flows.items():
        if module := module_of(getattr(flow, "cc", None)):
            yield ("flows", name, "cc"), module


def _options(scenario: Scenario) -> Iterator[tuple[Keys, str]]:
    own = {name: module for module in scenario.loaded_modules for name in module.qdiscs}
    for name, link in scenario.links.items():
        for queue in (link.queue.of(0), link.queue.of(1)):
            if queue is not None and (qdisc := Qdisc.read(queue)).kind in own and qdisc.options:
                yield (
                    ("links", name, "queue"),
                    f'tc knows no options of "{qdisc.kind}"; give them as parameters of the module, such as '
                    f'{{ file = "{own[qdisc.kind].place}", parameters = {{ {qdisc.options[0]} = … }} }}',
                )


def _words(module: Module) -> str:
    return " ".join(f"{name}={value}" for name, value in module.parameters.items()) or "none"

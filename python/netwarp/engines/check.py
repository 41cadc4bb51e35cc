"""Checks of a plan against the capabilities of an engine, before anything starts."""

from collections.abc import Iterable, Iterator

from netwarp.engines.base import Engine
from netwarp.engines.modules import modules_of
from netwarp.engines.registry import with_kernel_of
from netwarp.plan import Plan
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Record, Scenario
from netwarp.scenario.model.exec import ExecScenario
from netwarp.scenario.source import Keys


def refuse_withheld(scenario: Scenario, engine: Engine) -> None:
    """Refuse a scenario that names files which its runs may not read. Raises ScenarioError with all of them.

    Before its identity is asked for, of which those files are a part: one may take forever to digest.
    """
    _refuse(engine.check_files(scenario), scenario)


def refuse_unsupported(plan: Plan, engine: Engine) -> None:
    """Refuse a plan that the engine cannot make. Raises ScenarioError with all reasons, EngineError."""
    beyond = list(_beyond(plan, engine))
    if not beyond:
        for one in dict.fromkeys(run.kernel for run in plan):
            beyond += with_kernel_of(engine, one).check(plan)
    _refuse(beyond, plan.scenario)


def _refuse(found: Iterable[tuple[Keys, str]], scenario: Scenario) -> None:
    if problems := problems_at(list(dict.fromkeys(found)), scenario.source):
        raise ScenarioError(problems, scenario.source.label)


def _beyond(plan: Plan, engine: Engine) -> Iterator[tuple[Keys, str]]:
    """What follows from the engine's capabilities alone."""
    if isinstance(plan.scenario, ExecScenario) and engine.capabilities.clock != "virtual":
        yield ("exec",), f'the engine "{engine.spec.name}" has no machine of its own to run a command in; use "uml"'
    if not engine.capabilities.modules:
        for keys, module in modules_of(plan):
            yield keys, f'the engine "{engine.spec.name}" loads no kernel modules ({module.place}); use "uml"'
    for key, section in plan.sections:
        if key == ("kernel",) and section is not None and not engine.capabilities.kernels:
            yield key, f'the engine "{engine.spec.name}" runs on the kernel that it finds; use "uml"'
        if isinstance(section, Record) and section.captures and not engine.capabilities.captures:
            yield (*key, "captures"), f'the engine "{engine.spec.name}" cannot capture packets'

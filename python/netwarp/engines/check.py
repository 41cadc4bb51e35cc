"""Checks of a plan against the capabilities of an engine, before anything starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from netwarp.engines.base import Engine, EngineError
from netwarp.engines.modules import CompilesModules, ModuleBuild, loaded_by, modules_of
from netwarp.engines.registry import find_engine, with_kernel_of
from netwarp.lab.division import obstacles
from netwarp.plan import Plan
from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.load.loader import problems_at
from netwarp.scenario.model import Node, Record, Scenario
from netwarp.scenario.source import Keys


def refuse_withheld(scenario: Scenario, engine: Engine) -> None:
    """Refuse a scenario that names files which its runs may not read. Raises ScenarioError with all of them.

    Call this before the scenario's identity is computed, which includes those files: one may take forever to digest.
    """
    _refuse(engine.check_files(scenario), scenario)


def refuse_unsupported(plan: Plan, engine: Engine) -> list[str]:
    """Refuse a plan that the engine cannot execute. Returns notes to print before it starts: the compiler's warnings,
    modules that are not loaded, and those that do not compile if some runs do not load them. Raises ScenarioError with
    all reasons, EngineError.
    """
    beyond = list(_beyond(plan, engine))
    builds: dict[str | None, Sequence[ModuleBuild]] = {}
    if not beyond:
        for one in dict.fromkeys(run.kernel for run in plan):
            engine_of_run = with_kernel_of(engine, one)
            if isinstance(engine_of_run, CompilesModules):
                builds[one] = engine_of_run.builds(plan)
            beyond += engine_of_run.check(plan)
    _refuse(beyond, plan.scenario)
    return [*_without_failed_modules(plan, builds), *_superseded(builds), *_compiler_warnings(builds)]


def lacking_by_default(plan: Plan) -> list[Problem]:
    """Find what `refuse_unsupported` refuses for the default engine, for readers who only look at a plan.

    Empty if that engine is not here, or if the scenario names its kernels, which would have to be found first.
    """
    if any(key == ("kernel",) and section is not None for key, section in plan.sections):
        return []
    try:
        engine = find_engine()
        found = [*_beyond(plan, engine), *engine.check(plan)]
    except EngineError:
        return []
    return problems_at(list(dict.fromkeys(found)), plan.scenario.source)


def _without_failed_modules(plan: Plan, builds: Mapping[str | None, Sequence[ModuleBuild]]) -> Iterator[str]:
    """Say which runs will fail because their modules do not compile. Raises EngineError if all will."""
    errors = {
        (kernel, build.module.digest): build.error for kernel, found in builds.items() for build in found if build.error
    }
    if not errors:
        return
    failing = sum(any((run.kernel, one.digest) in errors for one in loaded_by(run.scenario)) for run in plan)
    texts = list(dict.fromkeys(errors.values()))
    if failing == len(plan):
        raise EngineError(texts[0])
    yield from texts
    yield f"{failing} of {len(plan)} runs load a module that does not compile, and fail"


def _superseded(builds: Mapping[str | None, Sequence[ModuleBuild]]) -> Iterator[str]:
    """The modules that are not loaded, since the kernel already has the names that they register."""
    yield from dict.fromkeys(build.note for found in builds.values() for build in found if build.note)


def _compiler_warnings(builds: Mapping[str | None, Sequence[ModuleBuild]]) -> Iterator[str]:
    """The compiler's warnings, each text once."""
    for text in dict.fromkeys(build.warnings for found in builds.values() for build in found if build.warnings):
        yield f"the compiler says:\n{text}"


def _refuse(found: Iterable[tuple[Keys, str]], scenario: Scenario) -> None:
    if problems := problems_at(list(dict.fromkeys(found)), scenario.source):
        raise ScenarioError(problems, scenario.source.label)


def _beyond(plan: Plan, engine: Engine) -> Iterator[tuple[Keys, str]]:
    """The refusals that follow from the engine's capabilities alone."""
    if plan.scenario.workload.has_machine and engine.capabilities.clock != "virtual":
        yield ("exec",), f'the engine "{engine.spec.name}" cannot run a command in a separate machine; use "uml"'
    if not engine.capabilities.modules:
        for keys, module in modules_of(plan):
            what = "cannot let a program decide a congestion control" if module.program else "loads no kernel modules"
            yield keys, f'the engine "{engine.spec.name}" {what} ({module.place}); use "uml"'
    for one in plan.points:
        if one.scenario.run.cpus > 1:
            yield from _undivided(one.scenario, engine)
    for key, section in plan.sections:
        if key == ("kernel",) and section is not None and not engine.capabilities.kernels:
            yield key, f'the engine "{engine.spec.name}" cannot choose its kernel; use "uml"'
        if isinstance(section, Record) and section.captures and not engine.capabilities.captures:
            yield (*key, "captures"), f'the engine "{engine.spec.name}" cannot capture packets'
        if isinstance(section, Node) and section.nat and engine.capabilities.clock != "virtual":
            yield (*key, "nat"), f'the engine "{engine.spec.name}" does not translate addresses; use "uml"'


def _undivided(scenario: Scenario, engine: Engine) -> Iterator[tuple[Keys, str]]:
    """Say why the network of a scenario with several CPUs cannot be divided between as many kernels."""
    if engine.capabilities.clock != "virtual":
        yield ("run", "cpus"), f'the engine "{engine.spec.name}" divides no network; use "uml", or leave `cpus` out'
    else:
        for sentence in obstacles(scenario):
            yield ("run", "cpus"), f"{sentence}; leave `cpus` out"

"""Kernel modules of a scenario: compiling them before anything starts, handing them to the machine, and finding the
source line of an error."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from netwarp.common.words import nearest
from netwarp.engines.base import EngineError
from netwarp.engines.deciders import ADDED, parameters_of
from netwarp.engines.supervisor import console_lines
from netwarp.kernels import Kernel, KernelDescription, KernelError
from netwarp.kernels.modules import Compiled, ModuleError, Object, compile_module
from netwarp.lab_format.model import Lab
from netwarp.modules.named import Module, is_shipped, module_of
from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.console import COMPLAINT

FOLDER = "modules"
"""The folder of a run directory that has the modules while the run lasts (agent/src/machine/modules.rs)."""

_FRAME = re.compile(
    r"(?P<exact>, ip 0x[0-9a-f]+ \(|netwarp: stuck: \d+ )?"
    r"(?P<function>[\w.]+)\+(?P<offset>0x[0-9a-f]+)/0x[0-9a-f]+ \[(?P<module>\w+)\]"
)
"""A place in a module: the instruction that ran if `exact` matches, otherwise a return address."""
_PLACE = re.compile(r":(\d+)(?: \(discriminator \d+\))?$")
_FRAMES = 3
_STUCK = re.compile(r"netwarp: stuck: (\d+) ")
_OF_MEMORY = re.compile(r"Kernel mode fault|Kernel tried to access user memory|netwarp: stuck: |BUG: Bad |corrupt")
"""Messages of the kernel about memory that may have been overwritten before."""
DEBUG_HINT = (
    "a module may have used memory before that does not belong to it; the preset `debug` reports the line: "
    "`netwarp kernel build --name debug --config debug`, then --kernel debug"
)


@dataclass(frozen=True)
class ModuleBuild:
    """The result of compiling a module: the compiler's warnings, or the error; `note` says why it is not loaded."""

    module: Module
    warnings: str
    error: str | None = None
    note: str = ""


@runtime_checkable
class CompilesModules(Protocol):
    """An engine that compiles the modules of a plan before anything starts."""

    def builds(self, plan: Plan) -> Sequence[ModuleBuild]:
        """Compile every module of the plan for this engine's kernel. Raises EngineError if it cannot compile any."""


def module_builds(plan: Plan, kernel: Kernel) -> Sequence[ModuleBuild]:
    """Compile every module that a run of a plan loads, each once, for a kernel. Raises EngineError."""
    return [_build_of(module, kernel) for module in {module.digest: module for _, module in modules_of(plan)}.values()]


def _build_of(module: Module, kernel: Kernel) -> ModuleBuild:
    if _is_superseded(module, kernel.description):
        names = " and ".join(f'"{name}"' for name in (*module.congestion_controls, *module.qdiscs))
        return ModuleBuild(module, "", note=f"Linux {kernel.version} has its own {names}: {module.place} is not loaded")
    try:
        return ModuleBuild(module, compile_module(module, kernel).warnings)
    except ModuleError as error:
        return ModuleBuild(module, "", str(error))
    except KernelError as error:
        raise EngineError(str(error)) from error


def _is_superseded(module: Module, described: KernelDescription) -> bool:
    """Whether it is a module of netwarp's own, without parameters, and the kernel has all that it registers."""
    has = {*described.congestion_controls, *described.qdiscs}
    registers = {*module.congestion_controls, *module.qdiscs}
    return bool(registers) and registers <= has and not module.parameters and is_shipped(module)


def loaded_by(scenario: Scenario) -> Iterator[Module]:
    """The modules that a run of this scenario loads."""
    yield from scenario.modules
    for flow in scenario.flows.values():
        if module := module_of(getattr(flow, "cc", None)):
            yield module


def modules_of(plan: Plan) -> Iterator[tuple[Keys, Module]]:
    """Every module that a run of a plan loads, with the place in the scenario that names it."""
    for key, section in plan.sections:
        if key == ("modules",):
            yield from (((*key, number), module) for number, module in enumerate(section))
        elif module := module_of(getattr(section, "cc", None)):
            yield (*key, "cc"), module


def module_problems(plan: Plan, kernel: Kernel, described: KernelDescription) -> Iterator[tuple[Keys, str]]:
    """Find problems with the modules of a plan, except for those that do not compile. Raises EngineError."""
    for keys, module in modules_of(plan):
        if _is_superseded(module, described):
            continue
        had = {"congestion control": described.congestion_controls, "queue discipline": described.qdiscs}
        for kind, names in (("congestion control", module.congestion_controls), ("queue discipline", module.qdiscs)):
            for name in set(names) & set(had[kind]):
                yield keys, f'{module.place} registers the {kind} "{name}", which the kernel has already; rename it'
        try:
            compiled = compile_module(module, kernel)
        except ModuleError:
            continue  # its runs report that it does not compile
        except KernelError as error:
            raise EngineError(str(error)) from error
        for read, made in zip((module.congestion_controls, module.qdiscs), compiled.registered, strict=True):
            if not set(read) <= set(made):  # a definition need not be registered: Prague has its own Reno
                yield (
                    keys,
                    f"{module.place} registers {', '.join(made) or 'nothing'} once it is compiled, but its source says "
                    f"{', '.join(read) or 'nothing'}; write names as literals, outside of preprocessor conditions",
                )
        for one in compiled.objects:
            if one.name in described.modules:
                yield (
                    keys,
                    f'the kernel already has a built-in module "{one.name}"; give the file of {module.place} '
                    "another name",
                )
        yield from ((keys, problem) for problem in _parameter_problems(module, compiled))


def _parameter_problems(module: Module, compiled: Compiled) -> Iterator[str]:
    known = [name for one in compiled.objects for name in one.parameters]
    if module.program is not None and module.program.is_caller:
        yield "`program:-` is the caller of a run, such as netwarp.learning; name a program (docs/learning.md)"
    for name in module.parameters:
        if module.program is not None and name in ADDED:
            yield f"{module.place}: netwarp itself sets the parameter {name}; leave it out"
        elif name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            yield f'{module.place} has no parameter "{name}"{nearest(name, known)}; {has}'


def hand_over(lab: Lab, kernel: Kernel, directory: Path) -> list[Compiled]:
    """Copy a lab's compiled modules to where the agent loads them from, and list the modules that are built into the
    kernel, for modprobe (agent/src/machine/root.rs). Raises EngineError, KernelError."""
    named = [Module.model_validate(described.as_json()) for described in lab.modules]
    modules = [module for module in named if not _is_superseded(module, kernel.description)]
    found = [_compiled(module, kernel) for module in modules]
    folder = directory / FOLDER
    folder.mkdir()
    (folder / "built-in").write_text("\n".join(kernel.description.modules) + "\n")
    order = []
    for module, compiled in zip(modules, found, strict=True):
        for one in compiled.objects:
            shutil.copyfile(compiled.path(one), folder / f"{one.name}.ko")
            parameters = {**module.parameters, **parameters_of(lab, module.name)}
            order.append({"file": f"{one.name}.ko", "parameters": _arguments(parameters, one)})
    (folder / "order.json").write_text(json.dumps(order))
    return found


def complaint(directory: Path, modules: list[Compiled], t0_ns: int) -> str | None:
    """The kernel's report of an error in a module, with its source lines; None if there was no error."""
    if not modules:
        return None
    lines = console_lines(directory)
    first = next((number for number, line in enumerate(lines) if COMPLAINT.search(line)), None)
    if first is None:
        return None
    panic = next((line for line in lines if "Kernel panic" in line), None)
    trace = "\n".join(lines)
    places = dict.fromkeys(place for match in _FRAME.finditer(trace) if (place := _place(match, modules)))
    if not places:
        return None
    stuck = [match for line in lines if (match := _STUCK.search(line))]
    if stuck and panic is None:
        at_s = (int(stuck[-1][1]) - t0_ns) / 1e9
        said = f"the kernel computes without end, and virtual time stands still at {at_s:.6g} s of the run"
    else:
        said = re.sub(r"^.*?Kernel panic - not syncing: ", "", panic or lines[first])
    return f"a module went wrong: {said}; at {', called from '.join(list(places)[:_FRAMES])}"


def hint(directory: Path, modules: list[Compiled]) -> str | None:
    """Advice if a kernel with modules died of an error outside of them; None if it did not."""
    text = "\n".join(console_lines(directory))
    blamed = any(match["exact"] and _place(match, modules) for match in _FRAME.finditer(text))
    return DEBUG_HINT if modules and _OF_MEMORY.search(text) and not blamed else None


def _compiled(module: Module, kernel: Kernel) -> Compiled:
    try:
        return compile_module(module, kernel)
    except KernelError as error:
        raise EngineError(str(error)) from error


def _arguments(parameters: Mapping[str, str], one: Object) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items() if name in one.parameters)


def _place(match: re.Match[str], modules: list[Compiled]) -> str | None:
    """Return the function and source line that the kernel was in: `mine_acked() (tcp_mine.c:31)`."""
    for compiled in modules:
        for one in compiled.objects:
            if one.name == match["module"]:
                # If a call is the last instruction of a line, the return address belongs to the next line or function.
                offset = max(int(match["offset"], 16) - (0 if match["exact"] else 1), 0)
                line = _line(compiled.path(one, debug=True), match["function"], offset)
                name = match["function"].partition(".")[0]  # without what the compiler appends: .cold, .isra.0
                return f"{name}()" + (f" ({line})" if line else f" [{one.name}]")
    return None


def _line(debug: Path, function: str, offset: int) -> str | None:
    """Return file and line (`tcp_mine.c:31`) of an address in a function, as the kernel's scripts/faddr2line does."""
    symbols = subprocess.run(["nm", "--defined-only", debug], capture_output=True, text=True, check=False)
    start = re.search(rf"^([0-9a-f]+) [tT] {re.escape(function)}$", symbols.stdout, re.MULTILINE)
    if start is None:
        return None
    section = subprocess.run(["objdump", "-t", debug], capture_output=True, text=True, check=False)
    where = re.search(rf"^\S+ .{{7}} (\S+)\t\S+ (?:\S+ )?{re.escape(function)}$", section.stdout, re.MULTILINE)
    address = hex(int(start[1], 16) + offset)
    command = ["addr2line", "-i", "-e", str(debug), "-j", where[1] if where else ".text", address]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = [
        f"{Path(line[: place.start()]).name}:{place[1]}"
        for line in answer.splitlines()
        if (place := _PLACE.search(line))
    ]
    # For code that is inlined from the kernel's headers, the module's line is the one that calls it.
    return next((line for line in found if ".c:" in line), found[0] if found else None)

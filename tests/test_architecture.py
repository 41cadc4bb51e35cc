"""Data flow in one direction: each stage imports only from stages before it (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib import import_module
from pathlib import Path

import netwarp
import pytest
from module_graph import cycle_in, imports_of, python_graph, rust_graph
from netwarp.analysis.run.run_metrics import SOURCES
from netwarp.engines.identity import RESOLUTION
from netwarp.studies import registry

ROOT = Path(netwarp.__file__).parent
CRATES = Path(__file__).parents[1]
PROGRAMS = ("agent", "observe", "records")
"""Crates of the programs, except the parser of captures."""

STAGES = [
    "policy",
    "aurora",
    "orca",
    "gallery",
    "common.words",
    "common.quantities",
    "common.junit",
    "common.markdown",
    "common.terminal",
    "common.threads",
    "common.scratch",
    "common.archives",
    "common.agent",
    "common.platforms",
    "values.json_values",
    "values.names",
    "values.constants",
    "values.codecs",
    "values.size_ranges",
    "values.choices",
    "values.wire",
    "values.qdisc",
    "values.units",
    "values.files",
    "values.private",
    "values.keep",
    "values.fields",
    "traces",
    "studies",
    "shipped",
    "modules.c_source",
    "modules.program",
    "modules.named",
    "energy",
    "lab_format",
    "flows",
    "scenario.toml",
    "scenario.errors",
    "scenario.source",
    "scenario.topologies",
    "scenario.model",
    "scenario.check",
    "scenario.load",
    "scenario.points",
    "scenario",
    "plan",
    "lab",
    "kernels",
    "store",
    "discovery",
    "engines",
    "stats",
    "analysis",
    "execute",
    "compare",
    "plots",
    "explain",
    "exports",
    "report",
    "steps.room",
    "steps.imports",
    "steps.views",
    "steps.needs",
    "steps.doctor",
    "steps.self_test",
    "steps.notebook",
    "steps.evaluation",
    "steps.study",
    "steps.dev",
    "steps.bisect",
    "steps.rerun",
    "steps.gate",
    "steps.whatif",
    "steps.variants",
    "steps.agreement",
    "advise",
    "serve",
    "api",
    "learning",
    "verify",
    "suite",
    "testing",
    "cli",
    "__main__",
]
"""In the order of the stages. A new module or folder needs its place in it, or this test fails.

Some rooms have an order inside as well. `studies` is how the core finds studies. Each study is beside the stages: it
may use all of them, and none uses it.
"""
ORDERED = {stage.split(".")[0] for stage in STAGES if "." in stage}
"""Rooms whose files and folders each have a place."""
STUDIES = sorted(folder.name for folder in (ROOT / "studies").iterdir() if (folder / "__init__.py").is_file())
BESIDE = "a study: "
"""Prefix of the stage of a study's modules here."""

WRITING = {"scenario", "plan", "lab", "kernels", "discovery", "engines", "execute", "steps.doctor", "steps.imports"}
READING = {"analysis", "compare", "explain", "exports", "plots", "report", "steps.views"}
"""The two wings: engines only write, analysis only reads, and they meet in the store alone."""

MEETING = {("execute", "analysis")}
"""The only bridge: a run is analysed as soon as it is made."""


def _stage(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return _stage_of([part.removesuffix(".py") for part in parts])


def _stage_of(parts: Sequence[str]) -> str:
    """The stage of a module, by the parts of its name without `netwarp`. The last part may be what it contains."""
    room, inner = parts[0], parts[1] if parts[1:] else "__init__"
    if room == "studies" and inner in STUDIES:
        return f"{BESIDE}{inner}"
    is_module = (ROOT / room / inner).is_dir() or (ROOT / room / f"{inner}.py").is_file()
    return f"{room}.{inner}" if room in ORDERED and inner != "__init__" and is_module else room


def _in(stage: str, rooms: Set[str]) -> bool:
    return stage in rooms or stage.split(".", maxsplit=1)[0] in rooms


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and stage of every import from netwarp, wherever in the file it stands."""
    for node in imports_of(path.read_text()):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.level == 0:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            if module.startswith("netwarp."):
                yield node.lineno, _stage_of(module.split(".")[1:])


@cache
def _imports() -> list[tuple[str, str, str]]:
    """Every import: where it is, the stage that it is in, and the stage that it names."""
    return [
        (f"{path.relative_to(ROOT)}:{line}", _stage(path), target)
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "__init__.py"  # it loads the interface on demand
        for line, target in _imported(path)
    ]


def test_every_module_has_its_place() -> None:
    found = {_stage(path) for path in ROOT.rglob("*.py") if not _only_says_what_it_is(path)} - {"__init__"}
    assert found == {*STAGES, *(f"{BESIDE}{study}" for study in STUDIES)}


def _only_says_what_it_is(path: Path) -> bool:
    """Whether a package has nothing but a docstring."""
    return path.name == "__init__.py" and len(ast.parse(path.read_text()).body) == 1


@pytest.mark.slow
def test_no_import_goes_against_the_stream() -> None:
    against = [
        f"{place} ({stage}) imports {target}"
        for place, stage, target in _imports()
        if stage in STAGES and (target not in STAGES or STAGES.index(target) > STAGES.index(stage))
    ]
    assert against == []


def test_nothing_imports_a_study_but_itself() -> None:
    found = [(place, stage, target) for place, stage, target in _imports() if target.startswith(BESIDE)]
    assert [f"{place} imports {target}" for place, stage, target in found if stage != target] == []
    assert {stage for _, stage, _ in found} == {f"{BESIDE}{study}" for study in STUDIES}, "they are seen"


def test_what_a_study_imports_and_what_it_views_are_apart() -> None:
    """A study's module uses only one of the two wings."""
    used: dict[str, set[str]] = {}
    for place, stage, target in _imports():
        if stage.startswith(BESIDE):
            used.setdefault(place.split(":")[0], set()).update({target, target.split(".")[0]})
    assert {place for place, targets in used.items() if targets & WRITING and targets & READING} == set()


ALSO_OF_THE_CORE = {"tuners", "energy"}
"""Names of a study that the core uses for something else: a section and a field of a scenario."""


@pytest.mark.slow
def test_the_core_names_no_study() -> None:
    """Neither a study nor what one offers, in Python, Rust, templates or shipped scenarios; pyproject.toml does."""
    names = {name for study in STUDIES for name in (study, study.replace("_", "-"))}
    pattern = re.compile(rf"\b({'|'.join(sorted(names - ALSO_OF_THE_CORE))})\b", re.I)
    rust = [CRATES / crate / "src" for crate in PROGRAMS]
    texts = {".py", ".toml", ".html", ".css", ".js", ".md", ".rs"}
    files = [path for room in (ROOT, *rust) for path in sorted(room.rglob("*")) if path.suffix in texts]
    naming: dict[str, list[str]] = {"the core": []}
    for path in files:
        stage = _stage(path) if path.is_relative_to(ROOT) else ""
        found = [line for line in path.read_text().splitlines() if pattern.search(line)]
        naming.setdefault(stage if stage.startswith(BESIDE) else "the core", []).extend(
            f"{path.name}: {line.strip()}" for line in found
        )
    assert naming["the core"] == []
    assert len(naming[f"{BESIDE}three_node"]) > 20, "the pattern finds what it is for"


def test_the_core_asks_for_nothing_that_a_study_offers() -> None:
    kinds: tuple[registry.Kind, ...] = ("views", "exports", "commands", "scenarios")
    offered = {name for kind in kinds for name in registry.names(kind)} - ALSO_OF_THE_CORE
    assert {"three-node", "experiments", "recommend", "md1"} <= offered, "the studies are installed: make setup"
    # A string that is a name, or a part of an f-string that is one, has a quote or a brace at each end.
    written = re.compile("|".join(f"[\"'}}]{re.escape(name)}[\"'{{]" for name in offered))
    asking = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sorted(ROOT.rglob("*.py"))
        if not _stage(path).startswith(BESIDE)
        if written.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in offered
    ]
    assert asking == []


def test_every_reference_of_a_study_can_be_loaded() -> None:
    assert registry.unloadable() == ()
    assert {study for study, _ in registry.studies()} >= {study.replace("_", "-") for study in STUDIES}
    for name, study in registry.studies():
        for reference in study.references:
            module, _, function = reference.partition(":")
            assert callable(getattr(import_module(module), function)), (name, reference)


@pytest.mark.parametrize(("wing", "other"), [(WRITING, READING), (READING, WRITING)])
def test_the_wings_meet_in_the_store_alone(wing: set[str], other: set[str]) -> None:
    across = [
        f"{place} ({stage}) imports {target}"
        for place, stage, target in _imports()
        if _in(stage, wing) and _in(target, other) and (stage, target) not in MEETING
    ]
    assert across == []


@pytest.mark.parametrize(
    ("module", "sources"), [("netwarp.lab.build", RESOLUTION), ("netwarp.analysis.run.metrics", SOURCES)]
)
@pytest.mark.slow
def test_what_decides_a_result_is_in_its_digest(module: str, sources: tuple[str, ...]) -> None:
    """All modules that are loaded for making labs, or for computing metrics.

    `common.words` is only for people, `shipped` and `studies` find scenarios, whose content counts in any case, and
    views, which are made from the records afterwards.
    """
    code = f"import sys, {module}; print(*(m for m in sys.modules if m.startswith('netwarp.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not any(name.split(".")[2] in STUDIES for name in loaded if name.count(".") > 1)
    rooms = {source.removesuffix(".py") for source in sources} | {"shipped", "studies"}
    names = {name.removeprefix("netwarp.") for name in loaded} - {"common", "common.words"}
    assert {name for name in names if name.split(".")[0] not in rooms} == set()


def test_no_relative_imports() -> None:
    relative = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in imports_of(path.read_text())
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []


def test_what_sorts_rows_says_what_becomes_of_those_that_are_equal() -> None:
    """Polars may give rows with equal keys in any order, which can change with the threads of the host."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sort"
        if node.args and ast.unparse(node.func.value) != "np"
        if "maintain_order" not in {keyword.arg for keyword in node.keywords}
    ]
    assert silent == []


def test_no_file_needs_itself_by_way_of_others() -> None:
    graph = python_graph(ROOT)
    # The package itself loads the interface on demand: code that only needs its place or version does not need the
    # interface.
    graph["netwarp"] = set()
    assert cycle_in(graph) == []


@pytest.mark.parametrize("crate", ["capture", *PROGRAMS])
def test_no_rust_module_needs_itself_by_way_of_others(crate: str) -> None:
    assert cycle_in(rust_graph(CRATES / crate / "src")) == []


def _linked(crate: str) -> set[str]:
    """All crates that a crate of the workspace is built with, by the lock file."""
    packages = tomllib.loads((CRATES / "Cargo.lock").read_text())["package"]
    needs = {one["name"]: [name.split()[0] for name in one.get("dependencies", ())] for one in packages}
    linked, more = set[str](), [crate]
    while more:
        linked.update(found := {name for one in more for name in needs[one]} - linked)
        more = list(found)
    return linked


def test_a_machines_first_program_has_nothing_that_only_the_observer_needs() -> None:
    own = {"netwarp-capture", "ratatui", "crossterm"}
    assert own <= _linked("netwarp-observe"), "they are called so"
    assert _linked("netwarp-agent") & {"netwarp-observe", *own} == set()


def test_one_crate_writes_arrow_and_the_parser_of_captures_needs_next_to_nothing() -> None:
    needs = {crate: tomllib.loads((CRATES / crate / "Cargo.toml").read_text())["dependencies"] for crate in PROGRAMS}
    assert [crate for crate, names in needs.items() if "arrow-ipc" in names] == ["records"]
    assert _linked("netwarp-capture") == {"rustc-hash"}
    lints = tomllib.loads((CRATES / "capture" / "Cargo.toml").read_text())["lints"]
    assert lints["rust"]["unsafe_code"] == "forbid"


def test_cycles_are_seen(tmp_path: Path) -> None:
    """In both languages, inside of functions and of nested braces."""
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").write_text("from package import a\n")
    (package / "a.py").write_text("def f():\n    from package.inner import b\n")
    (package / "inner" / "b.py").write_text("import json\nimport package.a\n")
    assert set(cycle_in(python_graph(package))) == {"package.a", "package.inner.b"}
    source = tmp_path / "src"
    (source / "guard").mkdir(parents=True)
    (source / "main.rs").write_text("mod guard;\nmod lab;\n")
    (source / "guard" / "mod.rs").write_text("mod events;\npub use events::Event;\nuse crate::lab::{self, Lab};\n")
    (source / "guard" / "events.rs").write_text("use std::io;\n")
    (source / "lab.rs").write_text("use crate::{\n    guard::{events::{Event as E}},\n};\n")
    assert cycle_in(rust_graph(source)) == []
    (source / "guard" / "events.rs").write_text("fn f() { super::super::lab::g(); }\n")
    assert set(cycle_in(rust_graph(source))) == {"crate::lab", "crate::guard::events"}
    # A parent that only declares its child, or names it in a test, does not need it; one that uses its contents does.
    (source / "guard" / "events.rs").write_text("use super::Event;\n")
    (source / "guard" / "mod.rs").write_text(
        "mod events;\nstruct Event;\n#[cfg(test)]\nmod tests {\n events::f();\n}\n"
    )
    assert cycle_in(rust_graph(source)) == []
    (source / "guard" / "mod.rs").write_text("mod events;\nstruct Event;\nuse events::g;\n")
    assert set(cycle_in(rust_graph(source))) == {"crate::guard", "crate::guard::events"}


NAMES_OF_ENGINES = re.compile(r"/proc/netwarp|hostfs|\buml\b|User Mode Linux|virtual time|netwarp_\w+\.c|arch/um", re.I)
ROOMS_OF_ENGINES = {"backend", "machine", "guard"}
"""Modules where the agent may name one engine: its part of a lab, the guest, and the process on the host."""


def test_the_agents_common_part_names_no_engine() -> None:
    agent = CRATES / "agent" / "src"
    naming: dict[str, list[str]] = {}
    for path in sorted(path for crate in PROGRAMS for path in (CRATES / crate / "src").rglob("*.rs")):
        room = path.relative_to(agent).parts[0] if path.is_relative_to(agent) else path.relative_to(CRATES).parts[0]
        lines = path.read_text().splitlines()
        naming.setdefault(room, []).extend(
            f"{path.relative_to(CRATES)}:{number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if NAMES_OF_ENGINES.search(line)
        )
    assert {room: found for room, found in naming.items() if found and room not in ROOMS_OF_ENGINES} == {}
    # They are named where they belong, so the pattern finds its targets.
    assert all(naming[room] for room in ROOMS_OF_ENGINES)

"""The way data goes has one direction: each stage imports only from stages before it (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import netwarp
import pytest
from netwarp.analysis.run.run_metrics import SOURCES
from netwarp.engines.identity import RESOLUTION

ROOT = Path(netwarp.__file__).parent

STAGES = [
    "words",
    "constants",
    "qdisc",
    "terminal",
    "threads",
    "scratch",
    "agent",
    "traces",
    "units",
    "fields",
    "flows",
    "scenario",
    "plan",
    "lab",
    "kernels",
    "store",
    "engines",
    "doctor",
    "stats",
    "analysis",
    "execute",
    "imports",
    "compare",
    "plots",
    "exports",
    "views",
    "report",
    "study",
    "rerun",
    "api",
    "cli",
]
"""In the order of the way. A new module or folder has its place in it, or this test fails."""

WRITING = {"scenario", "plan", "lab", "kernels", "doctor", "engines", "execute", "imports"}
READING = {"analysis", "compare", "exports", "plots", "report", "views"}
"""The two wings: engines only write, analysis only reads, and they meet in the store alone."""

MEETING = {("execute", "analysis")}
"""The one bridge: a run is analysed as soon as it is made."""


def _stage(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and stage of every import from netwarp, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "netwarp":
            modules = [f"netwarp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            if module.startswith("netwarp."):
                yield node.lineno, module.split(".")[1]


IMPORTS = [
    (f"{path.relative_to(ROOT)}:{line}", _stage(path), target)
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"  # which hands out the interface, when it is asked for
    for line, target in _imported(ast.parse(path.read_text()))
]


def test_every_module_has_its_place() -> None:
    found = {_stage(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert found - set(STAGES) == set()


def test_no_import_goes_against_the_stream() -> None:
    against = [
        f"{place} ({stage}) imports {target}"
        for place, stage, target in IMPORTS
        if STAGES.index(target) > STAGES.index(stage)
    ]
    assert against == []


@pytest.mark.parametrize(("wing", "other"), [(WRITING, READING), (READING, WRITING)])
def test_the_wings_meet_in_the_store_alone(wing: set[str], other: set[str]) -> None:
    across = [
        f"{place} ({stage}) imports {target}"
        for place, stage, target in IMPORTS
        if stage in wing and target in other and (stage, target) not in MEETING
    ]
    assert across == []


@pytest.mark.parametrize(
    ("module", "sources"), [("netwarp.lab.build", RESOLUTION), ("netwarp.analysis.run.metrics", SOURCES)]
)
def test_what_decides_a_result_is_in_its_digest(module: str, sources: tuple[str, ...]) -> None:
    """All that is loaded for making labs, or for computing metrics; `words` is for people alone."""
    code = f"import sys, {module}; print(*(m for m in sys.modules if m.startswith('netwarp.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    stages = {name.split(".")[1] for name in loaded} - {"words"}
    assert stages <= {source.removesuffix(".py") for source in sources}


def test_no_relative_imports() -> None:
    relative = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []

"""Modules that are loaded before a machine is started, for which the machine and the user wait."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e_scenarios import dumbbell

NOTED = """
import os, sys
noted = sys.argv.pop(1)
def hear(event, arguments):
    if event == "subprocess.Popen" and list(arguments[1])[1:2] == ["guard"] and not os.path.exists(noted):
        with open(noted, "w") as file:
            print(*sys.modules, file=file)
sys.addaudithook(hear)
from netwarp.cli import main
main()
"""
"""The command `netwarp`, which lists the loaded modules when it first starts the guard of a machine."""

AFTERWARDS = {"polars", "pyarrow", "numpy", "pandas", "scipy", "matplotlib", "networkx", "tornado", "distributed"}
"""Libraries that read records, compute, draw and serve. Each takes longer to load than a machine takes to start."""
HELP = {"rich", "readline", "docstring_parser", "cyclopts.help"}
"""Modules that the parser of the command line needs only for help and errors."""
OTHERS = {"netwarp.engines.ssh", "netwarp.engines.host", "netwarp.kernels.build", "netwarp.analysis"}


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (("exec", "-o", "result", "--", "true"), {*AFTERWARDS, *OTHERS, *HELP, "netwarp.store.documents"}),
        (("run", "lab.toml", "-o", "result", "--no-plots"), {*AFTERWARDS, *OTHERS}),
    ],
)
def test_nothing_is_loaded_before_a_machine_that_is_used_after_it(
    words: tuple[str, ...], unneeded: set[str], tmp_path: Path
) -> None:
    noted = tmp_path / "modules"
    (tmp_path / "lab.toml").write_text(dumbbell(duration="1s"))
    subprocess.run([sys.executable, "-c", NOTED, str(noted), *words], cwd=tmp_path, check=True, capture_output=True)
    loaded = set(noted.read_text().split())
    assert "netwarp.engines.uml" in loaded
    assert loaded & unneeded == set()

"""What is loaded before a machine is started: it waits for all of it, and so does whoever entered the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e_scenarios import dumbbell

NOTED = """
import sys
noted = sys.argv.pop(1)
def hear(event, arguments):
    if event == "subprocess.Popen" and list(arguments[1])[1:2] == ["guard"]:
        with open(noted, "w") as file:
            print(*sys.modules, file=file)
sys.addaudithook(hear)
from netwarp.cli import main
main()
"""
"""The command `netwarp`, which writes down the modules that it has when it starts the guard of a machine."""

AFTERWARDS = {"polars", "pyarrow", "numpy", "pandas", "scipy", "matplotlib", "networkx", "tornado", "distributed"}
"""What reads records, computes, draws and serves. Each takes longer to load than a machine takes to start."""
HELP = {"rich", "readline", "docstring_parser", "cyclopts.help"}
"""What the parser of the command line needs for help and errors alone."""
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

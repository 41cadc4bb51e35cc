"""Output of `netwarp new` and `netwarp run` for a newcomer, compared with a snapshot: one seed gives one result."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from e2e_command import environment, netwarp, succeed
from syrupy.assertion import SnapshotAssertion


def test_a_new_scenario_runs_as_it_is(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert succeed("new", "mine", cwd=tmp_path).out == "mine.toml\n"
    answer = succeed("run", "mine.toml", "-o", "result", "--no-plots", "-j", "1", cwd=tmp_path)
    progress = re.sub(r"ok, [0-9.]+ s", "ok, … s", answer.err)
    assert "\n".join(line.rstrip() for line in (answer.out + progress).splitlines()) == snapshot
    again = netwarp("new", "mine", cwd=tmp_path)
    assert (again.code, "exists already" in again.words) == (2, True)


def test_the_module_is_the_command() -> None:
    for words in (["list"], ["rnu"]):
        said = subprocess.run(
            [sys.executable, "-m", "netwarp", *words], capture_output=True, text=True, check=False, env=environment()
        )
        command = netwarp(*words)
        assert (said.returncode, said.stdout, said.stderr) == (command.code, command.out, command.err)


def test_the_schema_is_printed(tmp_path: Path) -> None:
    committed = Path(__file__).parents[2] / "docs" / "scenario.schema.json"
    assert succeed("schema").out == committed.read_text()

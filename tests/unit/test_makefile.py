"""The commands of `make`, without running them: a first figure waits for one build of the agent, which is shown."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATIC = "crt-static"


def would_do(target: str) -> str:
    """The commands of a target, as if nothing had been made yet."""
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_first_figure_takes_one_build_of_the_agent_and_shows_it() -> None:
    done = would_do("demo")
    (build,) = (line for line in done.splitlines() if "maturin build" in line)
    assert "--quiet" not in build
    assert done.index("maturin build") < done.index("--editable"), "what pip asks for has been built, visibly"
    assert STATIC not in done and "netwarp run bufferbloat" in done


def test_the_agent_for_other_machines_is_built_without_the_observer() -> None:
    (build,) = (line for line in would_do("static-agent").replace("\\\n", " ").splitlines() if STATIC in line)
    assert "--no-default-features" in build and "--bin netwarp-agent" in build


def test_tests_have_the_agent_for_other_machines() -> None:
    assert STATIC in would_do("test") and STATIC in would_do("nightly") and STATIC in would_do("static-agent")

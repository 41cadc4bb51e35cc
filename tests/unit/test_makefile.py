"""The commands of `make`, without running them: a first figure waits for one build of the agent, which is shown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
    assert "netwarp run bufferbloat" in done


@pytest.mark.slow
def test_programs_that_run_on_other_machines_have_the_c_library_in_them() -> None:
    builds = [line for line in would_do("setup").replace("\\\n", " ").splitlines() if " --editable ." in line]
    builds += [line for line in would_do("setup").splitlines() if "maturin build" in line]
    assert len(builds) == 2 and all(STATIC in line and "--target " in line for line in builds)


@pytest.mark.slow
def test_a_checkout_has_the_programs_that_labs_run() -> None:
    for target in ("setup", "quick", "test"):
        assert "tools.dist.programs --or-newer" in would_do(target)


def test_the_sites_generator_is_installed_by_hashes_beside_what_labs_need() -> None:
    lines = would_do("site").splitlines()
    (install,) = (line for line in lines if "requirements-site.lock" in line)
    assert install.startswith(".venv/site/bin/python -m pip ") and "--require-hashes" in install
    assert ".venv/bin/python -m tools.site --generator .venv/site/bin" in lines

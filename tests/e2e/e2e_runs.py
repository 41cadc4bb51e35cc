"""Runs on the real engine, each made once for all tests that look at it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from e2e_command import netwarp
from netwarp.kernels import find_kernel
from netwarp.kernels.cache import write_facts
from netwarp.kernels.recipe import tree_digest
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest tests/e2e --kernel NAME`: on another kernel of `netwarp kernel list`."""
    parser.addoption("--kernel", help="the kernel that is to be `stock` for these tests")


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker of pytest-xdist its own CPU: a run is pinned to the first that it may use."""
    if name := config.getoption("--kernel"):
        _let_be_stock(name)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[int(worker[2:]) % len(available)]})


def _let_be_stock(name: str) -> None:
    """Make a cache with only this kernel, as netwarp's own, for this process and its children."""
    cache = Path(tempfile.mkdtemp(prefix="netwarp-tests-"))
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    chosen = find_kernel(name)
    place = cache / "netwarp" / "kernels" / chosen.key
    shutil.copytree(chosen.directory, place)
    write_facts(replace(chosen, own=True, tree_digest=tree_digest()), place)
    os.environ["XDG_CACHE_HOME"] = str(cache)


class Runs:
    """Finished runs by scenario text and arguments."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: dict[tuple[str, ...], Path] = {}

    def result(self, scenario: str, *arguments: str) -> Path:
        """The result directory of this scenario, without figures; made now if it has not been."""
        key = (scenario, *arguments)
        if key not in self._made:
            place = Path(tempfile.mkdtemp(dir=self._root))
            (place / "scenario.toml").write_text(scenario)
            answer = netwarp("run", place / "scenario.toml", "--no-plots", "-o", place / "result", *arguments)
            assert answer.code == 0, answer.err
            self._made[key] = place / "result"
        return self._made[key]

    def __call__(self, scenario: str, *arguments: str, status: str = "ok") -> RunDir:
        """The only run of a scenario; it must have this status."""
        run = only_run(self.result(scenario, *arguments))
        found = run.status()
        assert found["status"] == status, found
        return run


def only_run(result: Path) -> RunDir:
    """The only run of a result."""
    opened = open_result(result)
    (planned,) = opened.planned
    return opened.run(planned.id)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs shared by the tests of this session."""
    return Runs(tmp_path_factory.mktemp("runs"))

"""The plugin that pytest loads: options, the mark `netwarp`, seeds as parameters, and the choice of where tests run.

pytest imports it whether or not it is used, so it loads everything else of netwarp only when a test runs in a machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from netwarp.testing.marks import MARK, SEED, MarkError, seeds_for, seeds_of
from netwarp.testing.request import RECORDS, is_inside

if TYPE_CHECKING:
    from netwarp.testing.network import Network


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the setting in a configuration file."""
    group = parser.getgroup("netwarp", "netwarp: tests in the real Linux network stack, in virtual time")
    group.addoption("--netwarp", action="store_true", help="Run every test in its own machine, not only marked ones.")
    group.addoption(
        "--netwarp-scenario",
        metavar="SCENARIO",
        help="The network of tests whose mark names none: a file, or a shipped scenario's name. Default: the setting "
        "netwarp_scenario; without it a machine without a network.",
    )
    group.addoption(
        "--netwarp-seeds",
        metavar="N|N,N",
        help="Run each test with the seeds 1 to N, or with these, unless its mark has seeds. Default: 1.",
    )
    group.addoption("--netwarp-kernel", metavar="NAME", help="A kernel of `netwarp kernel list`.")
    group.addoption(
        "--netwarp-timeout", metavar="TIME", default="1h", help="Virtual time after which a test fails. Default: 1h."
    )
    group.addoption(
        "--netwarp-keep",
        choices=("failed", "all"),
        default="failed",
        help="Whose records to keep, in .netwarp/ of the root directory. Default: failed.",
    )
    parser.addini("netwarp_scenario", "The network of tests whose mark names none.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and refuse options that cannot work."""
    config.addinivalue_line(
        "markers",
        "netwarp(scenario=None, *, seeds=None, settings={}, node=None, flows=True): run the test in a machine of "
        "netwarp, in the network of a scenario (docs/testing.md)",
    )
    seeds_of(config.getoption("--netwarp-seeds"))
    if config.getoption("--netwarp") and config.getoption("usepdb", False):
        raise pytest.UsageError("--pdb needs a terminal, which tests in a machine (--netwarp) do not have")


def _wants_machine(config: pytest.Config, mark: pytest.Mark | None) -> bool:
    return bool(mark or config.getoption("--netwarp"))


@pytest.hookimpl(trylast=True)  # so that the seed is the last part of a test's name
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the seed a parameter of tests with several, so that each has its own report."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if not _wants_machine(metafunc.config, mark):
        return
    try:
        seeds = seeds_for(metafunc.config, mark)
    except MarkError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    if SEED not in metafunc.fixturenames and len(seeds) > 1:
        metafunc.fixturenames.append(SEED)
    if SEED in metafunc.fixturenames:
        metafunc.parametrize(SEED, seeds, ids=[f"seed{seed}" for seed in seeds], indirect=True)


@pytest.fixture(name=SEED)
def _seed(request: pytest.FixtureRequest) -> int:
    """The seed of all randomness in the test's machine."""
    return int(getattr(request, "param", 1))


@pytest.fixture(name="network")
def _network() -> Network:
    """The network in which the test runs: its nodes, their addresses, and how to run programs in them."""
    from netwarp.testing.inside import network  # noqa: PLC0415

    return network()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run the test in a machine, if it asks for one, and pass on the reports from there."""
    if is_inside() or not _wants_machine(item.config, item.get_closest_marker(MARK)):
        return None
    from netwarp.testing.machine import reports_of  # noqa: PLC0415

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports_of(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the records of earlier tests, which may hold copies of test files."""
    return True if collection_path.name == RECORDS else None


def pytest_report_header(config: pytest.Config) -> Iterator[Any]:
    """Say where tests run."""
    if config.getoption("--netwarp") and not is_inside():
        yield "netwarp: each test in its own machine, in virtual time"

"""Outside: runs one test in its own machine, and returns the reports that were made there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.kernels import KernelError
from netwarp.scenario import Scenario, ScenarioError
from netwarp.scenario.load.command import command_scenario
from netwarp.scenario.load.session import with_command
from netwarp.scenario.model.paths import setting_of
from netwarp.steps.study import make_study
from netwarp.store.errors import StoreError
from netwarp.store.printed import ERRORS, OUTPUT, last_lines
from netwarp.store.result import open_result
from netwarp.testing.marks import MarkError, Wish, wish_of
from netwarp.testing.request import INSIDE, RECORDS, WARNING, Request
from netwarp.values.units import parse_duration

_REPORTS = ".netwarp-reports.jsonl"
"""The file of the reports, in the directory in which pytest runs; only the machine sees it."""
_LINES = 200
"""The most lines of a stream that are shown; the stack of a test that hangs, innermost call first, has a hundred."""
_OWN = re.compile("PATH|HOME|LANG|TZ|VIRTUAL_ENV|PYTHON.*|PYTEST_(?!CURRENT_TEST|XDIST).*|HYPOTHESIS.*")
"""Variables of the environment that a test sees."""
_PROBLEMS = (ScenarioError, EngineError, StoreError, KernelError, MarkError)
_COMMAND = (sys.executable, "-m", "netwarp.testing.inside")


def reports_of(item: pytest.Item) -> list[pytest.TestReport]:
    """Run the test in a machine and return its reports; if there are none, a report of the reason."""
    place = item.config.rootpath / RECORDS / _folder(item.nodeid)
    shutil.rmtree(place, ignore_errors=True)
    try:
        reports, reason = _run(item, wish_of(item), place)
    except _PROBLEMS as error:
        return [_failure(item, f"netwarp: {error}")]
    except Exception as error:  # a mistake in netwarp, or in arguments, must not end the whole session
        return [_failure(item, f"netwarp: {type(error).__name__}: {error}")]
    failed = bool(reason) or any(report.failed for report in reports)
    if not failed and item.config.getoption("--netwarp-keep") != "all":
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):  # there are records of other tests
            place.parent.rmdir()
        return reports
    if reason:
        reports.append(_failure(item, reason))
    for report in reports:
        if report.failed:
            report.sections.append(("records of netwarp", f"{place}\nnetwarp report {place}"))
    return reports


def _folder(nodeid: str) -> str:
    """The name of a test's folder: readable, and different for different tests."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", nodeid).strip("-")[-150:]
    return f"{words}-{hashlib.sha256(nodeid.encode()).hexdigest()[:6]}"


def _run(item: pytest.Item, wish: Wish, place: Path) -> tuple[list[pytest.TestReport], str]:
    """Run the test; return its reports, and the reason of the run's failure if that is not the test's own."""
    config = item.config
    here = config.invocation_params.dir
    timeout = config.getoption("--netwarp-timeout")
    request = Request(
        [str(word) for word in config.invocation_params.args],
        f"{item.path}::{item.nodeid.partition('::')[2]}",
        str(here / _REPORTS),
        _seconds(timeout),
    )
    scenario = _scenario(wish, here, request, timeout)
    engine = find_engine(None, EngineOptions(kernel=config.getoption("--netwarp-kernel"), read=(Path("/"),)))
    study = make_study(scenario, engine, place, jobs=1, plots=False, heard=lambda *_: None)
    if study.execution.interrupted:
        raise KeyboardInterrupt
    result = open_result(study.path)
    run = result.run(result.planned[0].id)
    if config.getoption("capture") == "no":
        for name, stream in ((OUTPUT, sys.stdout), (ERRORS, sys.stderr)):
            stream.write((run.path / name).read_text(errors="replace"))
    reports = list(_read(item, run.path / "files" / _REPORTS))
    if any(report.when == "teardown" or report.failed for report in reports):
        return reports, ""
    reason = str(run.status().get("reason") or "the test's process ended before it was reported")
    printed = "\n".join(line for name in (OUTPUT, ERRORS) for line in last_lines(run.path, name, _LINES))
    return reports, f"netwarp: {reason}\n{printed}".rstrip()


def _seconds(timeout: str) -> float:
    try:
        return parse_duration(timeout) / 1e9
    except ValueError as error:
        raise ScenarioError(f"--netwarp-timeout: {error}", "pytest") from None


def _scenario(wish: Wish, here: Path, request: Request, timeout: str) -> Scenario:
    """The scenario of the test: a command in the network that it names, or one without a network."""
    own = {name: value for name, value in os.environ.items() if _OWN.fullmatch(name)}
    env = own | {INSIDE: request.text()}
    if wish.scenario is None:
        return command_scenario(_COMMAND, here, env=env, varied={}, seeds=[wish.seed], timeout=timeout)
    return with_command(
        wish.scenario,
        _COMMAND,
        {
            "directory": str(here),
            "record": "packets",
            "flows": wish.flows,
            "control": True,
            "timeout": timeout,
        },
        [setting_of(path, value) for path, value in wish.settings.items()],
        node=wish.node,
        env=env,
        seed=wish.seed,
    )


def _read(item: pytest.Item, file: Path) -> Iterator[pytest.TestReport]:
    """Yield the reports in the file, and repeat the warnings. A test that could not be collected has failed."""
    config = item.config
    for line in file.read_text().splitlines() if file.is_file() else ():
        data = json.loads(line)
        if WARNING in data:
            _warn(item, data)
            continue
        report = config.hook.pytest_report_from_serializable(config=config, data=data)
        if isinstance(report, pytest.TestReport):
            if isinstance(report.longrepr, list):  # the place and reason of a skip, which JSON has made a list
                report.longrepr = tuple(report.longrepr)
            yield report
        elif isinstance(report, pytest.CollectReport):
            yield _failure(item, f"in the machine, the test could not be collected:\n{report.longreprtext}")


def _warn(item: pytest.Item, data: Mapping[str, Any]) -> None:
    """Report a warning of the test, as pytest does."""
    module, name = data["category"]
    category: object = None
    with suppress(ImportError):
        category = getattr(import_module(module), name, None)
    if not (isinstance(category, type) and issubclass(category, Warning)):
        category = UserWarning
    # The message, not the instance: constructors of warnings may take any arguments.
    message = warnings.WarningMessage(Warning(data[WARNING]), category, data["filename"], data["lineno"])
    location = tuple(data["location"]) if data["location"] else None
    item.ihook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": message, "when": "runtest", "nodeid": item.nodeid, "location": location}
    )


def _failure(item: pytest.Item, text: str) -> pytest.TestReport:
    """A report of a test that failed for a reason outside of the test."""
    return pytest.TestReport(
        item.nodeid, item.location, {name: 1 for name in item.keywords}, "failed", text, "call", duration=0.0
    )

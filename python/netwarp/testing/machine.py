"""Outside: runs one test in a machine of its own, and returns the reports that were made there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from netwarp.engines import EngineError, EngineOptions, find_engine
from netwarp.kernels import KernelError
from netwarp.lab import build_lab
from netwarp.plan import make_plan
from netwarp.scenario import Scenario, ScenarioError
from netwarp.scenario.load.command import command_scenario
from netwarp.scenario.load.session import session_scenario
from netwarp.scenario.model.paths import setting_of
from netwarp.steps.study import make_study
from netwarp.store.errors import StoreError
from netwarp.store.printed import ERRORS, OUTPUT, last_lines
from netwarp.store.result import open_result
from netwarp.testing.marks import MARK, SEED, seeds_for
from netwarp.testing.request import INSIDE, RECORDS, Request

_REPORTS = ".netwarp-reports.jsonl"
"""The file of the reports, in the directory in which pytest runs; only the machine sees it."""
_LINES = 30
_OWN = re.compile("PATH|HOME|LANG|TZ|VIRTUAL_ENV|PYTHON.*|PYTEST_(?!CURRENT_TEST|XDIST).*|HYPOTHESIS.*")
"""Variables of the environment that a test sees."""
_PROBLEMS = (ScenarioError, EngineError, StoreError, KernelError)


@dataclass(frozen=True)
class Wish:
    """How a test wants to run: the arguments of its mark."""

    scenario: str | None
    settings: Mapping[str, Any]
    node: str | None
    flows: bool
    seed: int


def reports_of(item: pytest.Item) -> list[pytest.TestReport]:
    """Run the test in a machine and return its reports; if it has none, one that says why."""
    place = item.config.rootpath / RECORDS / _folder(item.nodeid)
    shutil.rmtree(place, ignore_errors=True)
    try:
        wish = _wish_of(item)
        reports, reason = _run(item, wish, place)
    except _PROBLEMS as error:
        return [_failure(item, f"netwarp: {error}")]
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


def _wish_of(item: pytest.Item) -> Wish:
    """Read the mark. Raises ScenarioError for arguments that it does not have."""
    mark = item.get_closest_marker(MARK)
    given = dict(mark.kwargs) if mark else {}
    names = [given.pop("scenario", None), *(mark.args if mark else ())]
    scenario, settings = names[-1], given.pop("settings", {})
    node, flows = given.pop("node", None), given.pop("flows", True)
    given.pop("seeds", None)
    if given or len(names) > 2:
        raise ScenarioError(f"the mark netwarp has no argument {', '.join(given) or names[-1]}", item.nodeid)
    call = getattr(item, "callspec", None)
    values = dict(call.params) if call else {}
    texts = {path: value.format(**values) if isinstance(value, str) else value for path, value in settings.items()}
    asked = scenario or item.config.getoption("--netwarp-scenario")
    if asked is None and (default := str(item.config.getini("netwarp_scenario") or "")):
        folder = item.config.inipath.parent if item.config.inipath else item.config.rootpath
        asked = str(folder / default) if (folder / default).is_file() else default
    elif scenario and (item.path.parent / scenario).is_file():
        asked = str(item.path.parent / scenario)
    return Wish(asked, texts, node, flows, int(values.get(SEED) or seeds_for(item.config, mark)[0]))


def _run(item: pytest.Item, wish: Wish, place: Path) -> tuple[list[pytest.TestReport], str]:
    """Run the test; return its reports, and why the run failed if that is not the test's own failure."""
    config = item.config
    here = config.invocation_params.dir
    request = Request(
        [str(word) for word in config.invocation_params.args],
        f"{item.path}::{item.nodeid.partition('::')[2]}",
        str(here / _REPORTS),
        {},
        "",
    )
    scenario = _scenario(wish, here, request, config.getoption("--netwarp-timeout"))
    engine = find_engine(None, EngineOptions(kernel=config.getoption("--netwarp-kernel"), read=(Path("/"),)))
    study = make_study(scenario, engine, place, jobs=1, plots=False, heard=lambda *_: None)
    if study.execution.interrupted:
        raise KeyboardInterrupt
    result = open_result(study.path)
    run = result.run(result.planned[0].id)
    reports = list(_read(item, run.path / "files" / _REPORTS))
    if any(report.when == "teardown" or report.failed for report in reports):
        return reports, ""
    reason = str(run.status().get("reason") or "the test's process ended before it was reported")
    printed = "\n".join(line for name in (OUTPUT, ERRORS) for line in last_lines(run.path, name, _LINES))
    return reports, f"netwarp: {reason}\n{printed}".rstrip()


def _scenario(wish: Wish, here: Path, request: Request, timeout: str) -> Scenario:
    """The scenario of the test: a session in the network that it names, or a command without a network."""
    if wish.scenario is None:
        env = _environment(request)
        return command_scenario(
            [sys.executable, "-m", "netwarp.testing.inside"],
            here,
            env=env,
            varied={},
            seeds=[wish.seed],
            timeout=timeout,
        )
    settings = [setting_of(path, value) for path, value in wish.settings.items()]
    settings.append(setting_of("duration", timeout))
    script = f"exec {quote(sys.executable)} -m netwarp.testing.inside\n"

    def made(env: Mapping[str, str]) -> Scenario:
        return session_scenario(
            str(wish.scenario),
            settings,
            node=wish.node,
            script=script,
            flows=wish.flows,
            recorded=True,
            directory=str(here),
            env=env,
            seed=wish.seed,
        )

    lab = build_lab(make_plan(made({})).runs[0])
    addresses: dict[str, list[str]] = {node.name: [] for node in lab.nodes}
    for end in lab.ends:
        addresses[end.node] += [address.partition("/")[0] for address in end.addresses]
    node = wish.node or next(iter(addresses))
    known = Request(request.arguments, request.test, request.reports, addresses, node)
    return made(_environment(known))


def _environment(request: Request) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if _OWN.fullmatch(name)}
    return own | {INSIDE: request.text()}


def _read(item: pytest.Item, file: Path) -> Iterator[pytest.TestReport]:
    """Yield the reports in the file. A test that could not be collected there is one that failed."""
    config = item.config
    for line in file.read_text().splitlines() if file.is_file() else ():
        report = config.hook.pytest_report_from_serializable(config=config, data=json.loads(line))
        if isinstance(report, pytest.TestReport):
            if isinstance(report.longrepr, list):  # the place and reason of a skip, which JSON has made a list
                report.longrepr = tuple(report.longrepr)
            yield report
        elif isinstance(report, pytest.CollectReport):
            yield _failure(item, f"in the machine, the test could not be collected:\n{report.longreprtext}")


def _failure(item: pytest.Item, text: str) -> pytest.TestReport:
    """A report of a test that failed otherwise than by itself."""
    return pytest.TestReport(
        item.nodeid, item.location, {name: 1 for name in item.keywords}, "failed", text, "setup", duration=0.0
    )

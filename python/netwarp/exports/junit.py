"""The verdicts of a command's runs as JUnit XML, for CI systems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from netwarp.analysis.run.tap import Came, OwnTest, own_tests
from netwarp.store.documents import StatusJson
from netwarp.store.errors import StoreError
from netwarp.store.printed import ERRORS, OUTPUT, last_lines
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import PlannedRun

_PRINTED = (("system-out", OUTPUT), ("system-err", ERRORS))
_LINES = 100
"""The maximum number of last lines of each stream in the file."""
_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


@dataclass(frozen=True)
class _Case:
    """A test case: `kind` is the element for its result (None: it passed)."""

    name: str
    kind: str | None = None
    why: str = ""
    text: str = ""
    seconds: float = 0.0


def exec_junit(result: ResultDir) -> str:
    """Return JUnit XML of a result of `netwarp exec`: a suite for each run, a case for each of the command's own tests
    that it reports as TAP or KTAP, and one for the command itself. Seconds are virtual.

    A run whose command did not end is an error, a run that was not executed is skipped. Raises StoreError.
    """
    root = ElementTree.Element("testsuites")
    all_cases: list[_Case] = []
    for run in result.planned:
        cases = list(_cases(result, run))
        all_cases += cases
        words = ", ".join([*(f"{path} = {value}" for path, value in run.point.items()), f"seed {run.seed}"])
        suite = ElementTree.SubElement(root, "testsuite", _attributes(words, cases))
        for case in cases:
            where = {"classname": _clean(words), "name": _clean(case.name), "time": f"{case.seconds:.9f}"}
            element = ElementTree.SubElement(suite, "testcase", where)
            if case.kind:
                ElementTree.SubElement(element, case.kind, {"message": _clean(case.why)}).text = _clean(case.text)
        for tag, name in _PRINTED:
            printed = "\n".join(last_lines(result.run(run.id).path, name, _LINES))
            if printed:
                ElementTree.SubElement(suite, tag).text = _clean(printed)
    root.attrib.update(_attributes("netwarp exec", all_cases))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _cases(result: ResultDir, planned: PlannedRun) -> Iterator[_Case]:
    """Yield the command itself, then its own tests."""
    command = "the command"
    if not result.is_complete(planned.id):
        yield _Case(command, "skipped", "the run was not made")
        return
    run = result.run(planned.id)
    status = run.status()
    try:
        tests = own_tests(run.path)
    except OSError as error:
        raise StoreError(f"cannot read {run.path / OUTPUT}: {error}") from error
    yield _of_the_command(command, status, has_failed_tests=tests is not None and tests.failure is not None)
    if tests is not None:
        yield from (_of_a_test(test) for test in tests.tests)
        yield from (_Case("the report", "failure", problem) for problem in tests.problems)


def _of_the_command(name: str, status: StatusJson, *, has_failed_tests: bool) -> _Case:
    """The case of the command: it passes if it ended with exit code 0. Its own tests have their own cases."""
    seconds = status.get("duration_ns", 0) / 1e9
    reason = str(status.get("reason") or "")
    if status["status"] != RunStatus.FAILED or (has_failed_tests and status.get("exit_code") in (0, 1)):
        return _Case(name, seconds=seconds)
    ended = status.get("exit_code") is not None
    return _Case(name, "failure" if ended else "error", reason, reason, seconds)


def _of_a_test(test: OwnTest) -> _Case:
    match test.came:
        case Came.PASSED:
            return _Case(test.name)
        case Came.SKIPPED:
            return _Case(test.name, "skipped", test.why)
        case Came.FAILED:
            return _Case(test.name, "failure", test.why or "not ok", test.printed)


def _attributes(name: str, cases: list[_Case]) -> dict[str, str]:
    kinds = [case.kind for case in cases]
    return {
        "name": _clean(name),
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(case.seconds for case in cases):.9f}",
    }


def _clean(text: str) -> str:
    """Replace characters that XML cannot hold, such as the escapes of terminals."""
    return _ILLEGAL.sub("\ufffd", text)

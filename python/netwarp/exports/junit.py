"""The verdicts on a result as JUnit XML, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netwarp.analysis.run.tap import Came, OwnTest, own_tests
from netwarp.analysis.summary.expectations import Checked, Look
from netwarp.common.junit import Case, Fault, Suite, document
from netwarp.store.documents import StatusJson
from netwarp.store.errors import StoreError
from netwarp.store.printed import ERRORS, OUTPUT, last_lines
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import PlannedRun

_LINES = 100
"""The maximum number of last lines of each stream in the file."""


def exec_junit(result: ResultDir) -> str:
    """Return JUnit XML of a result of `netwarp exec`: a suite for each run, a case for each of the command's own tests
    that it reports as TAP or KTAP, and one for the command itself. Seconds are virtual.

    A run whose command did not end is an error, a run that was not executed is skipped. Raises StoreError.
    """
    return document("netwarp exec", (_suite(result, run) for run in result.planned))


def _suite(result: ResultDir, planned: PlannedRun) -> Suite:
    path = result.run(planned.id).path
    out, err = ("\n".join(last_lines(path, name, _LINES)) for name in (OUTPUT, ERRORS))
    return Suite(planned.label, list(_cases(result, planned)), out, err)


def _cases(result: ResultDir, planned: PlannedRun) -> Iterator[Case]:
    """Yield the command itself, then its own tests."""
    command = "the command"
    if not result.is_complete(planned.id):
        yield Case(command, Fault.SKIPPED, "the run was not made")
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
        yield from (Case("the report", Fault.FAILURE, problem) for problem in tests.problems)


def _of_the_command(name: str, status: StatusJson, *, has_failed_tests: bool) -> Case:
    """The case of the command: it passes if it ended with exit code 0. Its own tests have their own cases."""
    seconds = status.get("duration_ns", 0) / 1e9
    reason = str(status.get("reason") or "")
    if status["status"] != RunStatus.FAILED or (has_failed_tests and status.get("exit_code") in (0, 1)):
        return Case(name, seconds=seconds)
    ended = status.get("exit_code") is not None
    return Case(name, Fault.FAILURE if ended else Fault.ERROR, reason, reason, seconds=seconds)


def _of_a_test(test: OwnTest) -> Case:
    match test.came:
        case Came.PASSED:
            return Case(test.name)
        case Came.SKIPPED:
            return Case(test.name, Fault.SKIPPED, test.why)
        case Came.FAILED:
            return Case(test.name, Fault.FAILURE, test.why or "not ok", test.printed)


def runs_suite(result: ResultDir) -> Suite:
    """Return a suite with a case for each planned run: a failed or suspect run fails with its reason, and a run that
    was not executed is skipped."""
    return Suite("runs", [_of_a_run(result, run) for run in result.planned])


def _of_a_run(result: ResultDir, planned: PlannedRun) -> Case:
    if not result.is_complete(planned.id):
        return Case(planned.label, Fault.SKIPPED, "the run was not made")
    status = result.run(planned.id).status()
    seconds = status.get("duration_ns", 0) / 1e9
    if status["status"] == RunStatus.OK:
        return Case(planned.label, seconds=seconds)
    reason = f"{status['status']}: {status.get('reason') or 'no reason is stored'}"
    fault = Fault.ERROR if status["status"] == RunStatus.FAILED else Fault.FAILURE
    return Case(planned.label, fault, reason, reason, seconds=seconds)


def expectations_suite(checked: Sequence[Checked]) -> Suite:
    """Return a suite with a case for each expectation: one that cannot be decided is skipped."""
    return Suite("expectations", [_of_an_expectation(one) for one in checked])


def _of_an_expectation(checked: Checked) -> Case:
    name = f"{checked.subject}: {checked.bound}"
    text = f"{checked.judgement}: {checked.found}"
    fault = {Look.FAILED: Fault.FAILURE, Look.OPEN: Fault.SKIPPED, Look.MET: None}[checked.judgement.look]
    return Case(name, fault, text, text) if fault else Case(name, printed=text)

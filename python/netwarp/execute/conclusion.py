"""Completion of a run after its engine has ended: the network that its records show, digests, metrics, status.

This is separate from `single.py` because the modules that read records take longer to load than a short command takes
to run: they are loaded while the first run is executed.
"""

import threading
from dataclasses import replace
from pathlib import Path

from netwarp.analysis.run.charges import charge_doubts, charge_notes
from netwarp.analysis.run.faults import FaultError, contained
from netwarp.analysis.run.run_metrics import code_digest, compute_metrics
from netwarp.analysis.run.scores import score_notes
from netwarp.analysis.run.tap import own_tests
from netwarp.analysis.run.validity import first_of, judge
from netwarp.discovery import Logged, found_network, read_logs
from netwarp.engines import Job, Outcome
from netwarp.engines.reports import RunFacts
from netwarp.lab_format.model import Lab
from netwarp.store.digests import write_digests
from netwarp.store.errors import StoreError, is_without_room, store_errors
from netwarp.store.files import is_full, write_json
from netwarp.store.keep import remove_tables
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.status import write_status
from netwarp.values.json_values import JsonObject
from netwarp.values.keep import EVERYTHING, Keep

KSELFTEST_SKIP = 4
"""Exit code of a kernel selftest that does not apply (tools/testing/selftests/kselftest.h)."""


_PREPARING = threading.Lock()


def prepare() -> None:
    """Build what every conclusion uses, once: while the first run is executed, or before its conclusion."""
    with _PREPARING:
        code_digest()


def conclude(job: Job, description: JsonObject, directory: Path, outcome: Outcome, keep: Keep = EVERYTHING) -> Outcome:
    """Complete the directory of a run that its engine made; returns how it went, all considered.

    A run that failed keeps its records, which may show why. Raises StoreError.
    """
    prepare()
    run, duration_ns = RunDir(directory), outcome.found.get("duration_ns", 0)
    network = found_network(run, job.lab, duration_ns)
    logged = _logged(run, job.lab, network)
    found = {**outcome.found, **network, **logged.found}
    outcome = replace(outcome, notes=(*outcome.notes, *logged.notes))
    run = RunDir(directory, None if found else job.lab, holds=True)
    if found:
        write_json(directory / "run.json", {**description, "lab": {**job.lab.as_json(), **found}})
    write_digests(directory)
    if job.lab.has_output and not job.lab.is_session:
        outcome = _with_own_tests(directory, outcome)
    if outcome.status == RunStatus.OK:
        outcome = _charged(_analysed(run, outcome), outcome.found.get("duration_ns"))
    if outcome.status == RunStatus.FAILED or keep == EVERYTHING:
        return _filed(directory, outcome)
    with store_errors(directory, "remove tables of"):
        remove_tables(directory, keep)
    return _filed(directory, replace(outcome, facts={**outcome.facts, "keep": keep}))


def _logged(run: RunDir, lab: Lab, network: JsonObject) -> Logged:
    """Read the logs that programs wrote themselves. Such a file never fails a run. Raises StoreError."""
    try:
        with contained(run.path, StoreError):
            return read_logs(run, lab, network)
    except FaultError as error:
        return Logged({}, (f"qlog files are not read: {error}",))


def conclude_unmade(directory: Path, reason: str) -> Outcome:
    """Complete the directory of a run that failed before it was executed. Raises StoreError."""
    write_digests(directory)
    return _filed(directory, Outcome(RunStatus.FAILED, reason, by_host=True))


def _filed(directory: Path, outcome: Outcome) -> Outcome:
    """Write the outcome to status.json, and return it. Raises StoreError.

    If a run fails and the disk is full, the disk is named as the cause, no matter which part could not write.
    """
    if outcome.status == RunStatus.FAILED:
        full = is_full(directory)
        if full:
            outcome = replace(outcome, reason=f"{outcome.reason}; the disk of the result is full: free some room")
        if full or outcome.by_host:
            outcome = replace(outcome, reason=f"{outcome.reason}; the same command makes it again", by_host=True)
    facts = outcome.facts.copy()
    if outcome.by_host:
        facts["by_host"] = True
        facts.pop("by_exit_code", None)  # the host is a cause as well
    if outcome.notes:
        facts["notes"] = list(outcome.notes)
    write_status(directory, outcome.status, outcome.reason, **facts)
    return outcome


def _charged(outcome: Outcome, command_ns: int | None) -> Outcome:
    """Add notes or doubts about time that passed because programs waited by polling.

    A command, which took `command_ns`, may have measured just this time. In a lab the network goes on meanwhile, and
    its measurements concern the network.
    """
    charged = outcome.facts.get("charged", [])
    if outcome.status == RunStatus.FAILED or not charged:
        return outcome
    doubts = () if command_ns is None else tuple(charge_doubts(charged, command_ns))
    if not doubts:
        return replace(outcome, notes=(*outcome.notes, *charge_notes(charged)))
    reason = "; ".join(text for text in (outcome.reason, *doubts) if text)
    return replace(outcome, status=RunStatus.SUSPECT, reason=reason)


def _with_own_tests(directory: Path, outcome: Outcome) -> Outcome:
    """Add the results of a command's own tests, if it printed them as TAP or KTAP; the run fails if one failed.

    A command whose tests were all skipped has not failed, although its exit code is kselftest's for skipped tests.
    """
    try:
        tests = own_tests(directory)
    except OSError as error:
        return replace(outcome, notes=(*outcome.notes, f"the results of its own tests cannot be read: {error}"))
    if tests is None:
        return outcome
    facts: RunFacts = {**outcome.facts, "tests": tests.counts}
    by_code = facts.get("by_exit_code", False)
    if tests.failure or tests.is_skipped:
        facts.pop("by_exit_code", None)
    if failure := tests.failure:
        reason = f"{failure}; {outcome.reason}" if outcome.reason else failure
        return replace(outcome, status=RunStatus.FAILED, reason=reason, facts=facts)
    if tests.is_skipped:
        outcome = replace(outcome, notes=(*outcome.notes, "all of its own tests were skipped"))
        if by_code and facts.get("exit_code") == KSELFTEST_SKIP:
            outcome = replace(outcome, status=RunStatus.OK, reason=None)
    return replace(outcome, facts=facts)


def _analysed(run: RunDir, outcome: Outcome) -> Outcome:
    """Check the records, write their metrics, and return the outcome with the verdict."""
    try:
        with contained(run.path, StoreError):
            verdict = judge(run)
            scores: tuple[str, ...] = ()
            if verdict.status != RunStatus.FAILED:
                compute_metrics(run)
                scores = tuple(score_notes(run))
    except (StoreError, FaultError) as error:
        by_host = isinstance(error, StoreError) and is_without_room(error)
        return replace(outcome, status=RunStatus.FAILED, reason=str(error), found={}, by_host=by_host)
    notes = (*outcome.notes, *verdict.notes, *first_of(scores, "calls"))
    return replace(outcome, status=verdict.status, reason=verdict.reason, found={}, notes=notes)

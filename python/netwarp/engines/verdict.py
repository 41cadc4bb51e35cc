"""The outcome of a run in a virtual machine, from the guard's report, the agent's and the console."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from netwarp.engines.base import Job, Outcome
from netwarp.engines.console import death, killed_by_host, last_words, of_waiting, out_of_mappings, out_of_memory
from netwarp.engines.exec import facts_of, failure_of, in_vain, not_kept
from netwarp.engines.reports import AgentOutcome, End, FoundFields, GuardReport, RunFacts, RunningProgram
from netwarp.engines.supervisor import console_tail, read_outcome
from netwarp.store.run_status import RunStatus
from netwarp.values.json_values import Json, as_list, as_table

_NAMED = 5
"""The maximum number of odd files that a reason names."""


def judged(
    job: Job,
    directory: Path,
    report: GuardReport,
    odd: Sequence[str],
    of_modules: tuple[str | None, str | None],
) -> Outcome:
    """Judge a run by the guard's report; `odd` are files in its directory that are not regular, and `of_modules` is the
    error that modules caused, and the advice if they may have caused one."""
    blamed, advice = of_modules
    facts: RunFacts = {
        "real_s": report["real_s"],
        "own_s": report["own_s"],
        "cpu_s": report["cpu_s"],
        "guard_cpu_s": report["guard_cpu_s"],
        "events": report["events"],
        "confinement": report["confinement"],
    }
    if report["end"] == End.CANCELLED:
        return Outcome(RunStatus.CANCELLED, "it was interrupted", facts)
    if report["end"] != End.ENDED:
        facts["end"] = report["end"]
    outcome = read_outcome(directory)
    facts = {**facts, **facts_of(outcome or {})}
    found: FoundFields = {"duration_ns": outcome["duration_ns"]} if outcome and "duration_ns" in outcome else {}
    if outcome and (asked := outcome.get("changes")):
        found["changes"] = _with_asked(job, asked)
    happened = outcome.get("happened", {}) if outcome else {}
    awaited = sorted({change.when.number for change in job.lab.changes if change.when is not None})
    if awaited:
        found["changes"] = _with_moments(job, happened)
    stopped = blamed or _killed(job, directory, report)
    # Causes come before their consequences.
    before = out_of_memory(directory)
    after = (
        out_of_mappings(directory),
        f"it left something other than regular files in its run directory: {', '.join(odd[:_NAMED])}" if odd else None,
    )
    failure = stopped or _failure(job, outcome, directory, report)
    missed = None if before or failure else _never_held(job, happened)
    reasons = (before, failure, missed, *after)
    reason = "; ".join(reason for reason in reasons if reason) or None
    if reason and not any((before, stopped, missed, *after, advice)) and _ended_by_itself(outcome):
        facts["by_exit_code"] = True
    reason = f"{reason}; {advice}" if reason and advice else reason
    by_host = report["by_host"] or (report["end"] == End.ENDED and killed_by_host(report["exit_status"], directory))
    notes = (*_starvation(job, report), *not_kept(job, facts, report["cut"]), *in_vain(facts))
    return Outcome(RunStatus.FAILED if reason else RunStatus.OK, reason, facts, found, bool(reason) and by_host, notes)


def _with_asked(job: Job, asked: Sequence[Json]) -> list[Json]:
    """The lab's changes with those that its command asked for, in order of time."""
    changes = [*as_list(job.lab.as_json()["changes"]), *asked]
    return sorted(changes, key=lambda change: int(str(as_table(change)["at_ns"])))


def _with_moments(job: Job, happened: Mapping[str, int]) -> list[Json]:
    """The lab's changes that happened, in order of time; those that waited for a state at the moment when it came."""
    changes: list[dict[str, Json]] = []
    for change in job.lab.changes:
        moment = change.at_ns if change.when is None else happened.get(str(change.when.number))
        if moment is not None:
            changes.append({**change.as_json(), "at_ns": moment})
    return [*sorted(changes, key=lambda change: int(str(change["at_ns"])))]


def _never_held(job: Job, happened: Mapping[str, int]) -> str | None:
    """Name the first change of the scenario whose state did not come, and the state; None if all came."""
    for change in job.lab.changes:
        when = change.when
        if when is not None and str(when.number) not in happened:
            return (
                f"changes.{when.number} waited in vain for {when}: no ACK brought it; ask for a state that occurs "
                "(the run's tables `acks` and `states` have the flow's), or leave the change out"
            )
    return None


def _starvation(job: Job, report: GuardReport) -> Iterator[str]:
    """Say that a run took longer than its limit because the host gave it no processor for some time."""
    if report["real_s"] > job.time_limit_s > report["own_s"]:
        yield (
            f"the host was busy: it took {report['real_s']:.0f} s, of which {report['own_s']:.0f} s count for its "
            f"limit of {job.time_limit_s:g} s ([run] time_limit)"
        )


def _killed(job: Job, directory: Path, report: GuardReport) -> str | None:
    """Say why the guard ended the machine; None if it did not."""
    running = _running(job, report["running"], directory)
    if report["end"] == End.OUTPUT_CLOSED:
        return "its output is no longer read"
    if report["end"] == End.TIME_LIMIT:
        overdue = f"it did not end within {job.time_limit_s:g} s of its own time ([run] time_limit)"
        return f"{overdue}: {running}" if running else overdue + console_tail(directory)
    if report["end"] == End.COMPUTING:
        return (
            f"a program computed for {report['computing_s']:g} s without a system call, and virtual time stands still "
            f"meanwhile: {running or 'the machine did not say which'}. If it would end eventually, raise [run] "
            f"time_limit: a program may compute for a tenth of it"
        )
    if report["end"] == End.STUCK:
        tail = "" if out_of_memory(directory) else console_tail(directory)
        return f"the machine's kernel computes without end, and virtual time stands still{tail}"
    return f"its records could not be written: {report['error']}" if report["error"] else None


def _running(job: Job, answer: RunningProgram | None, directory: Path) -> str | None:
    """The sentence on the program that ran when a machine was ended, the observations of it, and others that wait by
    computing."""
    if answer is None:
        return None
    at_s = (answer["time_ns"] - job.lab.t0_ns) / 1e9
    return (
        f"{answer['name']} (pid {answer['pid']}) ran at {answer['address']}, at {at_s:.6g} s of the run's time; "
        f"its command: `{answer['command']}`{of_waiting(directory)}"
    )


def _ended_by_itself(outcome: AgentOutcome | None) -> bool:
    """Whether all that the agent reports about a command is its exit code."""
    return outcome is not None and outcome["status"] == RunStatus.OK and not outcome.get("overdue")


def _failure(job: Job, outcome: AgentOutcome | None, directory: Path, report: GuardReport) -> str | None:
    """Say why the run failed, as the agent reports it, or how the machine died; None if it did not fail."""
    if outcome is None:
        return death(report["exit_status"]) + last_words(directory)
    if outcome["status"] != RunStatus.OK:
        return str(outcome.get("reason", "the agent gave no reason"))
    return failure_of(outcome.get("exit_code"), outcome.get("overdue"), typed=job.lab.is_session)

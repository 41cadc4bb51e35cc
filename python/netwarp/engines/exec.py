"""Support for commands in an engine (`netwarp exec`, `netwarp shell`): live output, keyboard, and report of the end."""

import contextlib
import os
import signal
import termios
import tty
from collections.abc import Iterator, Sequence
from typing import cast

from netwarp.engines.base import EngineError, Job
from netwarp.engines.reports import AgentOutcome, CommandFacts

INPUT, OUTPUT, ERRORS = 0, 1, 2
_NAMED = 3
"""The maximum number of files that a note names."""


@contextlib.contextmanager
def live_descriptors(live: bool) -> Iterator[dict[str, int]]:
    """Yield the guard's options for this process's standard output and error, with descriptors that it inherits.

    A closed one is left out.
    """
    found: dict[str, int] = {}
    try:
        for name, descriptor in (("live-out", OUTPUT), ("live-err", ERRORS)) if live else ():
            with contextlib.suppress(OSError):
                found[name] = os.dup(descriptor)
        yield found
    finally:
        for descriptor in found.values():
            os.close(descriptor)


@contextlib.contextmanager
def keyboard(job: Job) -> Iterator[dict[str, int | float]]:
    """Yield the guard's options for this process's terminal, in raw mode meanwhile; none if the job is not a session.

    Raises EngineError if there is no terminal.
    """
    command = job.lab.exec
    if not command or not command.terminal:
        yield {}
        return
    if not job.live or not os.isatty(INPUT):
        raise EngineError("it was typed at a terminal, and there is none here: a session cannot be repeated")
    before = termios.tcgetattr(INPUT)
    descriptor = os.dup(INPUT)
    try:
        tty.setraw(INPUT)
        yield {"keyboard": descriptor} | ({"pace": command.pace} if command.pace else {})
    finally:
        termios.tcsetattr(INPUT, termios.TCSADRAIN, before)
        os.close(descriptor)


def facts_of(outcome: AgentOutcome) -> CommandFacts:
    """Select the facts that the agent reports about the end of a command."""
    found: dict[str, object] = {name: outcome[name] for name in CommandFacts.__annotations__ if name in outcome}  # type: ignore[literal-required]
    return cast(CommandFacts, found)


def not_kept(job: Job, facts: CommandFacts, cut: Sequence[str]) -> Iterator[str]:
    """Say which parts of a command's output and files are not in its result, and why."""
    kept = f"{job.lab.record.kept_bytes / 2**20:g} MiB ([run] keep)"
    if cut:
        yield f"{' and '.join(cut)}: only the first {kept} of the output are kept"
    if names := facts.get("left_out"):
        more = facts["left_out_count"] - len(names[:_NAMED])
        listed = ", ".join(names[:_NAMED]) + (f" and {more} more" if more else "")
        yield (
            f"files that are not kept: {listed}; only regular files and directories are kept, of at most {kept} in all"
        )


def in_vain(facts: CommandFacts) -> Iterator[str]:
    """Say which settings of a command have no effect."""
    if times := facts.get("quotas"):
        yield (
            f"a quota of processor time was set ({times} time{'s' * (times > 1)}: cpu.cfs_quota_us, cpu.max), and "
            "limits nothing: computing takes no virtual time (docs/limitations.md)"
        )


def failure_of(exit_code: int | None, overdue: str | None = None, *, typed: bool = False) -> str | None:
    """Say why a command counts as failed; None if it does not. The exit code of an interactive shell (`typed`) is that
    of its last command, so it does not count."""
    if overdue:
        return overdue
    code = 0 if typed else exit_code
    if not code:
        return None
    try:
        by = f", the code of a program that {signal.Signals(code - 128).name} ended"
    except ValueError:
        by = ""
    return f"the command ended with exit code {code}{by}"

"""The agent's process that executes one run and reports how it went: starting it, waiting for it, ending it."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from netwarp.engines.leavings import read_start
from netwarp.engines.orphans import end_session
from netwarp.engines.reports import AgentOutcome
from netwarp.store.console import CONSOLE
from netwarp.values.json_values import Json

OUTCOME = "outcome.json"
_GRACE_S = 10.0
_TICK_S = 0.05
_TAIL_LINES = 12
_CONSOLE_BYTES = 16 << 20
"""The maximum number of bytes that are read from a console."""
_OUTCOME_BYTES = 1 << 20
_ALLOCATOR = "_RJEM_MALLOC_CONF"
"""Settings of polars' allocator in this process: the command line makes some (cli/__init__.py), and polars adds others
when it is loaded, which is after the first run has begun. A program that is measured must not inherit them."""


def start(command: Sequence[str], inherited: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
    """Start it with the `inherited` descriptors, and this process's environment without what only this process needs.

    It ends the run when its standard input is closed.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=tuple(inherited),
        env={name: value for name, value in os.environ.items() if name != _ALLOCATOR},
    )


def wait(process: "subprocess.Popen[bytes]", time_limit_s: float, cancelled: threading.Event) -> tuple[Json, str]:
    """Wait for the process; return its report (None if it has none), and its standard error.

    The process keeps the time limit itself; the deadline here is for one that hangs. It is extended as long as the
    process shows signs of life, because on a busy host it may take longer.
    """
    finished = threading.Event()
    collected: list[bytes] = []

    def collect() -> None:
        # Not communicate(): it would close standard input, which tells the process to end the run.
        assert process.stdout and process.stderr
        collected.extend((process.stdout.read(), process.stderr.read()))
        finished.set()

    threading.Thread(target=collect, daemon=True).start()
    left_s = time_limit_s + _GRACE_S
    life = None
    while not finished.wait(_TICK_S) and left_s > 0 and not cancelled.is_set():
        left_s -= _TICK_S
        if left_s <= _GRACE_S and (seen := _sign_of_life(process.pid, time_limit_s)) != life:
            left_s, life = _GRACE_S, seen
    if process.stdin:
        process.stdin.close()
    finished.wait(_GRACE_S)
    output, complaint = collected or (b"", b"")
    try:
        return json.loads(output), complaint.decode(errors="replace").strip()
    except ValueError:
        return None, complaint.decode(errors="replace").strip()


def _sign_of_life(pid: int, limit_s: float) -> object:
    """Return a value that changes while a process works or waits for a processor; None if it has computed too long."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return None
    computed_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if computed_s > limit_s:
        return None
    return object() if fields[0] == "R" else [line for line in status.splitlines() if "ctxt_switches" in line]


def end(process: "subprocess.Popen[bytes]") -> None:
    """End the process and everything that it started, even if it and its keeper were killed."""
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.returncode < 0:
        end_session(process.pid)
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def end_in_words(name: str, what: str, status: int) -> str:
    """The sentence on the end of a process without a report: its `name`, and `what` ended with it."""
    if status < 0:
        return f"its {name} was killed ({signal.Signals(-status).name}), and {what} with it"
    return f"its {name} ended without a report (exit status {status})"


def read_outcome(directory: Path) -> AgentOutcome | None:
    """Read the agent's report about the run, and remove the file; None if there is none."""
    path = directory / OUTCOME
    try:
        outcome = json.loads(read_start(path, _OUTCOME_BYTES))
        path.unlink()
    except (OSError, ValueError, RecursionError):
        return None
    return cast(AgentOutcome, outcome) if isinstance(outcome, dict) and "status" in outcome else None


def console_lines(directory: Path) -> list[str]:
    """Return the lines that were printed during the run; empty if they cannot be read."""
    try:
        text = read_start(directory / CONSOLE, _CONSOLE_BYTES).decode(errors="replace")
    except OSError:
        return []
    lines = [re.sub(r"^<\d>", "", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line]


def console_tail(directory: Path) -> str:
    """The end of the console, as the end of a sentence."""
    tail = console_lines(directory)[-_TAIL_LINES:]
    return ("; its console ends with:\n  " + "\n  ".join(tail)) if tail else "; its console is empty"

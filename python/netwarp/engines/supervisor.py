"""The process of the agent that makes one run and reports how it went: waiting for it, ending it."""

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
from netwarp.json_values import Json
from netwarp.store.console import CONSOLE

OUTCOME = "outcome.json"
_GRACE_S = 10.0
_TICK_S = 0.05
_TAIL_LINES = 12
_CONSOLE_BYTES = 16 << 20
"""What is kept of a console at most."""
_OUTCOME_BYTES = 1 << 20


def start(command: Sequence[str], inherited: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
    """Start it with the `inherited` descriptors. Its standard input is for closing: then it ends the run."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=tuple(inherited),
    )


def wait(process: "subprocess.Popen[bytes]", time_limit_s: float, cancelled: threading.Event) -> tuple[Json, str]:
    """The report, or None and what it complained of.

    It keeps the time limit itself; the deadline here is for one that hangs: on a busy host one that does not may take
    longer, as long as it shows signs of life.
    """
    finished = threading.Event()
    collected: list[bytes] = []

    def collect() -> None:
        # Not communicate(): it would close standard input, which tells it to end the run.
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
    """What changes while a process does something, or waits for a processor; None once it has computed too long."""
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
    """Whatever happened, it is gone afterwards, and with it what it started, even where something killed it and what it
    had for that."""
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
    """What to say of one that said nothing: its `name`, and `what` it has ended."""
    if status < 0:
        return f"its {name} was killed ({signal.Signals(-status).name}), and {what} with it"
    return f"its {name} ended without a report (exit status {status})"


def read_outcome(directory: Path) -> AgentOutcome | None:
    """How the run went, as the agent in it wrote; None if it could not. The file is removed."""
    path = directory / OUTCOME
    try:
        outcome = json.loads(read_start(path, _OUTCOME_BYTES))
        path.unlink()
    except (OSError, ValueError, RecursionError):
        return None
    return cast(AgentOutcome, outcome) if isinstance(outcome, dict) and "status" in outcome else None


def console_lines(directory: Path) -> list[str]:
    """What was printed while the run lasted; empty if that cannot be read."""
    try:
        text = read_start(directory / CONSOLE, _CONSOLE_BYTES).decode(errors="replace")
    except OSError:
        return []
    lines = [re.sub(r"^<\d>", "", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line]


def console_tail(directory: Path) -> str:
    """The end of the console, if it explains what happened."""
    tail = console_lines(directory)[-_TAIL_LINES:]
    return ("; its console ends with:\n  " + "\n  ".join(tail)) if tail else "; its console is empty"

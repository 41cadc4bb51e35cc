"""Processes of a run whose guard, or supervisor, was killed: they are in its session, which none of them can leave.

The guard's keeper ends them (the agent's guard/keeper.rs). This is for those whose keeper was killed as well.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.objects import BINARY

_PROC = Path("/proc")
_GONE = "ZX"
"""The states of a process that has ended."""
_TRIES = 50
_PAUSE_S = 0.02


@dataclass(frozen=True)
class Orphan:
    """A process, its process group and its session, whose first process is gone."""

    pid: int
    group: int
    session: int


def end_session(session: int) -> None:
    """Kill what is left of a session whose first process is gone, by whole groups, so that none can start another."""
    for _ in range(_TRIES):
        left = [one for one in _orphans() if one.session == session]
        if not left:
            return
        for group in {one.group for one in left}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def machines() -> dict[int, list[int]]:
    """Sessions of this user in which processes of a virtual machine are left, with their ids."""
    found: dict[int, list[int]] = {}
    for one in _orphans():
        if _is_of_machine(_PROC / str(one.pid)):
            found.setdefault(one.session, []).append(one.pid)
    return found


def _orphans() -> Iterator[Orphan]:
    for process in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, _, group, session, *_ = _fields(process)
            mine = state not in _GONE and process.stat().st_uid == os.getuid()
            if mine and session != "0" and not _is_alive(_PROC / session):
                yield Orphan(int(process.name), int(group), int(session))


def _fields(process: Path) -> list[str]:
    """State, parent, group, session and more of a process (proc(5)). Raises OSError."""
    # The name, in parentheses, may contain anything.
    return (process / "stat").read_text().rpartition(")")[2].split()


def _is_alive(process: Path) -> bool:
    """Whether a process has not ended; one that has may not have been waited for yet."""
    try:
        return _fields(process)[0] not in _GONE
    except OSError:
        return False


def _is_of_machine(process: Path) -> bool:
    """Whether a process is under a filter of system calls, and runs a kernel or in a run directory: which a machine has
    no way to change but by starting what loads programs, and it can start nothing else."""
    try:
        status = (process / "status").read_text()
        program = (process / "exe").readlink().name.removesuffix(" (deleted)")
        directory = (process / "cwd").readlink()
    except OSError:
        return False
    return "\nSeccomp:\t2\n" in status and (program == BINARY or (directory / "run.json").is_file())

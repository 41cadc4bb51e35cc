"""Processes of a run whose guard or supervisor was killed: they are in its session, which none of them can leave.

The guard's keeper ends them (the agent's guard/keeper.rs). This module ends those whose keeper was killed as well.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.cache import BINARY, FACTS

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
    """Kill the remaining processes of a session that netwarp began and whose first process is gone."""
    _end(lambda one: one.session == session)


def end_machine(machine: Sequence[Orphan]) -> None:
    """Kill the remaining processes of a machine, and no others of its session, which may be a shell's."""
    groups = {(one.session, one.group) for one in machine}
    _end(lambda one: (one.session, one.group) in groups)


def _end(is_left: Callable[[Orphan], bool]) -> None:
    """Kill them by whole groups, so that none can start another."""
    for _ in range(_TRIES):
        left = [one for one in _orphans() if is_left(one)]
        if not left:
            return
        for group in {one.group for one in left}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def machines(cache: Path) -> dict[int, list[Orphan]]:
    """Return the remaining processes of this user's virtual machines with kernels of the cache, by session: all of
    their process groups, which a machine's processes cannot leave and others cannot join."""
    orphans = list(_orphans())
    groups = {(one.session, one.group) for one in orphans if _is_kernel(_PROC / str(one.pid), cache)}
    found: dict[int, list[Orphan]] = {}
    for one in orphans:
        if (one.session, one.group) in groups:
            found.setdefault(one.session, []).append(one)
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
    """Whether a process has not ended; an ended one may be a zombie that was not waited for yet."""
    try:
        return _fields(process)[0] not in _GONE
    except OSError:
        return False


def _is_kernel(process: Path, cache: Path) -> bool:
    """Whether a process runs a kernel of the cache (which may have been removed since), confined as a machine is.

    Both are checked: in a container all processes may have a filter of system calls, and other software uses User Mode
    Linux, too.
    """
    try:
        status = (process / "status").read_text()
        program = Path(str((process / "exe").readlink()).removesuffix(" (deleted)"))
    except OSError:
        return False
    is_confined = "\nSeccomp:\t2\n" in status and "\nNoNewPrivs:\t1\n" in status
    is_built = program.is_relative_to(cache.resolve()) or (program.parent / FACTS).is_file()
    return is_confined and program.name == BINARY and is_built

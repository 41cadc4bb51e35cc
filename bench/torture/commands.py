"""Commands under observation: each in its own session, with its time, memory and number of processes.

`netwarp` is forked from this process, which has loaded it already, since loading takes longer than most commands do.
The forked process then acts like the command, exit handlers included, and a crash ends only that process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import psutil

_TICK_MS = 200
_GRACE_S = 8.0
_OUTPUT_BYTES = 1 << 20
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <linux/prctl.h>: processes whose parent has ended become this process's children."""

Action = Callable[[Sequence[str]], object]
"""Function that a forked process calls with its arguments; it returns the exit code, or ends the process."""


@dataclass(frozen=True)
class Limits:
    """Limits of a command; it is ended at `wall_s`, however busy the machine is."""

    seconds: float = 10.0
    wall_s: float = 180.0
    memory_bytes: int = 2 << 30


QUICK = Limits()
"""Limits of every command that makes no runs."""


@dataclass
class Ended:
    """How a command ended. `idle_s` is the time in which it neither computed nor waited for a processor."""

    command: str
    status: int
    out: str
    err: str
    wall_s: float
    cpu_s: float
    idle_s: float
    peak_bytes: int
    stopped: str | None
    left: list[str] = field(default_factory=list)


@dataclass
class Running:
    """A command that has been started."""

    command: str
    pid: int
    begin: float
    out: Path
    err: Path
    others: frozenset[int]


def adopt_orphans() -> None:
    """Make orphans of descendants children of this process, so that they can be found."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def start(
    arguments: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    logs: Path,
    action: Action | None = None,
    before: Callable[[], object] | None = None,
    processor: int | None = None,
) -> Running:
    """Start a program with these arguments, or fork and do `action` with them. `before` is called in the new process.

    Its output goes to files in `logs`.
    """
    words = [str(argument) for argument in arguments]
    number = len(list(logs.glob("*.err")))
    out, err = logs / f"{number}.out", logs / f"{number}.err"
    others = frozenset(process.pid for process in psutil.Process().children(recursive=True))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    out.touch()
    err.touch()
    pid = os.fork()
    if pid == 0:
        try:
            _enter(cwd, environment, out, err, processor)
            if before is not None:
                before()
            if action is None:
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.execvpe(words[0], words, dict(environment))
            _act(action, words)
        except BaseException:
            traceback.print_exc()
        os._exit(70)
    return Running(" ".join(words), pid, time.monotonic(), out, err, others)


def _enter(cwd: Path, environment: Mapping[str, str], out: Path, err: Path, processor: int | None) -> None:
    os.setsid()
    for descriptor, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.closerange(3, 256)
    # The process that started the torture may have replaced these streams, as a test's capture does.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # a value inherited by the fork
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _act(action: Action, words: Sequence[str]) -> NoReturn:
    """End as the interpreter ends a program: the exit code, then threads, exit handlers and buffers."""
    code: object = 0
    try:
        code = action(words)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def finish(running: Running, limits: Limits = QUICK, known: Collection[int] = ()) -> Ended:
    """Wait for the command to end, or end it at a limit; then search for processes that it left running, and end them.

    Processes of `known` (and their descendants) are not the command's.
    """
    usage = _Usage(running.pid, running.begin)
    stopped = None
    descriptor = os.pidfd_open(running.pid)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not poll.poll(_TICK_MS):
        usage.look()
        if stopped is None and (stopped := _beyond(running, usage, limits)):
            _kill_tree(running.pid)
    wall_s = time.monotonic() - running.begin
    os.close(descriptor)
    _, status, used = os.wait4(running.pid, 0)
    peak = max(usage.peak_bytes, used.ru_maxrss << 10)
    cpu_s = max(usage.cpu_s, used.ru_utime + used.ru_stime)
    return Ended(
        command=running.command,
        status=os.waitstatus_to_exitcode(status),
        out=_tail(running.out),
        err=_tail(running.err),
        wall_s=wall_s,
        cpu_s=cpu_s,
        idle_s=usage.idle_s,
        peak_bytes=peak,
        stopped=stopped or ("memory" if peak > limits.memory_bytes else None),
        left=_left(running.others | set(known)),
    )


def _beyond(running: Running, usage: _Usage, limits: Limits) -> str | None:
    wall_s = time.monotonic() - running.begin
    if usage.peak_bytes > limits.memory_bytes:
        return "memory"
    if usage.cpu_s > limits.seconds:
        return f"busy for {usage.cpu_s:.1f} s"
    if usage.idle_s > limits.seconds:
        return f"idle for {usage.idle_s:.1f} s"
    return f"not done after {wall_s:.0f} s" if wall_s > limits.wall_s else None


class _Usage:
    """Resources of a process and its descendants: CPU time, time in which none of them progressed, and peak memory.

    Idle time is summed from sample to sample, since a process that ends takes its counters along.
    """

    def __init__(self, pid: int, begin: float) -> None:
        self._pid = pid
        self._looked = begin
        self._moved: dict[int, float] = {}
        self.cpu_s = self.idle_s = 0.0
        self.peak_bytes = 0

    def look(self) -> None:
        """Take a sample."""
        now = time.monotonic()
        cpu_s = moved_s = 0.0
        ready = False
        for process in _tree(self._pid):
            with contextlib.suppress(OSError, psutil.Error, ValueError):
                times = process.cpu_times()
                spent_s = times.user + times.system + times.children_user + times.children_system
                cpu_s += spent_s
                moved_s += self._since(process.pid, spent_s + _queued_s(process.pid))
                ready = ready or _is_ready(process.pid)
                self.peak_bytes = max(self.peak_bytes, process.memory_info().rss)
        self.cpu_s = max(self.cpu_s, cpu_s)
        if not ready:
            # This process may have been kept waiting itself: time that it did not observe does not count as idle.
            passed_s = min(now - self._looked, 2 * _TICK_MS / 1000)
            self.idle_s += max(0.0, passed_s - moved_s)
        self._looked = now

    def _since(self, pid: int, moved_s: float) -> float:
        before_s, self._moved[pid] = self._moved.get(pid, 0.0), moved_s
        return max(0.0, moved_s - before_s)


def _queued_s(pid: int) -> float:
    """Time in which the threads of a process were ready without a processor
    (Documentation/scheduler/sched-stats.rst)."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[1]) for path in tasks) / 1e9


def _is_ready(pid: int) -> bool:
    """Whether a thread of a process runs, or waits for a processor or a disk: then the machine is slow."""
    stats = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat"))
    return any(stat.rpartition(")")[2].split()[0] in "RD" for stat in stats)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _kill_tree(pid: int) -> None:
    for process in reversed(_tree(pid)):
        with contextlib.suppress(psutil.Error):
            process.kill()


def kill_below() -> None:
    """Kill all processes that this one has started or adopted."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            process.kill()


def _left(others: Collection[int]) -> list[str]:
    """End processes that still run a while after a command has ended; return them."""
    deadline = time.monotonic() + _GRACE_S
    while found := _orphans(others):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    names = []
    for process in found:
        with contextlib.suppress(psutil.Error):
            names.append(f"{process.pid} {' '.join(process.cmdline())[:200] or process.name()}")
            process.kill()
    return names


def _orphans(others: Collection[int]) -> list[psutil.Process]:
    """Processes under this one, except those that were there before (and their descendants)."""
    reap(others)
    known = {process.pid for other in others for process in _tree(other)}
    return [process for process in psutil.Process().children(recursive=True) if process.pid not in known]


def reap(others: Collection[int] = ()) -> None:
    """Reap adopted processes that have ended, except children that other code waits for."""
    for child in psutil.Process().children():
        if child.pid not in others:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _OUTPUT_BYTES))
        return file.read().decode(errors="replace")

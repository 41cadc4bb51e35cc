"""Execution of a build's programs: confined, in a fixed environment, with all output logged and nothing left running.

The makefiles of a kernel's source, those that a patch changes, and the Kbuild of a module are programs, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

from netwarp.common.agent import AgentError, find_agent
from netwarp.common.scratch import scratch
from netwarp.kernels.errors import BuildFailed, CannotBuild, KernelError

WORK = "netwarp-kernel-"
"""Prefix of a build's directories in TMPDIR."""

# The kernel's build would otherwise take these from the date, the user and the host. With them the same recipe gives
# the same bytes (Documentation/kbuild/reproducible-builds.rst).
_FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "netwarp",
    "KBUILD_BUILD_HOST": "netwarp",
    "KBUILD_BUILD_VERSION": "1",
    # If gcc is ccache, it would write into the home directory.
    "CCACHE_DISABLE": "1",
}
# All other variables are left out: MAKEFLAGS of a make around this one, ARCH, CROSS_COMPILE, KCFLAGS and so on.
_PASSED = ("PATH", "HOME", "TMPDIR")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_ETC = ("/etc/alternatives", "/etc/ld.so.cache")
"""Paths in /etc that a build's programs read and start."""

_TELLING = re.compile(r"error|\*\*\*|undefined reference|No such file|FAILED|No space left", re.IGNORECASE)
_LAST_LINES = 12
LIMIT_S = 1800.0
"""The time limit of commands that read or check out files, which take minutes at most."""


class Log:
    """A runner of commands that keeps their output in a file, which outlives the build only if a command failed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None
        self._keep = False

    def __enter__(self) -> Self:
        self._file = self.path.open("w", encoding="utf-8", errors="replace")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if not self._keep:
            self.path.unlink(missing_ok=True)

    def run(
        self,
        command: list[str],
        directory: Path,
        doing: str,
        on_line: Callable[[str], None] = lambda line: None,
        *,
        read: Iterable[Path] = (),
        write: Iterable[Path] = (),
        links: bool = False,
    ) -> None:
        """Run a command in a directory, confined to it and to the given paths (see `confined`). Raises `BuildFailed`
        with its last errors if it fails, `CannotBuild` if it is missing."""
        lines = [f"$ {' '.join(command)}"]
        self._write(lines[0])

        def take(line: str) -> None:
            lines.append(line)
            self._write(line)
            on_line(line)

        if shutil.which(command[0]) is None:
            raise CannotBuild(
                f"Failed at {doing}: the program `{command[0]}` is not installed. `netwarp doctor` says how to get it."
            )
        with scratch(WORK) as temporary:
            walls = confined((directory, *read), (directory, temporary, *write), links=links)
            status = stream([*walls, *command], directory, temporary, take)
        if status != 0:
            self._keep = True
            lines = [line for line in lines[1:] if _TELLING.search(line)] or lines[1:]
            output = "\n".join(f"  {line.strip()}" for line in lines[-_LAST_LINES:])
            raise BuildFailed(
                f"Failed at {doing}: `{command[0]}` ended with status {status}.\n{output}\nThe full log: {self.path}."
            )

    def _write(self, line: str) -> None:
        assert self._file is not None
        self._file.write(f"{line}\n")


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the build the way Ctrl-C does, with everything cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before: dict[int, Any] = {int(number): signal.getsignal(number) for number in numbers}

    def leave(number: int, frame: FrameType | None) -> None:
        try:
            # The command line's handler stops writing to a terminal that is gone.
            if callable(before[number]):
                before[number](number, frame)
        finally:
            raise SystemExit(128 + number)

    for number in before:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is leave:  # otherwise the handler that was called has replaced it
                signal.signal(number, handler)


def environment() -> dict[str, str]:
    """Return the environment of a build's programs: the variables that the user may pass on, and fixed ones."""
    return {name: os.environ[name] for name in _PASSED if name in os.environ} | _FIXED


def confined(
    read: Iterable[Path],
    write: Iterable[Path],
    *,
    links: bool = False,
    with_parent: bool = False,
    file_bytes: int | None = None,
) -> list[str]:
    """Return the argv prefix that confines a command: it reads and starts only the system's files and those of `read`,
    writes only to `write` (with symbolic links if `links`), and has no network (SECURITY.md). `with_parent`: it
    may do less (SECURITY.md), it ends with all that it started at SIGTERM and when the thread ends that starts it, and
    it writes no file longer than `file_bytes`. Raises KernelError."""
    try:
        agent = find_agent()
    except AgentError as error:
        raise KernelError(str(error)) from error
    system = (Path(name) for name in (*_SYSTEM, *_ETC))
    reads = [word for path in (*filter(Path.exists, system), *read) for word in ("--read", str(path))]
    writes = [word for path in write for word in ("--write", str(path))]
    options = [*(["--links"] if links else []), *(["--with-parent"] if with_parent else [])]
    options += [] if file_bytes is None else ["--file-bytes", str(file_bytes)]
    return [str(agent), "confine", *reads, *writes, *options, "--"]


def read_built(command: list[str], built: Path, *more: str, write: Iterable[Path] = ()) -> str:
    """Return the output of a program of binutils about a file that a build has made. The program is confined, because
    the file may be crafted to attack it. Raises KernelError."""
    words = [*confined((built,), write), *command, str(built), *more]
    complaint = ""
    try:
        done = collect(words, environment())
        if done.returncode == 0:
            return done.stdout.decode(errors="replace")
        complaint = done.stderr.decode(errors="replace").strip() or f"it ended with status {done.returncode}"
    except (OSError, subprocess.SubprocessError) as error:
        complaint = str(error)
    raise KernelError(f"{command[0]} (binutils) cannot read {built.name}, which the build made: {complaint}")


def collect(
    command: list[str], environ: dict[str, str], limit_s: float = LIMIT_S
) -> subprocess.CompletedProcess[bytes]:
    """Run a command, and return its output and status. It has a time limit, and ends with its process group, as in
    `stream`."""
    with tempfile.TemporaryFile() as complaint:
        with _group(command, limit_s, env=environ, stderr=complaint) as process:
            assert process.stdout is not None
            output = process.stdout.read()
        complaint.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, output, complaint.read())


def stream(
    command: list[str],
    directory: Path,
    temporary: Path,
    on_line: Callable[[str], None],
    limit_s: float = threading.TIMEOUT_MAX,
) -> int:
    """Run a command in a new process group, all of which ends with this call; return its exit status.

    Raises `subprocess.TimeoutExpired` after the limit."""
    environ = environment() | {"TMPDIR": str(temporary)}
    with _group(command, limit_s, cwd=directory, env=environ, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        with io.TextIOWrapper(process.stdout, errors="replace") as output:
            for line in output:
                on_line(line.rstrip("\n"))
    return process.returncode


@contextlib.contextmanager
def _group(command: list[str], limit_s: float, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a new process group, and end the group with it: a background process would hold its output
    open. Raises `subprocess.TimeoutExpired` after the limit."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, process_group=0, **options)

    def kill() -> None:
        # The group's number is not reused until the process is waited for.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def follow() -> None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        kill()

    clock = threading.Timer(limit_s, kill)
    follower = threading.Thread(target=follow, daemon=True)
    clock.daemon = True
    begin = time.monotonic()
    try:
        clock.start()
        follower.start()
        yield process
        follower.join()
    finally:
        clock.cancel()
        kill()
        for thread in (clock, follower):
            if thread.ident is not None:
                thread.join()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    if process.returncode == -signal.SIGKILL and time.monotonic() - begin >= limit_s:
        raise subprocess.TimeoutExpired(command, limit_s)

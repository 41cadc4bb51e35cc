"""Running the programs of a build: a fixed environment, everything logged, nothing left running."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, NoReturn, Self

from netwarp.kernels.errors import BuildFailed, CannotBuild

# What the kernel's build would otherwise take from the day, the user and the host; the same recipe gives the same
# bytes (Documentation/kbuild/reproducible-builds.rst).
_FIXED = {
    "LC_ALL": "C",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "netwarp",
    "KBUILD_BUILD_HOST": "netwarp",
    "KBUILD_BUILD_VERSION": "1",
}
# All else stays outside: MAKEFLAGS of a make around this one, ARCH, CROSS_COMPILE, KCFLAGS and their like.
_PASSED = ("PATH", "HOME", "TMPDIR")

_TELLING = re.compile(r"error|\*\*\*|undefined reference|No such file|FAILED|No space left", re.IGNORECASE)
_LAST_LINES = 12


class Log:
    """Runs commands and keeps what they print in a file, which outlives the build only when a command failed."""

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
        self, command: list[str], directory: Path, doing: str, on_line: Callable[[str], None] = lambda line: None
    ) -> None:
        """Run a command in a directory; raises `BuildFailed` with its last errors when it fails, `CannotBuild`
        if it is missing."""
        lines = [f"$ {' '.join(command)}"]
        self._write(lines[0])

        def take(line: str) -> None:
            lines.append(line)
            self._write(line)
            on_line(line)

        try:
            status = _stream(command, directory, take)
        except FileNotFoundError as error:
            raise CannotBuild(
                f"Failed at {doing}: the program `{command[0]}` is not installed. `netwarp doctor` says how to get it."
            ) from error
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

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def environment() -> dict[str, str]:
    """What the programs of a build see of the environment of who runs netwarp, and what is the same for all."""
    return {name: os.environ[name] for name in _PASSED if name in os.environ} | _FIXED


def _stream(command: list[str], directory: Path, on_line: Callable[[str], None]) -> int:
    """Run a command in a process group of its own, which does not survive this call; return its exit status."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    assert process.stdout is not None
    try:
        with process.stdout as output:
            for line in output:
                on_line(line.rstrip("\n"))
        return process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise

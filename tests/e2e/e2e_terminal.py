"""A person at a terminal: a pseudo-terminal with `netwarp` at its other end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from e2e_command import NETWARP, environment

PATIENCE_S = 120.0


class Person:
    """Starts a command at a terminal, reads its output and types; a context manager that ends it."""

    def __init__(self, *words: str | Path, cwd: Path, size: tuple[int, int] = (24, 80), env: Mapping[str, str] = {}):
        """`size` is the terminal's, in rows and columns."""
        self.seen = ""
        self.code: int | None = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(NETWARP, [str(NETWARP), *map(str, words)], environment({"TERM": "xterm", **env}))
        self.resize(*size)

    def __enter__(self) -> Person:
        """Start the command at the terminal."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.terminal)

    def resize(self, rows: int, columns: int) -> None:
        """Resize the terminal."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.terminal, keys.encode())

    def read_until(self, pattern: str) -> re.Match[str]:
        """Wait for a match in the unread output, and return it."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.terminal], [], [], 1.0)[0]:
                self.seen += os.read(self.terminal, 1 << 16).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found

    def settings(self) -> object:
        """The terminal's modes."""
        return termios.tcgetattr(self.terminal)[:4]

    def wait(self) -> int:
        """Read to the end; return the exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                while not select.select([self.terminal], [], [], 1.0)[0]:
                    assert time.monotonic() < deadline, f"it does not end: {self.seen!r}"
                if not (got := os.read(self.terminal, 1 << 16)):
                    break
            except OSError:  # the other end is closed
                break
            self.seen += got.decode(errors="replace")
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

"""The real command as a child process, and what is left of it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NETWARP = Path(sys.executable).parent / "netwarp"
PATIENCE_S = 300.0
"""A hang must end the tests; nothing that works comes near it."""


@dataclass(frozen=True)
class Answer:
    """What a command said, and its exit code (negative: the signal that killed it)."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Standard error as one line: messages are for people, wrapped or not."""
        return " ".join(self.err.split())


def netwarp(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Answer:
    """Run `netwarp` with arguments, with `env` added to the environment and behind a `prefix` (setpriv, prlimit …)."""
    done = subprocess.run(
        [*prefix, str(NETWARP), *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def start(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """`netwarp` in the background."""
    return subprocess.Popen(
        [str(NETWARP), *map(str, arguments)],
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would colour the output, and with `added`."""
    plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    return plain | {"NO_COLOR": "1", "COLUMNS": "200"} | dict(added or {})


def processes_in(directory: Path) -> list[int]:
    """The ids of processes that name this directory on their command line or work in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if str(directory) in command or place.is_relative_to(directory):
            found.append(int(process.name))
    return sorted(set(found) - {os.getpid()})


def wait_until_gone(directory: Path, seconds: float) -> list[int]:
    """Wait until no process has to do with `directory`; the ids of those that still have after `seconds`."""
    deadline = time.monotonic() + seconds
    while (left := processes_in(directory)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def wait_for(directory: Path, pattern: str, seconds: float = 60.0) -> Path:
    """Wait until a file matches `pattern` under `directory`, with something in it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for path in directory.glob(pattern):
            if path.stat().st_size > 0:
                return path
        time.sleep(0.02)
    raise AssertionError(f"no {pattern} in {directory} after {seconds} s")

"""The real command as a child process, its results, and its remaining processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e_forks import forks
from e2e_scenarios import BULK, dumbbell

NETWARP = Path(sys.executable).parent / "netwarp"
PATIENCE_S = 300.0
"""A hang must end the tests; no working command comes near this."""


@dataclass(frozen=True)
class Answer:
    """A command's output, and its exit code (negative: the signal that killed it)."""

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
    """Run `netwarp` with arguments, with `env` added to the environment and behind a `prefix` (setpriv, prlimit …).

    With either of them it is a new process, otherwise a fork, which need not load netwarp (e2e_forks.py).
    """
    argv = [*prefix, str(NETWARP), *map(str, arguments)]
    if env is None and not prefix:
        done = forks().run(argv, environment(), cwd, PATIENCE_S)
    else:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=environment(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    return Answer(done.returncode, done.stdout, done.stderr)


def succeed(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
    """Run `netwarp` and require success."""
    answer = netwarp(*arguments, cwd=cwd, env=env)
    assert answer.code == 0, answer.err + answer.out
    return answer


def start(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `netwarp` in the background, in a new process group."""
    return subprocess.Popen(
        [str(NETWARP), *map(str, arguments)],
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def environment(added: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without variables that colour the output, and with `added`."""
    plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    return plain | {"NO_COLOR": "1", "COLUMNS": "200"} | dict(added or {})


def write_scenario(
    path: Path,
    queues: Sequence[str] = ("pfifo limit 20", "pfifo limit 40"),
    duration: str = "5s",
    more: str = "",
    flows: str = "",
) -> Path:
    """A scenario file of one flow through a bottleneck, swept over queues: a run takes about a second."""
    sweep = f'[sweep]\n"links.bottleneck.queue" = {json.dumps(list(queues))}\n{more}'
    path.write_text(dumbbell(duration=duration, flows=BULK + flows, tail=sweep, name="short"))
    return path


def digests(result: Path) -> dict[str, Any]:
    """The digests of every finished run, by the run's id."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(result.glob("runs/*/digests.json"))}


def times(result: Path) -> dict[str, int]:
    """The time at which each file of each finished run was last written, in ns."""
    files = [path for run in finished(result) for path in (result / "runs" / run).rglob("*") if path.is_file()]
    return {str(path.relative_to(result)): path.stat().st_mtime_ns for path in files}


def finished(result: Path) -> list[str]:
    """The ids of the finished runs."""
    return sorted(path.name for path in result.glob("runs/*") if not path.name.endswith(".part"))


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
    """Wait until no process names `directory` or works in it; return the ids of those that still do after `seconds`."""
    deadline = time.monotonic() + seconds
    while (left := processes_in(directory)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until the condition holds; fail if it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def wait_for(directory: Path, pattern: str, seconds: float = 60.0) -> Path:
    """Wait until a non-empty file matches `pattern` under `directory`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for path in directory.glob(pattern):
            if path.stat().st_size > 0:
                return path
        time.sleep(0.02)
    raise AssertionError(f"no {pattern} in {directory} after {seconds} s")

"""Running the real command: `netwarp` in processes of its own, on the real kernel."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e_runs import pytest_configure, runs  # noqa: F401 found by pytest
from e2e_scenarios import BULK, dumbbell

COMMAND = [sys.executable, str(Path(sys.executable).parent / "netwarp")]
LIMIT_S = 300


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


def netwarp(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command to its end, with `env` added to the environment."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=os.environ | {"COLUMNS": "200"} | dict(env or {}),
    )


def succeed(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command and demand that all is well."""
    done = netwarp(*arguments, cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def digests(result: Path) -> dict[str, Any]:
    """The digests of every finished run, by the run's id."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(result.glob("runs/*/digests.json"))}


def times(result: Path) -> dict[str, int]:
    """When each file of each finished run was last written, in ns."""
    files = [path for path in result.glob("runs/*/**/*") if path.is_file() and ".part" not in str(path)]
    return {str(path.relative_to(result)): path.stat().st_mtime_ns for path in files}


def finished(result: Path) -> list[str]:
    """The ids of the runs that are finished."""
    return sorted(path.name for path in result.glob("runs/*") if not path.name.endswith(".part"))


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until the condition holds; fail if it does not come to that."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start the command in the background; what still runs at the end of the test is killed, by its process group."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

"""Runs on Dask workers, compared with the local pool."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import scenarios
from bench.command import timed
from bench.row import Row, measure

COUNT = 100
DASK = str(Path(sys.executable).parent / "dask")
_PATIENCE_S = 60


@measure
def cluster(place: Path) -> Iterator[Row]:
    """Compare two workers of one thread each on this machine with two local jobs, in turn, since a machine's speed
    drifts."""
    scenario = scenarios.ten_megabits(seeds=COUNT)
    seconds = {"two Dask workers": 0.0, "two local jobs": 0.0}
    with _workers(place, 2) as address:
        how = {"two Dask workers": ("--dask", address), "two local jobs": ("-j", "2")}
        for turn, name in enumerate((*seconds, *reversed(seconds))):
            seconds[name] += timed(scenario, place / f"{turn}", "--no-plots", *how[name]).seconds
    for name, taken in seconds.items():
        yield Row(f"2 × {COUNT} runs of 60 s at 10 Mbit/s, {name}", 2 * COUNT / taken * 60, unit="runs/min")
    there, here = seconds.values()
    yield Row("  Dask over local", here / there, 0.9, unit="×", more_is_better=True)


@contextlib.contextmanager
def _workers(place: Path, count: int) -> Iterator[str]:
    """The address of a scheduler with `count` workers."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    with contextlib.ExitStack() as stack:
        _start(stack, place / "scheduler.log", [DASK, "scheduler", "--port", "0", *common])
        _wait_for(file, "address")
        for number in range(count):
            log = place / f"{number}.log"
            _start(stack, log, [DASK, "worker", "--nthreads", "1", "--local-directory", str(place), *common])
            _wait_for(log, "Registered to")
        yield str(json.loads(file.read_text())["address"])


def _start(stack: contextlib.ExitStack, log: Path, command: list[str]) -> None:
    file = stack.enter_context(log.open("wb"))
    process = stack.enter_context(subprocess.Popen(command, stdout=file, stderr=file))
    stack.callback(process.terminate)


def _wait_for(file: Path, text: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not file.exists() or text not in file.read_text():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{file.name} never said {text}")
        time.sleep(0.1)

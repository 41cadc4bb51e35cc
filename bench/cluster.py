"""Runs on Dask workers, beside the local pool."""

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

COUNT = 40
DASK = str(Path(sys.executable).parent / "dask")
_PATIENCE_S = 60


@measure
def cluster(place: Path) -> Iterator[Row]:
    """Two workers of one thread each on this machine against two local jobs."""
    scenario = scenarios.ten_megabits(seeds=COUNT)
    with _workers(place, 2) as address:
        there = timed(scenario, place / "there", "--no-plots", "--dask", address)
    here = timed(scenario, place / "here", "--no-plots", "-j", "2")
    rates = {"two Dask workers": COUNT / there.seconds * 60, "two local jobs": COUNT / here.seconds * 60}
    for name, rate in rates.items():
        yield Row(f"{COUNT} runs of 60 s at 10 Mbit/s, {name}", rate, unit="runs/min")
    yield Row("  Dask over local", here.seconds / there.seconds, 0.9, unit="×", more_is_better=True)


@contextlib.contextmanager
def _workers(place: Path, count: int) -> Iterator[str]:
    """The address of a scheduler that has so many workers."""
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

"""Costs of `netwarp exec`: a Mininet script, the start of a machine, the start of a program in it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import netwarp
from netwarp.store.result import open_result

from bench.command import NETWARP, children_cpu_s, clocked
from bench.row import Row, measure

MININET = Path(__file__).parents[1] / "tests/e2e/mininet_lab"
PYTHON = "/usr/bin/python3"
STARTS = 20
REPEATS = 5


@measure
def mininet(place: Path) -> Iterator[Row]:
    """The Mininet script of the tests: a ping, then 20 s of iperf3 at 10 Mbit/s. Mininet starts some fifty programs
    before anything is sent; what a second of traffic costs is the difference from a script with 2 s of it."""
    facts = []
    for traffic_s in (2, 20):
        _make(place / str(traffic_s), PYTHON, str(MININET), str(traffic_s))
        facts.append(_facts(place / str(traffic_s)))
    short, long = facts
    virtual_s, further_s = long["duration_ns"] / 1e9, (long["duration_ns"] - short["duration_ns"]) / 1e9
    name = "exec: a Mininet script of 22 s, real seconds a virtual one"
    yield Row(name, long["real_s"] / virtual_s, 0.15, "s/s", cpu_s=long["cpu_s"])
    yield Row("  each further second, of a CPU", (long["cpu_s"] - short["cpu_s"]) / further_s, 0.15, "s/s")


@measure
def first_instruction(place: Path) -> Iterator[Row]:
    """Time from the command line to the command's first output, with compiled bytecode as in an installation."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(Path(netwarp.__file__).parent)], check=True)
    measured = [_first_output_s(place / str(number)) for number in range(REPEATS)]
    facts = _facts(place / "0")
    yield Row("exec: from the command line to the first output", median(measured), 0.3)
    yield Row("  the machine alone, boot to power-off", facts["real_s"], 0.3, cpu_s=facts["cpu_s"])


@measure
def python_start(place: Path) -> Iterator[Row]:
    """CPU seconds of Python's start in the guest and on the host: the median of pairs, as both vary by a tenth."""
    pairs = [_python_starts_s(place / str(number)) for number in range(REPEATS)]
    ratio = median(guest_s / host_s for guest_s, host_s in pairs)
    cpu_s = median(guest_s for guest_s, _ in pairs)
    yield Row("exec: a start of Python, guest / host", ratio, 2.5, "×", cpu_s=cpu_s)


def _python_starts_s(place: Path) -> tuple[float, float]:
    """CPU seconds of a start in the guest and, immediately afterwards, on the host."""
    script = f"for i in $(seq {STARTS}); do {PYTHON} -c pass; done"
    _make(place / "none", "sh", "-c", "true")
    _make(place / "starts", "sh", "-c", script)
    guest_s = _facts(place / "starts")["cpu_s"] - _facts(place / "none")["cpu_s"]
    before = children_cpu_s()
    subprocess.run(["sh", "-c", script], check=True)
    return guest_s / STARTS, (children_cpu_s() - before) / STARTS


def _make(place: Path, *words: str) -> None:
    clocked("exec", "-o", str(place), "--", *words)


def _facts(place: Path) -> dict[str, float]:
    """Facts about the only run of a result."""
    result = open_result(place)
    facts: dict[str, float] = result.run(result.planned[0].id).status()
    return facts


def _first_output_s(place: Path) -> float:
    command: Sequence[str] = (str(NETWARP), "exec", "-o", str(place), "--", "echo", "x")
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.read(1)
        return time.perf_counter() - begin

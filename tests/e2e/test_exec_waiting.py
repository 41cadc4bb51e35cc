"""Programs that wait by computing: provable repetition gives way, and other computing does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e_command import Answer, digests, netwarp
from e2e_compile import compiled

MS = 10**6
LATE_NS = 10_000
"""A wait is exact; the awaited program sleeps a nanosecond longer each time (the first clock readings are free)."""
WAITS = {
    "flag 1000000": MS,
    "floats 1000000": MS,
    "exchange 1000000": MS,
    "back-off 1000000": MS,
    "alarm 2000000000": 2000 * MS,
    "spinlock": 3 * MS,
    "turns": 20 * MS,
    "neighbours": 5 * MS,
}
"""How a program waits, and for how long."""


@pytest.fixture(scope="module")
def computes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("computes")
    return compiled(Path(__file__).with_name("computes.c"), folder / "computes", "-pthread")


def execute(folder: Path, name: str, script: str, *options: str) -> Answer:
    return netwarp("exec", *options, "-o", folder / name, "--", "sh", "-c", script, cwd=folder)


def test_what_provably_waits_gives_way_and_repeats(tmp_path: Path, computes: Path) -> None:
    """To a peer, to another thread, and for a signal; the same under load, where it is checked elsewhere."""
    script = "; ".join(f"{computes} {kind}" for kind in WAITS)
    quiet = execute(tmp_path, "quiet", script)
    assert quiet.code == 0, quiet.err
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        loaded = execute(tmp_path, "loaded", script)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert loaded.out == quiet.out
    assert digests(tmp_path / "loaded") == digests(tmp_path / "quiet")
    waited = dict(zip(WAITS, map(int, quiet.out.split()), strict=True))
    late = {kind: waited[kind] - ns for kind, ns in WAITS.items()}
    assert all(0 <= ns <= LATE_NS for ns in late.values()), late


def test_what_computes_is_not_interrupted(tmp_path: Path, computes: Path) -> None:
    """A peer that could run has not run when it is done, and no time has passed."""
    answer = execute(tmp_path, "result", f"{computes} primes 2000000")
    assert answer.out == "148933 0 0\n", answer.err


@pytest.mark.nightly
def test_what_counts_how_often_it_has_asked_is_not_proven(tmp_path: Path, computes: Path) -> None:
    script = f"{computes} nobody & sleep 0.001; {computes} counts 1000000"
    answer = execute(tmp_path, "result", script, "--time-limit", "50s")
    assert answer.code == 3
    assert "a program computed for 5 s without a system call" in answer.words
    # Whether the count is in a register depends on where it was stopped.
    assert "it is not proven to wait: when it was looked at, its registers" in answer.words
    assert "these wait by computing: computes (pid " in answer.words


def test_who_waits_for_nothing_is_named_at_the_end(tmp_path: Path, computes: Path) -> None:
    answer = execute(tmp_path, "result", f"exec {computes} nobody", "--timeout", "10s")
    assert answer.code == 3
    assert "it waits for something that does not come" in answer.words
    assert "computes" in answer.words

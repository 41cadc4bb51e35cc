"""Signals of other processes on the host to those of a run do not change bytes. `make nightly` tries 40 of each
kind."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from e2e_nights import parameters

from bench.kills import KINDS, SCENARIO, Blow, S, blows, strike
from bench.repeats import run_once

TRIES = 2
FEW = ("kill", "stop", "term")
"""Signals that end a process at once, let it wait, or let it clean up; `make nightly` has all."""
CHILDREN = ("ptraced_child", "check_ptrace")
"""The kernel's functions that report a missing child of its start: Linux 6.12, 6.1."""


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, str], float]:
    """The bytes of an undisturbed run, and its duration in seconds."""
    begin = time.monotonic()
    found = run_once(SCENARIO, tmp_path_factory.mktemp("usual") / "run")
    return found, time.monotonic() - begin


@pytest.mark.parametrize("kind", parameters(KINDS, lambda kind: kind not in FEW))
def test_a_run_that_is_struck_fails_with_a_reason_or_is_the_same(
    usual: tuple[Mapping[str, str], float], tmp_path: Path, kind: str
) -> None:
    expected, life_s = usual
    for number, blow in enumerate(blows(kind, TRIES, life_s / 2)):
        fate = strike(blow, expected, tmp_path / str(number))
        assert not fate.wrong, f"{blow}: {fate}"
        if kind == "stop":
            assert fate.status == "ok", f"{blow}: {fate}"


def test_a_killed_program_fails_the_run_and_says_what_may_have_killed_it(
    usual: tuple[Mapping[str, str], float], tmp_path: Path
) -> None:
    """The agent is the first of the programs, and needed to the end.

    Before it there are children by which the kernel learns what the host can do, and the registers of a new process.
    """
    for number in range(10):
        fate = strike(Blow((S.SIGKILL,), "program", number * 0.02), usual[0], tmp_path / str(number))
        assert not fate.wrong, fate
        if fate.status == "failed" and not any(name in fate.reason for name in CHILDREN):
            break
    assert fate.status == "failed"
    assert "the host killed a process of the machine with signal 9" in fate.reason
    assert "OOM killer" in fate.reason
    assert "-j" in fate.reason

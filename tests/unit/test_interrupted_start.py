"""A signal while the command loads its modules ends it as a later one does: with 130 and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SITE = """
import os, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT_MODULE"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), int(os.environ["WITH_SIGNAL"]))

sys.meta_path.insert(0, Interrupting())
"""
"""Sends the process a signal at the moment when it begins to load a module."""

HEEDING = ("env", "--default-signal")
"""Without what the tests themselves ignore, under nohup for example."""
SCRIPT = Path(sys.executable).with_name("netwarp")
MODULES = ("netwarp.cli", "cyclopts", "netwarp.cli.scenarios", "netwarp.common.terminal")
"""The first module loaded after `netwarp.__main__`, the parser, the command's own, and one that the command loads."""


def start(tmp_path: Path, command: Sequence[str | Path], module: str, number: int) -> subprocess.CompletedProcess[str]:
    (tmp_path / "sitecustomize.py").write_text(SITE)
    environment = {"PYTHONPATH": str(tmp_path), "AT_MODULE": module, "WITH_SIGNAL": str(int(number))}
    words = [*command, "list"]
    return subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("module", MODULES)
def test_a_signal_at_the_start_ends_the_command(module: str, number: signal.Signals, tmp_path: Path) -> None:
    done = start(tmp_path, [*HEEDING, SCRIPT], module, number)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_signal_at_the_start_ends_the_module(tmp_path: Path) -> None:
    done = start(tmp_path, [*HEEDING, sys.executable, "-m", "netwarp"], MODULES[0], signal.SIGINT)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.slow
def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """A shell without job control starts background jobs with SIGINT ignored."""
    ignoring = ["env", "--ignore-signal=INT", sys.executable, "-m", "netwarp"]
    assert start(tmp_path, ignoring, "cyclopts", signal.SIGINT).returncode == 0

"""Fixtures of all end-to-end tests."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e_browser import browser  # noqa: F401 found by pytest
from e2e_command import start as start_command
from e2e_runs import pytest_addoption, pytest_configure, runs  # noqa: F401 found by pytest


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start the command in the background; processes still running at the test's end are killed, by their process
    group."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path) -> "subprocess.Popen[str]":
        started.append(start_command(*arguments))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

"""Fixtures of all end-to-end tests."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e_command import start as start_command
from e2e_runs import pytest_addoption, pytest_configure, runs  # noqa: F401 found by pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


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


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A browser that opens pages as users do."""
    from playwright.sync_api import sync_playwright  # few tests need it

    chromium = shutil.which("chromium")
    assert chromium, "these tests need Debian's chromium (`make packages`)"
    with sync_playwright() as playwright:
        # Chromium's own sandbox refuses to work as root.
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()

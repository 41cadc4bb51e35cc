"""A browser for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that opens pages as users do."""
    from playwright.sync_api import sync_playwright  # few tests need it

    chromium = shutil.which("chromium")
    assert chromium, "these tests need Debian's chromium (`make packages`)"
    with sync_playwright() as playwright:
        # Chromium's own sandbox refuses to work as root.
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()

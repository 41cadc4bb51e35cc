"""Settings of the unit tests."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_flushing() -> Iterator[None]:
    """Files of these tests need not survive a power failure: waiting for the disk takes longer than many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield

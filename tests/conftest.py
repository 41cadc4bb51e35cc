"""Settings of all tests."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("quick", settings.get_profile("ci"), max_examples=25)  # of `make quick`: a quarter


@pytest.fixture(scope="session", autouse=True)
def no_flushing() -> Iterator[None]:
    """Files of tests need not survive a power failure: waiting for the disk takes longer than many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


# The modules and the collected tests stay until the end: garbage collection would visit them thousands of times.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on, collect only garbage that the tests make."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()

"""Settings of all tests."""

import gc


def pytest_collection_finish() -> None:
    """Keep the modules and the collected tests out of garbage collection, which would visit them thousands of times."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)

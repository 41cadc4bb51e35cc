"""The memory of this process."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from netwarp.analysis.memory import keep_unused, return_unused


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon"))


def test_freed_memory_between_what_is_used_is_returned() -> None:
    blocks = [b"x" * 100_000 for _ in range(1000)]
    kept = blocks[::10]
    blocks.clear()
    before = _resident_mb()
    return_unused()
    assert before - _resident_mb() > 60, "90 MB were freed"
    assert len(kept) == 100


def test_memory_that_is_kept_costs_no_page_faults() -> None:
    """In a separate process, since the C library cannot be set back."""
    code = f"from {__name__} import print_faults; print_faults()"
    output = subprocess.run(
        (sys.executable, "-c", code), cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    ).stdout
    before, after = map(int, output.split())
    assert before > 10 * after


def print_faults() -> None:
    """Print the page faults of arrays before and after the setting."""
    before = _faults_of_arrays()
    keep_unused()
    print(before, _faults_of_arrays())


def _faults_of_arrays() -> int:
    """The page faults of a hundred arrays of 40 MB in all, each made once the one before is freed."""

    def faults() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    _ = np.ones(50_000)  # the first is new in any case
    before = faults()
    for _ in range(100):
        _ = np.ones(50_000)
    return faults() - before

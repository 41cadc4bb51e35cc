"""The memory of this process."""

from pathlib import Path

from netwarp.analysis.memory import return_unused


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

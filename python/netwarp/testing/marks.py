"""The mark of tests that run in a machine, and their seeds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

MARK = "netwarp"
SEED = "netwarp_seed"
"""The fixture, and so the parameter, that holds the seed of a test's machine."""


def seeds_of(text: str | None) -> tuple[int, ...]:
    """Parse `3` (the seeds 1 to 3) or `1,5`. Raises UsageError."""
    try:
        numbers = tuple(int(part) for part in (text or "1,").split(",") if part)
    except ValueError:
        numbers = ()
    is_count = bool(text) and "," not in str(text)
    if not numbers or min(numbers) < is_count or len(set(numbers)) < len(numbers):
        raise pytest.UsageError(f'--netwarp-seeds is a number of seeds such as 3, or seeds such as 1,5, not "{text}"')
    return tuple(range(1, numbers[0] + 1)) if is_count else numbers


def seeds_for(config: pytest.Config, mark: pytest.Mark | None) -> Sequence[int]:
    """The seeds of a test: its mark's, or those of the command line."""
    given = mark.kwargs.get("seeds") if mark else None
    if given is None:
        return seeds_of(config.getoption("--netwarp-seeds"))
    return range(1, given + 1) if isinstance(given, int) else tuple(given)

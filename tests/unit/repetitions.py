"""Tests that repeat the same check with many seeds: a few repetitions in `make quick`, all of them in `make test`."""

from __future__ import annotations

from typing import Any

import pytest

QUICK = 8


def repeated(count: int) -> list[Any]:
    """Seeds from 0 to `count` - 1 as parameters of a test; those from `QUICK` on are marked slow."""
    return [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(count)]

"""Random numbers that depend on names, not on order, so that variants of an experiment share them."""

from __future__ import annotations

import hashlib

_BITS = 64


def seed_for(*parts: object) -> int:
    """A 63-bit seed for the object that these parts name, such as (seed, link, direction)."""
    return _hash(parts) & (2**63 - 1)


def draw_below(limit: int, *parts: object) -> int:
    """A whole number, uniform over [0, limit), for the object that these parts name; 0 if `limit` is 0."""
    return _hash(parts) * limit >> _BITS


def _hash(parts: tuple[object, ...]) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[: _BITS // 8], "big")

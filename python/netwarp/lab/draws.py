"""Random numbers that depend on names, not on order, so that variants of an experiment share them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

from netwarp.flows.transfer_size import WEB_SHAPE, TransferSize
from netwarp.values.fields import Distribution
from netwarp.values.units import MAX_SIZE_BYTES

_BITS = 64


def seed_for(*parts: object) -> int:
    """A 63-bit seed for the object that these parts name, such as (seed, link, direction)."""
    return _hash(parts) & (2**63 - 1)


def draw_below(limit: int, *parts: object) -> int:
    """A whole number, uniform over [0, limit), for the object that these parts name; 0 if `limit` is 0."""
    return _hash(parts) * limit >> _BITS


def draw_from(value: Distribution | TransferSize, *parts: object) -> int:
    """A whole number from this distribution for the object that these parts name, at least 1: by the inverse of its
    distribution function."""
    share = (_hash(parts) + 0.5) / 2**_BITS
    match value.distribution:
        case "exponential":
            drawn = -value.mean * math.log(share)
        case "pareto":
            shape = getattr(value, "shape", WEB_SHAPE)
            drawn = value.mean * (1 - 1 / shape) * share ** (-1 / shape)
        case "lognormal":
            assert isinstance(value, TransferSize)
            middle = math.log(value.mean) - value.shape**2 / 2  # of the logarithm, so that the mean is `mean`
            drawn = math.exp(NormalDist(middle, value.shape).inv_cdf(share)) if value.shape else value.mean
        case "empirical":
            assert isinstance(value, TransferSize)
            drawn = _interpolated(share, value.cdf)
        case _:
            drawn = value.mean
    return max(1, min(round(drawn), MAX_SIZE_BYTES))


def _interpolated(share: float, points: Sequence[tuple[int, float]]) -> float:
    """The size that this share of all do not exceed: linear between the points; the first share all has its size."""
    for (low, below), (high, above) in pairwise(points):
        if below < share <= above:
            return low + (high - low) * (share - below) / (above - below)
    return points[0][0]


def _hash(parts: tuple[object, ...]) -> int:
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[: _BITS // 8], "big")

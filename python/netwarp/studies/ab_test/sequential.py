"""Looks at an experiment before its end: how much of the error each may spend, and the bounds that follow.

The two-sided probability of a false alarm, α, is spent as information grows, by K. K. G. Lan and D. L. DeMets (Discrete
sequential boundaries for clinical trials, Biometrika 70, 1983) with their spending function that resembles the bounds
of P. C. O'Brien and T. R. Fleming (Biometrics 35, 1979), half of α for either side: α*(t) = 4 − 4 Φ(z_{1−α/4} / √t).
Neither the number of looks nor their times need to be known in advance, as long as they do not depend on the effect
that earlier looks showed.

The bounds follow from the recursion of P. Armitage, C. K. McPherson and B. C. Rowe (JRSS A 132, 1969): the score
B(t) = Z(t) √t has independent normal increments of variance t_k − t_{k−1}, and θ t is its mean if the effect is θ
standard errors at t = 1. Information is 1 / SE²; t is the share of the planned amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import erfc, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

_NORMAL = NormalDist()
_POINTS = 201
"""Points of the grid between two bounds: with more, no bound changes in its fourth decimal."""
_MOST = 8.2
"""A bound of this many standard deviations has a tail below 10⁻¹⁵, less than a float64 can subtract from 1."""


def tail(z: float) -> float:
    """1 − Φ(z), also where it is far less than the difference of 1 and the next float64."""
    return erfc(z / sqrt(2)) / 2


_tails = np.vectorize(tail, otypes=[np.float64])


def spent(share: float, alpha: float) -> float:
    """The error that may have been spent when this share of the planned information has come, at most `alpha`."""
    if share <= 0:
        return 0.0
    return min(4 * tail(_NORMAL.inv_cdf(1 - alpha / 4) / sqrt(min(share, 1.0))), alpha)


def bounds(shares: Sequence[float], alpha: float) -> list[float]:
    """The bounds of |Z| at looks with these shares of the planned information, which must increase.

    A share may exceed 1 if more came than was planned; nothing is left to spend after the first that does, and its
    bound is infinite then. Raises ValueError unless the shares are positive and increase.
    """
    return list(_followed(tuple(shares), alpha)[0])


@lru_cache(maxsize=256)
def _followed(shares: tuple[float, ...], alpha: float) -> tuple[tuple[float, ...], _Score]:
    """The bounds of looks, and the score of experiments that none has stopped."""
    if not shares:
        return (), _Score()
    found, score = _followed(shares[:-1], alpha)
    room = spent(shares[-1], alpha) - (spent(shares[-2], alpha) if found else 0.0)
    here = score.at(shares[-1])
    bound = here.bound(room) if room > 0 else float("inf")
    return (*found, bound), here.within(bound)


def power(shares: Sequence[float], limits: Sequence[float], drift: float) -> float:
    """The probability that |Z| exceeds a bound at any look, if E Z = `drift` √t."""
    score, found = _Score(drift), 0.0
    for share, limit in zip(shares, limits, strict=True):
        here = score.at(share)
        found += here.outside(limit)
        score = here.within(limit)
    return found


def inflation(looks: int, alpha: float, wanted: float) -> float:
    """The factor by which `looks` equally spaced looks increase the information that a single one would need.

    C. Jennison, B. W. Turnbull: Group Sequential Methods (2000), section 2.2.3 calls it R.
    """
    if looks == 1:
        return 1.0
    shares = [(look + 1) / looks for look in range(looks)]
    limits = bounds(shares, alpha)
    single = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(wanted)
    low, high = single, 2 * single
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if power(shares, limits, middle) >= wanted else (middle, high)
    return (high / single) ** 2


@dataclass(frozen=True, eq=False)
class _Score:
    """The sub-density of B(t) among experiments that no look has stopped, at the share of the last look, on a grid.

    `weights` are the density times the widths of the grid's cells; `step` is the information since, at a new look.
    """

    drift: float = 0.0
    share: float = 0.0
    step: float = 0.0
    grid: Numbers = field(default_factory=lambda: np.zeros(1))
    weights: Numbers = field(default_factory=lambda: np.ones(1))

    def at(self, share: float) -> _Score:
        """The next look, before it stops any experiment. Raises ValueError unless it comes later."""
        if not share > self.share:
            raise ValueError(f"a look must have more information than the one before: {share} after {self.share}")
        return replace(self, share=share, step=share - self.share)

    def outside(self, limit: float) -> float:
        """The probability of |Z| ≥ `limit` at this look."""
        far, scale, mean = limit * sqrt(self.share), sqrt(self.step), self.grid + self.drift * self.step
        tails = _tails((far - mean) / scale) + _tails((far + mean) / scale)
        return float(self.weights @ tails)

    def bound(self, room: float) -> float:
        """The limit beyond which this look has the probability `room`, at most the largest that is distinguished."""
        low, high = 0.0, _MOST
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.outside(middle) > room else (low, middle)
        return high

    def within(self, limit: float) -> _Score:
        """The experiments that this look does not stop."""
        reach = min(limit, _MOST) * sqrt(self.share)
        centre = self.drift * self.share if limit == float("inf") else 0.0
        grid = np.linspace(centre - reach, centre + reach, _POINTS)
        away = (grid[:, None] - self.grid[None, :] - self.drift * self.step) / sqrt(self.step)
        density = np.exp(-(away**2) / 2) @ self.weights / sqrt(2 * np.pi * self.step)
        return replace(self, grid=grid, weights=density * _simpson(_POINTS) * (grid[1] - grid[0]))


def _simpson(points: int) -> Numbers:
    """The weights of Simpson's rule on an odd number of points, for a step of 1."""
    weights = np.ones(points)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return weights / 3

"""Distributions of durations of which some had not ended when the run did: longer than what was seen of them.

Leaving those out makes a slow path look fast: what is still under way is what takes longest. E. L. Kaplan and P. Meier:
Nonparametric Estimation from Incomplete Observations, J. American Statistical Association 53, 1958.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import TimeWeighted, Values, percentile

_ROUNDING = 1e-9
_UNIT = 10**12


@dataclass(frozen=True)
class Durations:
    """Durations in any unit; of one that is not `ended` only the time until the end of the run is known."""

    values: Values
    ended: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many there are, ended or not."""
        return len(self.values)

    @property
    def unended(self) -> int:
        """How many had not ended."""
        return int((~self.ended).sum())


def together(parts: Sequence[Durations]) -> Durations:
    """All of them as one sample."""
    return Durations(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(part.ended for part in parts)]),
    )


def kaplan_meier(durations: Durations) -> tuple[Values, Values]:
    """The estimated distribution function: (durations that ended, sorted; the share of all that took no longer).

    One that is cut off at t counts, from t on, in equal parts for all that were seen for longer (Efron 1967): the share
    of those at risk at t that end there is what is taken of those that are left. If the longest is cut off, the last
    share is below 1, and the rest is unknown.
    """
    # Of equal ones those that end come first: what is cut off at t is longer than t.
    order = np.lexsort((~durations.ended, durations.values))
    values, ended = durations.values[order], durations.ended[order]
    at_risk = np.arange(len(values), 0, -1)
    left = np.cumprod(1 - ended / at_risk).astype(np.float64)
    return values[ended], 1 - left[ended]


def percentile_of(durations: Durations, percent: float) -> float | None:
    """The smallest duration that at least p % did not exceed (type 1); None if it lies among those not ended."""
    if not durations.unended:
        return percentile(durations.values, percent)
    values, shares = kaplan_meier(durations)
    at = int(np.searchsorted(shares, percent / 100 - _ROUNDING))
    return float(values[at]) if at < len(values) else None


def mean_of(durations: Durations) -> float | None:
    """The mean of the estimated distribution; None of nothing, and if the longest had not ended."""
    if not durations.unended:
        return float(durations.values.mean()) if len(durations) else None
    values, shares = kaplan_meier(durations)
    if not len(shares) or shares[-1] < 1 - _ROUNDING:
        return None
    return float(np.dot(values, np.diff(shares, prepend=0.0)))


def held(durations: Durations) -> TimeWeighted:
    """The same as values and weights; the weight of what is beyond the last one that ended has the value infinity."""
    if not durations.unended:
        return TimeWeighted(durations.values, np.ones(len(durations), np.int64))
    values, shares = kaplan_meier(durations)
    weights = np.round(np.diff(shares, prepend=0.0, append=1.0) * _UNIT).astype(np.int64)
    kept = weights > 0
    return TimeWeighted(np.append(values, inf)[kept], weights[kept])

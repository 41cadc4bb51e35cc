"""Distributions of durations of which some had not ended when the run did, so that only a lower bound is known.

Leaving those out makes a slow path look fast, because the longest transfers are the unfinished ones. E. L. Kaplan and
P. Meier: Nonparametric Estimation from Incomplete Observations, J. American Statistical Association 53, 1958.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from netwarp.stats.weighting import TimeWeighted, Values, percentile, weighted_sum

_ROUNDING = 1e-9
_UNIT = 10**12


@dataclass(frozen=True)
class Durations:
    """Durations in any unit; a duration that is not `ended` is the time until the end of the run."""

    values: Values
    ended: NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of durations, ended or not."""
        return len(self.values)

    @property
    def unended(self) -> int:
        """The number of durations that had not ended."""
        return int((~self.ended).sum())


def together(parts: Sequence[Durations]) -> Durations:
    """Join durations to one sample."""
    return Durations(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(part.ended for part in parts)]),
    )


def kaplan_meier(durations: Durations) -> tuple[Values, Values]:
    """The estimated distribution function: (ended durations, sorted; the share of all durations up to each).

    A duration that is censored at t is distributed, from t on, equally over all that were observed for longer (Efron
    1967): at each t the share of those at risk that end there is taken from the rest. If the longest is censored, the
    last share is below 1, and the rest is unknown.
    """
    # Of equal durations ended ones come first: one that is censored at t is longer than t.
    order = np.lexsort((~durations.ended, durations.values))
    values, ended = durations.values[order], durations.ended[order]
    at_risk = np.arange(len(values), 0, -1)
    left = np.cumprod(1 - ended / at_risk).astype(np.float64)
    return values[ended], 1 - left[ended]


def percentile_of(durations: Durations, percent: float) -> float | None:
    """The smallest duration that at least p % did not exceed (type 1); None if it is among those not ended."""
    if not durations.unended:
        return percentile(durations.values, percent)
    values, shares = kaplan_meier(durations)
    at = int(np.searchsorted(shares, percent / 100 - _ROUNDING))
    return float(values[at]) if at < len(values) else None


def mean_of(durations: Durations) -> float | None:
    """The mean of the estimated distribution; None if there are none, or if the longest had not ended."""
    if not durations.unended:
        return float(durations.values.mean()) if len(durations) else None
    values, shares = kaplan_meier(durations)
    if not len(shares) or shares[-1] < 1 - _ROUNDING:
        return None
    return weighted_sum(values, np.diff(shares, prepend=0.0))


def held(durations: Durations) -> TimeWeighted:
    """The estimated distribution as values and weights; the weight beyond the last ended one has the value infinity."""
    if not durations.unended:
        return TimeWeighted(durations.values, np.ones(len(durations), np.int64))
    values, shares = kaplan_meier(durations)
    weights = np.round(np.diff(shares, prepend=0.0, append=1.0) * _UNIT).astype(np.int64)
    kept = weights > 0
    return TimeWeighted(np.append(values, inf)[kept], weights[kept])

"""The mean over replicates and its interval: the seeds of a point are independent, so Student's t applies."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean with the confidence interval `low` to `high`; both are absent where there is one value only."""

    mean: float
    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the interval contains the value; without an interval nothing is known, and it does not."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The mean of independent values of one kind and its interval, mean ± t(n−1) s / √n (Law 2015, 4.5).

    Values over time within one run are not independent (a queue remembers), and say nothing of its error; take one
    value from each seed. Raises ValueError for no values.
    """
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean)
    # Lazily: scipy takes longer to import than most commands take.
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415

    half = float(stdtrit(len(values) - 1, (1 + confidence) / 2)) * stdev(values) / sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def share_interval(held: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a probability after `held` of `count` independent trials (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv  # noqa: PLC0415 as above

    tail = (1 - confidence) / 2
    low = float(betaincinv(held, count - held + 1, tail)) if held else 0.0
    high = float(betaincinv(held + 1, count - held, 1 - tail)) if held < count else 1.0
    return low, high


def normal_interval(mean: float, deviation: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a normal variable of this mean and standard deviation."""
    half = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
    return mean - half, mean + half

"""Statistics of connections that are clustered by host: the host is the unit that was drawn and that counts.

Connections of one host share its links, its users and its arm, so they are not independent. The difference between arms
is that of the means over hosts of each host's mean over its connections, with Welch's interval (B. L. Welch: Biometrika
34, 1947). With few hosts this keeps its level, where standard errors that are robust to clusters are too small (A. C.
Cameron, D. L. Miller: A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50, 2015, section
VI); and each host counts once, however many connections it has (A. Donner, N. Klar: Design and Analysis of Cluster
Randomization Trials in Health Research, 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, lgamma, log, sqrt
from statistics import NormalDist, fmean, harmonic_mean, variance

from netwarp.stats.beta import incomplete_beta, student_quantile
from netwarp.studies.ab_test.sequential import inflation, tail

MIN_UNITS = 2
"""The fewest units of an arm that have a variance."""
_NORMAL = NormalDist()
_LEAST_P = 1e-300
"""The smallest probability that is distinguished from 0: far below that of any finite bound."""


@dataclass(frozen=True)
class Difference:
    """The mean of one sample less that of another, its standard error and Welch's degrees of freedom."""

    estimate: float
    error: float
    freedom: float

    @property
    def p(self) -> float:
        """The probability of a difference at least as large if there is none."""
        if self.error == 0:
            return 1.0 if self.estimate == 0 else _LEAST_P
        t = self.estimate / self.error
        return max(incomplete_beta(self.freedom / 2, 0.5, self.freedom / (self.freedom + t * t)), _LEAST_P)

    @property
    def z(self) -> float:
        """The value of a normal variable with the same probability and sign, for comparison with a sequential bound."""
        size = -_NORMAL.inv_cdf(self.p / 2)
        return size if self.estimate >= 0 else -size

    def interval(self, bound: float) -> tuple[float, float]:
        """The interval that excludes 0 exactly if |z| exceeds `bound`, which is finite."""
        # The tail itself: 1 less it would lose its digits at large bounds.
        half = -student_quantile(self.freedom, tail(bound)) * self.error
        return self.estimate - half, self.estimate + half


def difference(control: Sequence[float], treated: Sequence[float]) -> Difference:
    """The treated units' mean less that of the control. Raises ValueError with fewer than two units in an arm."""
    if min(len(control), len(treated)) < MIN_UNITS:
        raise ValueError(f"arms of {len(control)} and {len(treated)} units have no spread; each needs {MIN_UNITS}")
    parts = [variance(values) / len(values) for values in (control, treated)]
    error = sqrt(sum(parts))
    below = sum(part**2 / (len(values) - 1) for part, values in zip(parts, (control, treated), strict=True))
    freedom = sum(parts) ** 2 / below if below else float(len(control) + len(treated) - 2)
    return Difference(fmean(treated) - fmean(control), error, freedom)


@dataclass(frozen=True)
class Spread:
    """The metric before an experiment: its mean over hosts, the standard deviation of a host's mean, the share of a
    connection's variance that is between hosts (`icc`), and the connections of a host: their harmonic mean, since the
    variance of a host's mean has the mean of 1/m."""

    mean: float
    unit_sd: float
    icc: float
    connections: float

    @property
    def sd(self) -> float:
        """The standard deviation of a connection."""
        return self.unit_sd * sqrt(self.connections / self.design_effect)

    @property
    def design_effect(self) -> float:
        """The factor by which hosts with `connections` each need more of them than independent ones would:
        1 + (m − 1) ρ (L. Kish: Survey Sampling, 1965, section 5.4)."""
        return 1 + (self.connections - 1) * self.icc


def spread_of(values: Sequence[Sequence[float]]) -> Spread:
    """The spread of connections, grouped by unit. Raises ValueError with fewer than two units.

    The intraclass correlation is the analysis of variance's estimator (Donner and Klar 2000, section 1.3), at least 0.
    """
    means = [fmean(one) for one in values]
    if len(means) < MIN_UNITS:
        raise ValueError(f"{len(means)} units have no spread; record at least {MIN_UNITS}")
    total = sum(map(len, values))
    grand = sum(map(sum, values)) / total
    between = sum(len(one) * (mean - grand) ** 2 for one, mean in zip(values, means, strict=True)) / (len(means) - 1)
    inner = total - len(means)
    within = sum((value - mean) ** 2 for one, mean in zip(values, means, strict=True) for value in one)
    size = (total - sum(len(one) ** 2 for one in values) / total) / (len(means) - 1)
    sd = sqrt(variance(means))
    if not inner:  # a connection each: the variance within a unit is unknown
        return Spread(fmean(means), sd, 1.0, 1.0)
    mean_square = within / inner
    above = max(between - mean_square, 0.0) / size
    icc = above / (above + mean_square) if above + mean_square else 0.0
    return Spread(fmean(means), sd, icc, harmonic_mean(map(len, values)))


def spread_given(mean: float, sd: float, icc: float, connections: float) -> Spread:
    """The spread that a connection's standard deviation implies: that of a host's mean is sd √((1 + (m − 1) ρ) / m)."""
    return Spread(mean, sd * sqrt((1 + (connections - 1) * icc) / connections), icc, connections)


def expected_information(sd: float, icc: float, counts: Sequence[Sequence[int]]) -> float:
    """1 / SE² of a difference of arms whose units have `counts` connections, by the spread of the baseline.

    It depends on nothing that the experiment measures. The information by its own variances would come sooner in just
    those experiments whose error happens to be underestimated: with 8 hosts in each arm and five looks, 6.1 % instead
    of 5 % of 6,000 experiments without an effect were then stopped for one.
    """
    parts = [sd**2 * (icc + (1 - icc) * fmean(1 / count for count in arm)) / len(arm) for arm in counts]
    return 1 / sum(parts)


@dataclass(frozen=True)
class Sizes:
    """The hosts that each arm needs, and the information at which the experiment ends as planned."""

    control: int
    treated: int
    information: float


def planned_information(effect: float, alpha: float, power: float, looks: int) -> float:
    """The information, 1 / SE², that finds `effect` with that power: ((z_{1−α/2} + z_power) / effect)² R, with R for
    the looks (`inflation`)."""
    quantiles = _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)
    return (quantiles / effect) ** 2 * inflation(looks, alpha, power)


def sizes(
    spread: Spread, effect: float, shares: tuple[float, float], *, alpha: float, power: float, looks: int
) -> Sizes:
    """The hosts for an effect, if the arms get these shares of them.

    Two means with the variances s²/n₁ and s²/n₂ have the information n₁ n₂ / (n₁ + n₂) / s² (Donner and Klar 2000,
    section 5.2: the design effect is in s², the variance of a host's mean). Student's t instead of a normal variable
    costs z²_{1−α/2} / 4 more in each arm (W. C. Guenther: The American Statistician 35, 1981).
    """
    information = planned_information(effect, alpha, power, looks)
    part = shares[0] / sum(shares)
    total = information * spread.unit_sd**2 / (part * (1 - part))
    more = _NORMAL.inv_cdf(1 - alpha / 2) ** 2 / 4
    counts = [max(ceil(total * one + more), MIN_UNITS) for one in (part, 1 - part)]
    return Sizes(counts[0], counts[1], information)


def mismatch_p(control: int, treated: int, shares: tuple[float, float]) -> float:
    """The probability of counts at most as probable as these, if hosts came to the arms by these shares: the exact
    binomial test. A small one means that hosts are missing from an arm: a sample ratio mismatch (A. Fabijan et al.:
    Diagnosing Sample Ratio Mismatch in Online Controlled Experiments, KDD 2019)."""
    count, part = control + treated, shares[0] / sum(shares)
    whole = lgamma(count + 1)
    chances = [
        exp(whole - lgamma(k + 1) - lgamma(count - k + 1) + k * log(part) + (count - k) * log(1 - part))
        for k in range(count + 1)
    ]
    # Equal chances may differ in their last digit.
    return min(sum(chance for chance in chances if chance <= chances[control] * (1 + 1e-9)), 1.0)

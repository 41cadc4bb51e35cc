"""The incomplete beta function, from which the quantiles of Student's t and of the beta distribution follow.

Equation numbers are those of the NIST Digital Library of Mathematical Functions (DLMF, https://dlmf.nist.gov).
Quantiles are within 1e-13 of the exact ones, relatively, for parameters up to 10⁸ and probabilities from 0.0005 to
0.9995 (`tests/unit/test_beta.py`).
"""

from functools import lru_cache
from itertools import count
from math import exp, expm1, inf, lgamma, log, log1p, pi, sqrt

_TINY = 1e-300
_EPSILON = 1e-16
_LN_HALF = log(0.5)
_STIRLING_FROM = 16.0
"""The smallest argument at which the terms of Stirling's series in `_stirling_error` leave an error below 1e-16."""


@lru_cache(maxsize=1024)
def student_quantile(freedom: float, probability: float) -> float:
    """The value that a variable of Student's t distribution exceeds with 1 − `probability`.

    `freedom` is the number of degrees of freedom, more than 0 and not necessarily whole. Raises ValueError unless
    0 < `probability` < 1.
    """
    _check(freedom, 0.5, probability)
    if probability == 0.5:
        return 0.0
    # For t > 0, x = ν / (ν + t²) has P(T > t) = ½ I_x(ν/2, ½) (DLMF 8.17.2 after substitution).
    tail = min(probability, 1 - probability)
    share, rest = _solve(freedom / 2, 0.5, 2 * tail, 1 - 2 * tail)
    size = sqrt(freedom * rest / share) if share else inf
    return size if probability > 0.5 else -size


@lru_cache(maxsize=1024)
def beta_quantile(a: float, b: float, probability: float) -> float:
    """The x with I_x(a, b) = `probability`: the quantile of the beta distribution with parameters `a` and `b`.

    Raises ValueError unless `a` and `b` are positive and 0 < `probability` < 1.
    """
    _check(a, b, probability)
    return _solve(a, b, probability, 1 - probability)[0]


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) (DLMF 8.17.2) for positive `a` and `b` and `x` in [0, 1]."""
    if x in (0, 1):
        return float(x)
    return exp(_log_incomplete_beta(a, b, x, 1 - x))


def _check(a: float, b: float, probability: float) -> None:
    if not (a > 0 and b > 0 and 0 < probability < 1):
        raise ValueError(f"no quantile of probability {probability} with the parameters {a} and {b}")


def _solve(a: float, b: float, below: float, above: float) -> tuple[float, float]:
    """The x with I_x(a, b) = `below`, and 1 − x; `above` is 1 − `below`. The smaller one of both is exact to the last
    digits, because the other one follows from it."""
    if _log_incomplete_beta(a, b, 0.5, 0.5) >= log(below):
        x = _solve_lower(a, b, below)
        return x, 1 - x
    x = _solve_lower(b, a, above)
    return 1 - x, x


def _solve_lower(a: float, b: float, probability: float) -> float:
    """The x with I_x(a, b) = `probability` if it is at most ½, by Newton's method for ln I as a function of ln x.

    This function rises; it is concave if b ≥ 1, so no tangent is below it, and convex otherwise, so none is above it.
    After the first step all steps therefore come from the same side of the root, and each ends closer to it. The start
    is the first term of the power series.
    """
    target = log(probability)
    at = min((target + log(a) + _log_beta(a, b)) / a, _LN_HALF)
    before = inf
    while True:
        x = exp(at)
        if x == 0:
            return 0.0
        value = _log_incomplete_beta(a, b, x, -expm1(at))
        slope = exp(_log_prefactor(a, b, x, -expm1(at)) - log(-expm1(at)) - value)
        step = (target - value) / slope
        following = min(at + step, _LN_HALF)
        # Steps become smaller up to the limit of the arithmetic.
        if abs(following - at) <= 4 * _EPSILON * max(1.0, abs(at)) or abs(step) >= before <= 1e-9:
            return exp(following)
        before, at = abs(step), following


def _log_incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """ln I_x(a, b); `rest` is 1 − x. The fraction converges quickly for x < (a + 1) / (a + b + 2), and I_x(a, b) is
    1 − I_{1−x}(b, a) otherwise (DLMF 8.17.4)."""
    if x * (a + b + 2) <= a + 1:
        return _log_prefactor(a, b, x, rest) - log(_fraction(a, b, x, rest))
    return log1p(-min(exp(_log_prefactor(b, a, rest, x) - log(_fraction(b, a, rest, x))), 1 - _EPSILON))


def _fraction(a: float, b: float, x: float, rest: float) -> float:
    """The continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)) by which the prefactor is divided.

    It is the even part of DLMF 8.17.22 (A. R. DiDonato, A. H. Morris: ACM Transactions on Mathematical Software 18,
    1992), whose terms do not cancel where x is near the mean, by the modified Lentz algorithm (W. J. Lentz: Applied
    Optics 15, 1976; I. J. Thompson, A. R. Barnett: Journal of Computational Physics 64, 1986).
    """
    short = 1 - (a + b) * _above_mean(a, b, x, rest)
    c, d = _nonzero(a * short / (a + 1)), 0.0
    value = c
    for n in count(1):
        at = a + 2 * n
        numerator = (a + n - 1) / (at - 1) * (a + b + n - 1) / (at - 1) * n * (b - n) * x * x
        denominator = n + n * (b - n) * x / (at - 1) + (a + n) * (short + n * (1 + rest)) / (at + 1)
        d = 1 / _nonzero(denominator + numerator * d)
        c = _nonzero(denominator + numerator / c)
        value *= c * d
        if abs(c * d - 1) <= 4 * _EPSILON:
            break
    return value


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _above_mean(a: float, b: float, x: float, rest: float) -> float:
    """How far x is above the distribution's mean a/(a + b), from the smaller one of x and 1 − x."""
    return x - a / (a + b) if x < 0.5 else b / (a + b) - rest


def _log_prefactor(a: float, b: float, x: float, rest: float) -> float:
    """ln(xᵃ (1−x)ᵇ / B(a, b)); `rest` is 1 − x.

    With Stirling's formula (DLMF 5.11.1) for all three gamma functions the large terms cancel before they are added:
    the rest of them is 0 at x = a/(a + b) and grows with the square of the distance from it (C. Loader: Fast and
    Accurate Computation of Binomial Probabilities, 2000).
    """
    total = a + b
    mean, mean_rest = a / total, b / total
    away = _above_mean(a, b, x, rest)
    powers = a * _log_less(x / mean, away / mean) + b * _log_less(rest / mean_rest, -away / mean_rest)
    errors = _stirling_error(total) - _stirling_error(a) - _stirling_error(b)
    return powers + (log(a) + log(mean_rest) - log(2 * pi)) / 2 + errors


def _log_less(ratio: float, excess: float) -> float:
    """ln(`ratio`) − `excess`, which is `ratio` − 1: without a loss of digits near 1, by the series DLMF 4.6.4."""
    if abs(excess) > 0.25:
        return log(ratio) - excess
    part = excess / (2 + excess)
    square = part * part
    series = 0.0
    for power in range(19, 1, -2):
        series = (series + 2 / power) * square
    return part * (series - excess)


def _log_beta(a: float, b: float) -> float:
    return -_log_prefactor(a, b, a / (a + b), b / (a + b)) + a * log(a / (a + b)) + b * log(b / (a + b))


def _stirling_error(z: float) -> float:
    """ln Γ(z) − ((z − ½) ln z − z + ½ ln 2π): the remainder of Stirling's formula, by its series (DLMF 5.11.1)."""
    if z < _STIRLING_FROM:
        return lgamma(z) - ((z - 0.5) * log(z) - z + log(2 * pi) / 2)
    square = 1 / (z * z)
    series = 1 / 1188
    for coefficient in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = coefficient + square * series
    return series / z

"""Quantiles of Student's t and of the beta distribution: closed forms, tables, exact sums, and scipy's."""

from fractions import Fraction
from math import comb, pi, sqrt, tan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netwarp.stats.beta import beta_quantile, incomplete_beta, student_quantile
from scipy import special  # type: ignore[import-untyped]

CHANCES = [0.0005, 0.005, 0.025, 0.1, 0.5, 0.75, 0.95, 0.975, 0.999, 0.9995]
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980}
"""Student's t at 0.975 by the degrees of freedom (Abramowitz and Stegun 1964, table 26.10, A = 0.95)."""


@pytest.mark.parametrize("chance", CHANCES)
def test_student_with_one_and_two_degrees_of_freedom_has_a_closed_form(chance: float) -> None:
    spread = 2 * chance - 1
    assert student_quantile(1, chance) == pytest.approx(tan(pi * (chance - 0.5)), rel=1e-12, abs=1e-15)
    assert student_quantile(2, chance) == pytest.approx(spread * sqrt(2 / (1 - spread**2)), rel=1e-12)


@pytest.mark.parametrize("freedom", TABLE)
def test_student_is_that_of_the_tables(freedom: int) -> None:
    assert student_quantile(freedom, 0.975) == pytest.approx(TABLE[freedom], abs=0.0005)


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 6, 9, 19, 29, 39, 99, 200, 999, 10_000, 100_000])
def test_student_is_scipys(freedom: int, chance: float) -> None:
    bound = 1e-12 if freedom < 1000 else 1e-10
    assert student_quantile(freedom, chance) == pytest.approx(float(special.stdtrit(freedom, chance)), rel=bound)


@pytest.mark.parametrize("chance", [1e-12, *CHANCES])
@pytest.mark.parametrize("freedom", [0.7, 1.5, 6.8, 37.21])
def test_student_takes_degrees_of_freedom_that_are_not_whole(freedom: float, chance: float) -> None:
    assert student_quantile(freedom, chance) == pytest.approx(float(special.stdtrit(freedom, chance)), rel=1e-11)


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("parameter", [0.3, 1, 2, 17, 4000])
def test_the_beta_distribution_has_closed_forms_if_a_parameter_is_1(parameter: float, chance: float) -> None:
    assert beta_quantile(parameter, 1, chance) == pytest.approx(chance ** (1 / parameter), rel=1e-12)
    assert 1 - beta_quantile(1, parameter, chance) == pytest.approx((1 - chance) ** (1 / parameter), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.0005, 0.025, 0.5, 0.975, 0.9995])
@pytest.mark.parametrize(("held", "count"), [(1, 2), (3, 5), (17, 20), (1, 40), (30, 60), (99, 100), (7, 150)])
def test_the_quantile_is_that_of_an_exact_sum_of_binomial_terms(held: int, count: int, chance: float) -> None:
    """I_x(k, n−k+1) is the probability of k or more successes in n trials (DLMF 8.17.5), here in fractions."""
    x = Fraction(beta_quantile(held, count - held + 1, chance))
    terms = (comb(count, below) * x**below * (1 - x) ** (count - below) for below in range(held, count + 1))
    assert float(sum(terms)) == pytest.approx(chance, rel=1e-12)


@pytest.mark.parametrize("chance", [0.0005, 0.025, 0.1, 0.5, 0.975, 0.9995])
@pytest.mark.parametrize("a", [0.5, 1, 2.5, 20, 999, 50_000])
@pytest.mark.parametrize("b", [0.5, 1, 3, 21, 1000, 50_000])
def test_the_quantile_is_scipys(a: float, b: float, chance: float) -> None:
    bound = 1e-12 if max(a, b) < 1000 else 1e-10
    assert beta_quantile(a, b, chance) == pytest.approx(float(special.betaincinv(a, b, chance)), rel=bound)


EXACT = {
    (0.5, 0.5, 0.0005): 6.1685014823334142e-7,
    (1, 20, 0.025): 0.0012650894979498038,
    (18, 3, 0.0005): 0.52906639736940756,
    (500, 500.5, 0.975): 0.53071060375108953,
    (1000, 99001, 0.0005): 0.0089965863295027063,
    (1000, 99001, 0.975): 0.010625806644252092,
    (100_000, 0.5, 0.025): 0.99997488082175674,
    (2, 99_999_999, 0.025): 2.4220927946168464e-9,
    (2, 99_999_999, 0.9995): 9.9986770477495665e-8,
}
"""(a, b, probability) → the quantile, by mpmath 1.4 with 40 digits. The last rows have counts of packets; scipy's error
in them is up to 1e-9."""


@pytest.mark.parametrize("arguments", EXACT)
def test_the_quantile_is_that_of_forty_digits(arguments: tuple[float, float, float]) -> None:
    assert beta_quantile(*arguments) == pytest.approx(EXACT[arguments], rel=1e-13, abs=0)


@given(st.floats(0.05, 3000), st.floats(0.05, 3000), st.floats(0.0005, 0.9995))
def test_the_function_takes_its_quantile_back(a: float, b: float, chance: float) -> None:
    """If the quantile is near 1, only 1 − x has its digits; the function of the other variable has them too."""
    x = beta_quantile(a, b, chance)
    if x < 0.5:
        assert x == 0 or incomplete_beta(a, b, x) == pytest.approx(chance, rel=1e-9)
    else:
        rest = beta_quantile(b, a, 1 - chance)
        assert x == pytest.approx(1 - rest, rel=1e-12)
        assert rest == 0 or incomplete_beta(b, a, rest) == pytest.approx(1 - chance, rel=1e-9)


@given(st.floats(0.05, 3000), st.floats(0.05, 3000), st.floats(0.01, 0.99))
def test_the_function_is_scipys(a: float, b: float, x: float) -> None:
    expected = float(special.betainc(a, b, x))
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-9, abs=1e-280)
    assert (incomplete_beta(a, b, 0), incomplete_beta(a, b, 1)) == (0, 1)


@pytest.mark.parametrize(("a", "b", "chance"), [(0, 1, 0.5), (1, -1, 0.5), (1, 1, 0), (1, 1, 1), (1, 1, float("nan"))])
def test_what_has_no_quantile_is_refused(a: float, b: float, chance: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        beta_quantile(a, b, chance)

"""The E-model against the values that ITU-T G.107 itself has, and others computed by hand from its equations."""

from __future__ import annotations

import pytest
from netwarp.stats.e_model import delay_impairment, equipment_impairment, mean_opinion_score, rating
from netwarp.values.codecs import CODECS


@pytest.mark.parametrize(("r", "mos"), [(90, 4.34), (80, 4.02), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_the_scores_are_those_of_table_b_1(r: float, mos: float) -> None:
    assert mean_opinion_score(r) == pytest.approx(mos, abs=0.005)


@pytest.mark.parametrize(("r", "mos"), [(-5, 1), (0, 1), (100, 4.5), (120, 4.5)])
def test_the_scores_have_bounds(r: float, mos: float) -> None:
    assert mean_opinion_score(r) == mos


def test_all_defaults_are_a_rating_of_93_2_and_a_score_of_4_41() -> None:
    """G.107, Annex B: the default values lead to R = 93.2."""
    assert rating(0, 0) == 93.2
    assert mean_opinion_score(rating(0, 0)) == pytest.approx(4.41, abs=0.005)


def test_delays_up_to_100_ms_do_not_impair_and_longer_ones_ever_more() -> None:
    assert [delay_impairment(ms) for ms in (0, 50, 100)] == [0, 0, 0]
    # X = 1 and X = 2: 25 (2^(1/6) − 3 (1 + 3^−6)^(1/6) + 2), 25 (65^(1/6) − 3 (1 + (2/3)^6)^(1/6) + 2).
    assert delay_impairment(200) == pytest.approx(25 * (1.122462 - 3.000686 + 2), abs=1e-3)
    assert delay_impairment(400) == pytest.approx(25 * (2.005175 - 3.042383 + 2), abs=1e-3)
    values = [delay_impairment(ms) for ms in range(100, 2000, 50)]
    assert values == sorted(values)


def test_losses_of_more_than_a_fifth_are_outside_of_the_model() -> None:
    assert equipment_impairment(0, 25.1, 20) == pytest.approx(95 * 20 / 45.1)
    with pytest.raises(ValueError, match=r"up to 20 %, not of 20\.1 %"):
        equipment_impairment(0, 25.1, 20.1)


def test_losses_impair_less_where_a_codec_conceals_them_and_more_in_bursts() -> None:
    plain, concealed = CODECS["g711-plain"], CODECS["g711"]
    assert equipment_impairment(plain.impairment, plain.robustness, 2) == pytest.approx(95 * 2 / 6.3)
    assert equipment_impairment(concealed.impairment, concealed.robustness, 2) == pytest.approx(95 * 2 / 27.1)
    assert equipment_impairment(11, 19, 0) == 11
    assert equipment_impairment(0, 25.1, 2, 2) == pytest.approx(95 * 2 / 26.1)
    assert equipment_impairment(0, 25.1, 2, 9) == equipment_impairment(0, 25.1, 2, 2), "the permitted range"
    assert equipment_impairment(0, 25.1, 2, 0.1) == equipment_impairment(0, 25.1, 2, 1)

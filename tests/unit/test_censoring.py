"""Durations, some of which had not ended: Kaplan and Meier's estimate, compared with its textbook example and by
hand."""

import numpy as np
import pytest
from netwarp.stats.censoring import Durations, held, kaplan_meier, mean_of, percentile_of, together
from netwarp.stats.weighting import weighted_percentiles

# Weeks of remission with 6-mercaptopurine, + if it continued: E. J. Freireich et al., Blood 21, 1963.
FREIREICH = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"


def durations(text: str) -> Durations:
    words = text.split()
    return Durations(
        np.array([float(word.rstrip("+")) for word in words]), np.array(["+" not in word for word in words], np.bool_)
    )


def test_the_textbook_example() -> None:
    values, shares = kaplan_meier(durations(FREIREICH))
    survival = dict(zip(values.tolist(), (1 - shares).round(4).tolist(), strict=True))
    assert survival == {6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482}
    assert percentile_of(durations(FREIREICH), 50) == 23
    assert percentile_of(durations(FREIREICH), 60) is None, "more than 44.8 % lasted longer than any that ended"
    assert mean_of(durations(FREIREICH)) is None


def test_without_any_that_lasted_on_it_is_the_empirical_distribution() -> None:
    all_ended = durations("4 1 3 2")
    assert [percentile_of(all_ended, p) for p in (0, 25, 50, 75, 76, 100)] == [1, 1, 2, 3, 4, 4]
    assert mean_of(all_ended) == 2.5
    assert percentile_of(durations(""), 50) is None
    assert mean_of(durations("")) is None


def test_half_of_them_not_ended_leave_the_median_known_and_no_more() -> None:
    half = durations("10 20 30 40 100+ 100+ 100+ 100+")
    assert percentile_of(half, 50) == 40
    assert percentile_of(half, 51) is None
    assert percentile_of(half, 100) is None
    assert percentile_of(durations("10 20 30 40"), 95) == 40, "what leaving them out would say"


def test_what_was_seen_for_a_short_while_says_little() -> None:
    """One cut off at 15 counts for all beyond: a third of the time after 10 each."""
    cut = durations("10 15+ 20 40")
    assert mean_of(cut) == pytest.approx(10 / 4 + (20 + 40) * 3 / 8)
    assert percentile_of(cut, 62.5) == 20
    assert percentile_of(cut, 100) == 40


def test_figures_show_what_is_beyond_as_beyond() -> None:
    shown = held(durations("1 2 5+ 5+"))
    assert weighted_percentiles(shown, (50, 51)) == [2, np.inf]
    assert together([durations("1 2"), durations("3+")]).unended == 1

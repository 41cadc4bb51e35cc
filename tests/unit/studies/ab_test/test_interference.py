"""Effects within mixtures beside the effect of treating all, of values that are known."""

from __future__ import annotations

from netwarp.studies.ab_test.interference import _effects, sentences
from netwarp.studies.ab_test.needs import CONTROL, TREATED


def test_a_difference_with_the_wrong_sign_is_named() -> None:
    """Treating all costs 1, but treated flows take 4 from the others at half."""
    values = {
        (CONTROL, 0.0): {1: 10.0, 2: 10.1},
        (CONTROL, 0.5): {1: 8.0, 2: 8.1},
        (TREATED, 0.5): {1: 12.0, 2: 12.2},
        (TREATED, 0.1): {1: 15.0, 2: 15.2},
        (TREATED, 1.0): {1: 9.0, 2: 9.1},
    }
    found = _effects("", "goodput_mbps", values)
    assert found is not None
    assert found.half == 0.5
    assert round(found.within[0.5].mean, 6) == 4.05
    assert found.total.mean == -1
    assert round(found.error.mean, 6) == 5.05
    assert found.verdict == "the wrong sign"
    (line,) = sentences([found])
    assert line.startswith("goodput of a flow: at 50 % the arms differ by +4.05 [")
    assert line.endswith("all against none is -1 [-1, -1] Mbit/s: the wrong sign")


def test_a_single_run_says_nothing_of_a_contradiction() -> None:
    values = {(CONTROL, 0.0): {1: 10.0}, (CONTROL, 0.5): {1: 8.0}, (TREATED, 0.5): {1: 12.0}, (TREATED, 1.0): {1: 9.0}}
    found = _effects("", "goodput_mbps", values)
    assert found is not None
    (line,) = sentences([found])
    assert line.endswith("differ by +4 Mbit/s; all against none is -1 Mbit/s: not known from one run")


def test_without_all_none_and_a_mixture_there_is_no_effect() -> None:
    values = {(CONTROL, 0.0): {1: 10.0}, (CONTROL, 0.5): {1: 8.0}, (TREATED, 0.5): {1: 12.0}}
    assert _effects("", "goodput_mbps", values) is None
    # Runs with different seeds do not make pairs.
    assert _effects("", "goodput_mbps", values | {(TREATED, 1.0): {2: 9.0}}) is None
    assert _effects("", "goodput_mbps", values | {(TREATED, 1.0): {1: 9.0}}) is not None

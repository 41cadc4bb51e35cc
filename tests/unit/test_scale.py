"""The axis for goodput on a link whose rate changes: each phase can be read on it."""

from dataclasses import replace

import numpy as np
import pytest
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, Schedule, SecondaryAxis, Variant
from netwarp.plots.timeseries.scale import shows_log

INTERVAL_S = 0.5
SECONDS = np.arange(0.25, 100, INTERVAL_S)


def goodput(*steps: tuple[float, float], linear: bool = False) -> FigureSpec:
    """A flow that fills a link with these (s, Mbit/s)."""
    rates = np.array([[rate for at, rate in steps if at <= second][-1] for second in SECONDS])
    quantity = Quantity(
        "goodput",
        "Goodput",
        "",
        "goodput (Mbit/s)",
        False,
        secondary_axis=SecondaryAxis("Payload", "kB in each 500 ms", 62.5),
        interval_s=INTERVAL_S,
    )
    line = Variant("cubic", "#000000", "-", [Curve(SECONDS, 0.95 * rates)])
    return FigureSpec(quantity, "", "", 100.0, [line], schedules=[Schedule("link", steps)], linear=linear)


@pytest.mark.parametrize(
    ("steps", "log"),
    [
        pytest.param([(0, 100), (10, 1), (14, 100)], True, id="four seconds at a hundredth"),
        pytest.param([(0, 100), (10, 10), (30, 100)], False, id="a tenth is legible"),
        pytest.param([(0, 100), (10, 1), (11, 100)], False, id="a moment, as in a trace"),
        pytest.param([(0, 100), (10, 0), (30, 100)], False, id="an outage is 0 on any axis"),
        pytest.param([(0, 100)], False, id="one rate"),
    ],
)
def test_phases_that_are_far_apart_are_legible(steps: list[tuple[float, float]], log: bool) -> None:
    assert bool(shows_log(goodput(*steps))) is log


def test_a_share_stays_on_its_linear_axis() -> None:
    assert not shows_log(goodput((0, 100), (10, 1), (14, 100), linear=True))


def test_a_link_that_is_always_faster_than_another_has_no_line() -> None:
    slow = Schedule("slow", ((0, 10), (2, 5)))
    beside = Schedule("beside", ((0, 100), (3, 8)))
    fast = Schedule("fast", ((0, 1000), (1, 20)))
    shown = replace(goodput((0, 10)), schedules=[fast, slow, beside])
    assert [one.label for one in shown.limiting] == ["slow", "beside"]

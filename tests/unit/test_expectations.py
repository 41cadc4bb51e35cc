"""Expectations: the rows that they select, their findings, their messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, log
from typing import Literal

import polars as pl
import pytest
from netwarp.analysis.summary.conditions import Selection
from netwarp.analysis.summary.expectations import Judgement, check_expectations
from netwarp.stats.intervals import mean_interval, share_interval
from netwarp.stats.tally import Tally, fewest_seeds


@dataclass
class Expected:
    metric: str = "flow.goodput_mbps"
    where: Selection = field(default_factory=dict)
    min: float | None = None
    max: float | None = None
    ascending: Sequence[Selection] = ()
    equals: float | None = None
    within: float | Literal["interval"] | None = None
    share: float | None = None


ROWS = [
    ("a", 1, "ok", "cubic", 10, "flow", "bulk", "goodput_mbps", 9.5),
    ("a", 1, "ok", "cubic", 10, "flow", "ping", "rtt_ms_p95", 40.0),
    ("b", 1, "ok", "bbr", 20, "flow", "bulk", "goodput_mbps", 9.0),
    ("c", 2, "failed", "reno", 20, None, None, None, None),
]
COLUMNS = ["run_id", "seed", "status", "flows.bulk.cc", "x.y", "scope", "name", "metric", "value"]
SUMMARY = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")


@pytest.mark.parametrize(
    ("expected", "judgement", "found"),
    [
        (Expected(min=9), Judgement.MET, "9 to 9.5 (2 values)"),
        (Expected(min=9.2), Judgement.FAILED, "9 to 9.5 (2 values), 1 outside"),
        (Expected(where={"flows.bulk.cc": "cubic"}, min=9.2, max=9.5), Judgement.MET, "9.5"),
        (Expected(where={"x.y": 20}, max=8), Judgement.FAILED, "9"),
        (Expected(where={"name": "bulk", "seed": 1}, min=0), Judgement.MET, "9 to 9.5 (2 values)"),
        (Expected(where={"seed": 2}, min=0), Judgement.FAILED, "there is no value: the run has no metrics"),
        (Expected(where={"seed": 3}, min=0), Judgement.UNCHECKED, "it applies to no run of this plan"),
        (Expected(where={"case": "slow"}, min=0), Judgement.UNCHECKED, "it applies to no run of this plan"),
        (Expected(where={"name": "ping"}, min=0), Judgement.FAILED, "there is no value of this name; there are bulk"),
        (
            Expected("flow.goodput", min=0),
            Judgement.FAILED,
            "nothing was measured by this name; of flow there are goodput_mbps, rtt_ms_p95",
        ),
    ],
)
def test_what_is_found(expected: Expected, judgement: Judgement, found: str) -> None:
    (checked,) = check_expectations(SUMMARY, [expected])
    assert (checked.judgement, checked.found) == (judgement, found)
    assert checked.ok == (judgement is not Judgement.FAILED)


def test_how_it_is_said() -> None:
    where: Selection = {"name": "bulk", "x.y": 10}
    low, high, both = check_expectations(
        SUMMARY, [Expected(where=where, min=9), Expected(max=0.5), Expected("a.b", {}, 1, 2)]
    )
    assert (low.subject, low.bound) == ("flow.goodput_mbps of bulk, x.y = 10", "at least 9")
    assert (high.bound, both.bound) == ("at most 0.5", "1 to 2")


def test_a_value_that_is_no_number_is_outside() -> None:
    summary = pl.DataFrame([(*ROWS[0][:-1], float("nan"))], schema=COLUMNS, orient="row")
    (checked,) = check_expectations(summary, [Expected(min=0)])
    assert not checked.ok


def test_a_list_of_values_means_any_of_them() -> None:
    where: Selection = {"name": ("bulk", "ping"), "flows.bulk.cc": ("cubic", "bbr")}
    (checked,) = check_expectations(SUMMARY, [Expected(where=where, max=9.2)])
    assert checked.subject == "flow.goodput_mbps of bulk or ping, flows.bulk.cc = cubic or bbr"
    assert checked.found == "9 to 9.5 (2 values), 1 outside"


def test_text_selects_the_number_that_it_is() -> None:
    """`--sweep flows.page.version=1.1,2` has numbers, where a scenario's expectation says "2"."""
    of_versions = SUMMARY.with_columns(pl.lit(2.0).alias("version"))
    for value, judgement in (("2", Judgement.MET), ("3", Judgement.UNCHECKED), ("two", Judgement.UNCHECKED)):
        (checked,) = check_expectations(of_versions, [Expected(where={"version": value}, min=0)])
        assert checked.judgement == judgement


QUEUES = [
    (f"{queue}{seed}", seed, "ok", queue, "flow", "ping", "rtt_ms_p95", rtt + seed)
    for seed in (1, 2)
    for queue, rtt in (("codel", 20.0), ("cake", 22.0), ("red", 25.0), ("pfifo", 90.0))
]
ORDERED = pl.DataFrame(QUEUES, schema=[*COLUMNS[:3], "case", *COLUMNS[5:]], orient="row")


@pytest.mark.parametrize(
    ("steps", "judgement", "found"),
    [
        (["codel", "red", "pfifo"], Judgement.MET, "21 < 26 < 91 at seed = 1, and so in all 2 comparisons"),
        ([("codel", "cake"), "red"], Judgement.MET, "21 to 23 < 26 at seed = 1, and so in all 2 comparisons"),
        (
            ["codel", ("red", "cake"), ("red", "codel")],
            Judgement.FAILED,
            "red or cake (23 to 26) is not below red or codel (21 to 26) at seed = 1; "
            "2 of 2 comparisons are out of order",
        ),
        (["pfifo", "sfq", "red"], Judgement.FAILED, "pfifo (91) is not below red (26) at seed = 1; 2 of 2 comparisons"),
        (["pfifo", "sfq"], Judgement.UNCHECKED, "it applies to fewer than two runs of this plan"),
    ],
)
def test_an_order(steps: list[str | tuple[str, ...]], judgement: Judgement, found: str) -> None:
    """Each seed is compared with itself; unplanned steps are skipped."""
    (checked,) = check_expectations(ORDERED, [Expected("flow.rtt_ms_p95", ascending=[{"case": s} for s in steps])])
    assert checked.judgement == judgement
    assert checked.found.startswith(found)
    assert checked.ok == (judgement is not Judgement.FAILED)


def test_an_order_is_strict_and_needs_numbers() -> None:
    steps: list[Selection] = [{"case": "codel", "seed": 2}, {"case": "cake", "seed": 2}]
    for value in (float("nan"), 22.0):
        rows = ORDERED.with_columns(value=pl.when(case="codel").then(value).when(case="cake").then(22.0).otherwise(0))
        (checked,) = check_expectations(rows, [Expected("flow.rtt_ms_p95", ascending=steps)])
        assert checked.judgement is Judgement.FAILED
        assert checked.bound == "(case = codel, seed = 2) < (case = cake, seed = 2)"
    without = ORDERED.with_columns(metric=pl.when(case="cake").then(pl.lit("drops")).otherwise("metric"))
    (checked,) = check_expectations(without, [Expected("flow.rtt_ms_p95", ascending=steps)])
    assert checked.found.endswith("nothing was measured by this name; of flow there are drops")


SEEDS = pl.DataFrame(
    [
        (f"{x}{seed}", seed, "ok", "cubic", x, "flow", "bulk", "goodput_mbps", value + x)
        for x in (0, 100)
        for seed, value in enumerate((9.0, 10.0, 11.0), 1)
    ],
    schema=COLUMNS,
    orient="row",
)
"""Means of 10 and 110; t(2) = 31.599 at 99.9 %, so the interval is ± 31.599 / √3 = 18.244."""
FEW = "; 3 seeds make it 99.9 % if values are normal, 63 % if skewed"


@pytest.mark.parametrize(
    ("expected", "judgement", "found"),
    [
        (Expected(where={"x.y": 0}, equals=10.1, within=0.02), Judgement.MET, "10 (-8.24372 to 28.2437)"),
        (Expected(where={"x.y": 0}, equals=10.3, within=0.02), Judgement.FAILED, "10 (-8.24372 to 28.2437)"),
        (Expected(where={"x.y": 0}, equals=28.2, within="interval"), Judgement.MET, f"10 (-8.24372 to 28.2437){FEW}"),
        (
            Expected(where={"x.y": 100}, equals=128.3, within="interval"),
            Judgement.FAILED,
            f"110 (91.7563 to 128.244){FEW}",
        ),
        (Expected(equals=10, within=0.02), Judgement.FAILED, "10 to 110 (2 values), 1 outside"),
        (
            Expected(where={"seed": 1}, equals=9, within="interval"),
            Judgement.UNCHECKED,
            "an interval needs a second seed",
        ),
        (Expected(where={"seed": 1, "x.y": 0}, equals=9, within=0.01), Judgement.MET, "9"),
    ],
)
def test_a_mean_over_seeds_equals_a_number(expected: Expected, judgement: Judgement, found: str) -> None:
    (checked,) = check_expectations(SEEDS, [expected])
    assert (checked.judgement, checked.found) == (judgement, found)


def test_how_near_is_said() -> None:
    near, inside = check_expectations(SEEDS, [Expected(equals=9.5, within=0.02), Expected(equals=9, within="interval")])
    assert (near.bound, inside.bound) == ("9.5 ± 2 %", "9 in the 99.9 % interval of the mean")


def _of_seeds(values: Sequence[float]) -> pl.DataFrame:
    rows = [(f"r{seed}", seed, "ok", "c", 0, "flow", "bulk", "goodput_mbps", v) for seed, v in enumerate(values, 1)]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_what_does_not_vary_with_the_seed_has_no_interval() -> None:
    (checked,) = check_expectations(_of_seeds([0.36336] * 6), [Expected(equals=0.363, within="interval")])
    assert checked.judgement is Judgement.FAILED
    assert checked.found.startswith("0.36336 with every seed, which leaves no interval")
    (same,) = check_expectations(_of_seeds([0.5] * 6), [Expected(equals=0.5, within="interval")])
    assert same.judgement is Judgement.MET


def test_skewed_values_do_not_fail_a_true_mean() -> None:
    """Quantiles of an exponential distribution of mean 1, moved so that Student's interval would miss the mean."""
    values = [0.4 * -log(1 - (seed - 0.5) / 20) for seed in range(1, 20)] + [1.05]
    student = mean_interval(values, 0.999)
    assert student.high is not None and student.high < 1
    (checked,) = check_expectations(_of_seeds(values), [Expected(equals=1, within="interval")])
    assert checked.judgement is Judgement.MET
    assert "seeds make it" not in checked.found, "twenty are enough"


MANY = pl.DataFrame(
    [
        (f"{queue}{seed}", seed, "ok", queue, "flow", "bulk", "goodput_mbps", value)
        for seed in range(1, 21)
        for queue, value in (("small", 1.0 if seed <= 12 else 5.0), ("large", 3.0))
    ],
    schema=[*COLUMNS[:3], "case", *COLUMNS[5:]],
    orient="row",
)
"""Twenty seeds: the small queue gives less than the large one, and less than 2, with the first twelve of them."""
TWELVE = "held with 12 of 20 seeds (95 % interval 36 to 81 %)"
SMALL_BELOW_LARGE: list[Selection] = [{"case": "small"}, {"case": "large"}]


@pytest.mark.parametrize(
    ("expected", "judgement", "found"),
    [
        (Expected(where={"case": "small"}, max=2), Judgement.FAILED, f"1 to 5 (20 values), 8 outside; {TWELVE}"),
        (
            Expected(where={"case": "small"}, max=2, share=0.6),
            Judgement.MET,
            f"1 to 5 (20 values), 8 outside; {TWELVE}",
        ),
        # P(at most 12 of 20) is 3.2 % if 80 % hold, 6.2 % if 77 % do.
        (Expected(where={"case": "small"}, max=2, share=0.77), Judgement.MET, TWELVE),
        (Expected(where={"case": "small"}, max=2, share=0.8), Judgement.FAILED, TWELVE),
        (Expected(ascending=SMALL_BELOW_LARGE), Judgement.FAILED, f"8 of 20 comparisons are out of order; {TWELVE}"),
        (Expected(ascending=SMALL_BELOW_LARGE, share=0.6), Judgement.MET, TWELVE),
        (Expected(ascending=SMALL_BELOW_LARGE, share=0.8), Judgement.FAILED, TWELVE),
        (Expected(max=4), Judgement.FAILED, f"1 to 5 (40 values), 8 outside; {TWELVE}"),
        (Expected(max=5), Judgement.MET, "1 to 5 (40 values); held with 20 of 20 seeds (95 % interval 83 to 100 %)"),
    ],
)
def test_with_how_many_seeds_it_holds(expected: Expected, judgement: Judgement, found: str) -> None:
    """Without a share it must hold for every seed; with one, it fails only if enough seeds are against it."""
    (checked,) = check_expectations(MANY, [expected])
    assert checked.judgement is judgement
    assert checked.found.endswith(found)


def test_a_share_takes_enough_seeds_to_be_refuted() -> None:
    """With 80 % of the seeds, none of two is 4 %; one seed says nothing, neither for nor against."""
    expected = Expected(where={"case": "small"}, min=2, share=0.8)
    one, two = (check_expectations(MANY.filter(pl.col("seed") <= n), [expected])[0] for n in (1, 2))
    assert (one.judgement, one.found) == (Judgement.UNCHECKED, "this needs 2 seeds; held with 0 of 1 seed")
    assert (two.judgement, two.ok) == (Judgement.FAILED, False)
    assert one.bound == "at least 2 with at least 80 % of the seeds"


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.97])
def test_the_fewest_seeds_are_those_of_which_none_refutes(share: float) -> None:
    fewest = fewest_seeds(share)
    assert Tally(0, fewest).refutes(share)
    assert fewest == 1 or not Tally(0, fewest - 1).refutes(share)


def test_the_interval_of_a_share_covers() -> None:
    """Clopper and Pearson: at each end, so much or more (so little or less) has a probability of 2.5 %."""
    low, high = share_interval(17, 20)
    assert sum(comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(17, 21)) == pytest.approx(0.025)
    assert sum(comb(20, k) * high**k * (1 - high) ** (20 - k) for k in range(18)) == pytest.approx(0.025)
    assert list(share_interval(0, 5)) == pytest.approx([0, 1 - 0.025**0.2])
    assert list(share_interval(5, 5)) == pytest.approx([0.025**0.2, 1])

"""Statistics of runs that differ by their seed: intervals with the stated coverage, and omitted runs."""

from math import comb

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.summary.ensemble import statistics_frame
from netwarp.cli.tables import ensemble_table
from netwarp.report.tables import results_table
from netwarp.stats.statistics import median_coverage, median_rank
from rich.console import Console

SCHEMA = {
    "run_id": pl.String,
    "seed": pl.Int64,
    "status": pl.String,
    "flows.bulk.cc": pl.String,
    "scope": pl.String,
    "name": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
AXES = ["flows.bulk.cc"]


def summary(*runs: tuple[str, int, str, dict[str, float]]) -> pl.DataFrame:
    """A summary of runs: (congestion control, seed, status, metrics of the flow bulk)."""
    rows: list[tuple[object, ...]] = []
    for cc, seed, status, metrics in runs:
        head = (f"{cc}{seed}", seed, status, cc)
        rows += [(*head, "flow", "bulk", metric, value) for metric, value in metrics.items()]
        rows += [] if metrics else [(*head, None, None, None, None)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize("n", [6, 7, 9, 10, 20, 51, 100])
def test_the_interval_covers_the_median_as_it_says(n: int) -> None:
    """With a skewed distribution, the truth is in 95 % of the intervals, within the deviation of 4000 trials."""
    rng = np.random.default_rng(n)
    values = np.sort(rng.lognormal(0, 1.5, (4000, n)), axis=1)
    rank = median_rank(n)
    covered = ((values[:, rank - 1] <= 1) & (values[:, -rank] >= 1)).mean()
    output = median_coverage(n, rank)
    assert output >= 0.95
    assert covered == pytest.approx(output, abs=4 * (output * (1 - output) / 4000) ** 0.5)


@pytest.mark.parametrize("n", range(2, 6))
def test_few_runs_have_the_widest_interval_and_say_how_sure_it_is(n: int) -> None:
    assert median_rank(n) == 1
    assert median_coverage(n, 1) == 1 - 2 ** (1 - n) < 0.95


@pytest.mark.parametrize("n", [6, 7, 20, 101, 2000])
def test_the_rank_is_the_highest_that_covers_enough(n: int) -> None:
    """By the sum of binomial coefficients, each computed by itself."""
    rank = median_rank(n)
    covers = [float(1 - 2 * sum(comb(n, below) for below in range(k)) / 2**n) for k in (rank, rank + 1)]
    assert covers[0] == median_coverage(n, rank) >= 0.95 > covers[1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 9, 15, 31, 101])
def test_the_interval_is_scipys_bootstrap_made_to_cover_what_it_says(n: int) -> None:
    """Never narrower than the percentile bootstrap's, and of many runs nearly the same."""
    from scipy import stats  # type: ignore[import-untyped]  # takes a second

    values = np.sort(np.random.default_rng(n).normal(size=n))
    plain = stats.bootstrap(
        (values,), np.median, n_resamples=9999, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    low, high = values[median_rank(n) - 1], values[-median_rank(n)]
    assert low <= plain.low + 1e-12 and high >= plain.high - 1e-12
    if n > 100:
        assert high - low < 1.3 * (plain.high - plain.low)


@pytest.mark.slow
def test_the_percentile_bootstrap_alone_would_cover_too_little() -> None:
    """The reason for the calibration: with 7 runs the plain interval is from the second value to the sixth."""
    from scipy import stats

    values = np.arange(1.0, 8.0)
    plain = stats.bootstrap((values,), np.median, method="percentile", rng=np.random.default_rng(1)).confidence_interval
    assert (plain.low, plain.high) == (2, 6)
    assert median_coverage(7, 2) == 0.875
    assert median_rank(7) == 1


def test_a_row_for_each_point_and_metric() -> None:
    good = [("cubic", seed, "ok", {"goodput_mbps": float(seed)}) for seed in (3, 1, 2, 5, 4, 6)]
    frame = statistics_frame(summary(*good, ("bbr", 1, "ok", {"goodput_mbps": 7.0})), AXES)
    cubic, bbr = frame.rows(named=True)
    assert (cubic["flows.bulk.cc"], cubic["n"], cubic["median"], cubic["low"], cubic["high"]) == ("cubic", 6, 3.5, 1, 6)
    assert cubic["confidence"] == pytest.approx(0.96875)
    assert (cubic["mean"], cubic["min"], cubic["max"], cubic["left_out"], cubic["why"]) == (3.5, 1, 6, 0, None)
    assert cubic["sd"] == pytest.approx(np.std([1, 2, 3, 4, 5, 6], ddof=1))
    assert (bbr["n"], bbr["median"], bbr["low"], bbr["high"], bbr["confidence"]) == (1, 7, None, None, None)


def test_the_pages_table_calls_a_module_by_its_name() -> None:
    runs = [(cc, 1, "ok", {"goodput_mbps": 7.0}) for cc in ("file:../x/tcp_mine.c", "cubic")]
    found = summary(*runs)
    table = results_table(statistics_frame(found, AXES), found, AXES)
    assert [row[0].text for row in table.rows] == ["mine", "cubic"]


def test_what_was_left_out_and_why() -> None:
    frame = statistics_frame(
        summary(
            ("cubic", 1, "ok", {"goodput_mbps": 1.0, "loss_pct": 0.0}),
            ("cubic", 2, "ok", {"goodput_mbps": 3.0}),
            ("cubic", 3, "suspect", {"goodput_mbps": 99.0, "loss_pct": 9.0}),
            ("cubic", 4, "failed", {}),
            ("bbr", 1, "missing", {}),
            ("bbr", 2, "failed", {}),
        ),
        AXES,
    )
    wanted = ["flows.bulk.cc", "metric", "n", "median", "left_out", "why"]
    assert frame.select(wanted).rows() == [
        ("cubic", "goodput_mbps", 2, 2.0, 2, "1 failed, 1 suspect"),
        ("cubic", "loss_pct", 1, 0.0, 3, "1 failed, 1 suspect, 1 without a value"),
        ("bbr", None, 0, None, 2, "1 failed, 1 not made"),
    ]


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_a_result_without_axes(status: str) -> None:
    rows = summary(("cubic", 1, status, {"goodput_mbps": 1.0} if status == "ok" else {})).drop(AXES)
    row = statistics_frame(rows, []).row(0, named=True)
    assert (row["n"], row["median"], row["left_out"]) == ((1, 1.0, 0) if status == "ok" else (0, None, 1))


@pytest.mark.parametrize(
    ("seeds", "words"), [(3, "contains the true median with a confidence of 75%"), (8, "95% confidence interval")]
)
def test_the_table_shows_medians_and_intervals(seeds: int, words: str) -> None:
    runs = [("cubic", seed, "ok", {"goodput_mbps": 9 + seed / 10}) for seed in range(1, seeds + 1)]
    frame = statistics_frame(summary(*runs, ("cubic", 99, "suspect", {}), ("bbr", 1, "failed", {})), AXES)
    console = Console(width=140)
    with console.capture() as capture:
        console.print(ensemble_table(frame, AXES))
    text = " ".join(capture.get().split())
    assert words in text
    assert "(1 suspect)" in text and "(1 failed)" in text
    assert "[9.10, 9." in text


def test_the_caption_is_about_the_columns_that_are_shown() -> None:
    """A metric that few runs have, and that has no column, does not affect the caption about brackets."""
    rare = {2: {"convergence_s": 1.0}, 5: {"convergence_s": 2.0}}
    runs = [("cubic", seed, "ok", {"goodput_mbps": 9 + seed / 10} | rare.get(seed, {})) for seed in range(1, 9)]
    frame = statistics_frame(summary(*runs), AXES)
    assert frame.filter(metric="convergence_s")["confidence"].to_list() == [0.5]
    assert "95% confidence interval" in str(ensemble_table(frame, AXES).caption)

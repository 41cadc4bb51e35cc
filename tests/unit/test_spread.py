"""Many runs as one picture: means of spans, the median, and bands that contain most runs; some of many values."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.plots.charts.metric import draw_metric
from netwarp.plots.legibility import MAX_ORDERED, MAX_PANELS
from netwarp.plots.timeseries.comparison import MAX_SEEDS, run_sets
from netwarp.plots.timeseries.figure_spec import Curve, Quantity
from netwarp.plots.timeseries.figure_specs import shares_of, spec_of
from netwarp.plots.timeseries.result import draw_comparisons
from netwarp.plots.timeseries.spread import SPANS, across, averaged, together
from netwarp.store.result import ResultDir, create_result, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import METRICS_SCHEMA, RunDir
from synthetic import write_run

RATE = "links.b.rate"
SAMPLES = Quantity("s", "", "", "", steps=False)
SECONDS = Quantity("s", "", "", "", steps=False, interval_s=1)


def make(path: Path, runs: list[dict[str, Any]], *, axes: tuple[str, ...] = (), suspect: int = 0) -> ResultDir:
    """A result of a second's runs with two flows each; goodput is the run's number."""
    plan: Any = {"name": "made", "axes": axes, "runs": runs}
    with create_result(path, scenario_toml="", plan=plan, manifest={}) as made:
        for number, run in enumerate(runs, start=1):
            with made.making(str(run["id"])) as directory:
                write_run(directory, seconds=2, flows=2, limit=10 + number % 7, id=run["id"])
                RunDir(directory).write_status(RunStatus.SUSPECT if number <= suspect else RunStatus.OK, None)
                rows = [("flow", "bulk", "goodput_mbps", 5 + number / 1000)]
                RunDir(directory).write_metrics(pl.DataFrame(rows, schema=METRICS_SCHEMA, orient="row"))
        made.write_summary()
    return open_result(path)


def of_seeds(count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{seed}", "seed": seed, "point": {}} for seed in range(1, count + 1)]


def test_a_state_is_averaged_over_its_time() -> None:
    """4 for a quarter of the second second, 8 for the rest; nothing is known before."""
    curve = Curve(np.array([1.0, 1.25]), np.array([4.0, 8.0]))
    queue, window = (averaged(Quantity("s", "", "", "", steps=True, group=group), curve, 3) for group in ("", "bulk"))
    first, last = SPANS // 3, SPANS - 1
    assert len(queue.values) == SPANS
    assert np.isnan(queue.values[: first - 1]).all()
    assert (queue.values[first + 1], queue.values[last]) == (4, 8), "a queue stays as it is to the end"
    assert np.nanmax(window.values) == 4, "a flow ends with its last sample"
    assert np.isnan(window.values[last])
    half = Curve(np.array([0.0, 0.005]), np.array([2.0, 6.0]))
    assert averaged(Quantity("s", "", "", "", steps=True), half, 2).values[0] == pytest.approx(4), "half a span each"


def test_rare_samples_hold_until_the_next_but_gaps_stay() -> None:
    """A request a second, of which one had no reply: no blank figure, and no line through what is not known."""
    times = np.arange(0.0, 10)
    rtts = np.where(times == 5, np.nan, times)
    values = averaged(SAMPLES, Curve(times, rtts), 10).values
    assert np.isnan(values[100:120]).all(), "from 5 to 6 s nothing is known"
    assert np.isfinite(np.delete(values, np.arange(100, 120))).all()
    assert (values[0], values[99], values[120]) == (0, 4, 6)


def test_intervals_stay_as_they_are() -> None:
    curve = Curve(np.array([0.5, 2.5]), np.array([3.0, 9.0]))
    assert np.allclose(averaged(SECONDS, curve, 3).values, [3, np.nan, 9], equal_nan=True)


def test_the_flows_of_a_run_count_as_one() -> None:
    times = np.arange(3.0)
    mean = together([Curve(times, np.array([1.0, 2, np.nan])), Curve(times, np.array([3.0, np.nan, np.nan]))])
    assert np.allclose(mean.values, [2, 2, np.nan], equal_nan=True)


def test_the_median_and_its_bands() -> None:
    """0 to 100: quartiles at 25 and 75; none where fewer than half of the runs have a value."""
    times = np.arange(2.0)
    curves = [Curve(times, np.array([float(n), float(n) if n <= 40 else np.nan])) for n in range(101)]
    median, (wide, half) = across(curves)
    assert median.values[0] == 50
    assert (wide.lows[0], wide.highs[0], half.lows[0], half.highs[0]) == (5, 95, 25, 75)
    assert np.isnan(median.values[1])
    assert np.isnan(wide.lows[1])


@pytest.mark.slow
def test_many_seeds_are_one_picture(tmp_path: Path) -> None:
    result = make(tmp_path / "r", of_seeds(MAX_SEEDS + 2), suspect=1)
    (comparison,) = run_sets(result)
    assert comparison.together
    for quantity in comparison.runs[0].curves:
        spec = spec_of(result, comparison, quantity)
        (line,) = spec.variants
        assert [band.label for band in line.bands] == ["90 % of the runs", "middle half"]
        assert spec.legend_title == f"{MAX_SEEDS + 1} runs"
        assert "1 suspect run left out" in spec.left_out
    files = {file.name: file.read_text() for file in draw_comparisons(result, ("svg",))}
    assert not [name for name in files if "-each" in name]
    assert "middle half" in files["cwnd-bulk.svg"]
    assert "Jain's index over time" in files["jain-index.svg"], "two flows share"


@pytest.mark.slow
def test_suspect_runs_alone_are_called_so(tmp_path: Path) -> None:
    result = make(tmp_path / "r", of_seeds(MAX_SEEDS + 1), suspect=MAX_SEEDS + 1)
    (comparison,) = run_sets(result)
    spec = spec_of(result, comparison, next(iter(comparison.runs[0].curves)))
    assert spec.legend_title == f"{MAX_SEEDS + 1} suspect runs"
    assert "left out" not in spec.subtitle


@pytest.mark.slow
def test_names_are_all_drawn(tmp_path: Path) -> None:
    """A study of 29 cases, as `three-node` has, has them all in its figures."""
    names = ["plain", *("x" * count + "y" for count in range(1, 29))]
    runs = [{"id": name, "seed": 1, "point": {RATE: name}} for name in names]
    (comparison,) = run_sets(make(tmp_path / "r", runs, axes=(RATE,)))
    assert len(comparison.runs) == len(names) < MAX_PANELS


@pytest.mark.slow
def test_few_seeds_are_a_line_each(tmp_path: Path) -> None:
    result = make(tmp_path / "r", of_seeds(3))
    (comparison,) = run_sets(result)
    assert not comparison.together
    assert len(spec_of(result, comparison, next(iter(comparison.runs[0].curves))).variants) == 3


@pytest.mark.slow
def test_shares_of_many_seeds_are_one_panel(tmp_path: Path) -> None:
    result = make(tmp_path / "r", of_seeds(MAX_SEEDS + 1))
    (comparison,) = run_sets(result)
    assert shares_of(result, comparison) is None, "both flows have one name"
    for run in comparison.runs:
        goodput = next(quantity for quantity in run.curves if quantity.stem.startswith("throughput-"))
        other = Quantity(
            "throughput-b", "", goodput.how, goodput.axis, False, "b", goodput.secondary_axis, goodput.interval_s
        )
        run.curves[other] = run.curves[goodput]  # type: ignore[index]
    spec = shares_of(result, comparison)
    assert spec is not None
    (panel,) = spec.panels
    assert [(line.label, len(line.bands)) for line in panel.variants] == [("bulk", 2), ("b", 2)]
    assert f"medians of {MAX_SEEDS + 1} runs" in spec.subtitle


@pytest.mark.slow
def test_of_many_values_some_are_drawn(tmp_path: Path) -> None:
    rates = [f"{number**2}mbit" for number in range(1, 2 * MAX_ORDERED)]
    runs = [{"id": rate, "seed": 1, "point": {RATE: rate}} for rate in reversed(rates)]
    result = make(tmp_path / "r", runs, axes=(RATE,))
    (comparison,) = run_sets(result)
    assert len(comparison.runs) == len(comparison.labels) == MAX_ORDERED
    assert (comparison.labels[0], comparison.labels[-1]) == (rates[0], rates[-1])
    spec = spec_of(result, comparison, next(iter(comparison.runs[0].curves)))
    assert f"{MAX_ORDERED} of {len(rates)} values" in spec.left_out[0]
    (file,) = draw_metric(result.path, "flow.goodput_mbps", [RATE], kind="auto", formats=("svg",), out=tmp_path)
    assert "mathdefault" not in file.read_text(), "ticks of a log axis are plain numbers"


@pytest.mark.slow
@pytest.mark.parametrize(("count", "kind"), [(3, "bar"), (MAX_SEEDS + 1, "cdf")])
def test_seeds_are_no_numbers(tmp_path: Path, count: int, kind: str) -> None:
    result = make(tmp_path / "r", of_seeds(count))
    (file,) = draw_metric(result.path, "flow.goodput_mbps", ["seed"], kind="auto", formats=("svg",), out=tmp_path)
    assert file.name.endswith(f"-{kind}.svg")
    assert ("share of runs" in file.read_text()) == (kind == "cdf")

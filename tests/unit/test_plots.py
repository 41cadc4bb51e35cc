"""Figures: reduction without losing peaks, words and orders, files."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.plots import plot_result, style
from netwarp.plots.labels import is_ordered, natural_key, shortened_alike, slug, wrapped
from netwarp.plots.timeseries.series import reduce_series
from netwarp.store.result import create_result, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import METRICS_SCHEMA, RunDir
from synthetic import write_result, write_run

SERIES = st.lists(
    st.tuples(st.integers(0, 400), st.one_of(st.integers(-9, 9).map(float), st.just(float("nan")))), max_size=200
)


@settings(deadline=None)
@given(SERIES, st.integers(1, 12))
def test_reduction_keeps_every_peak(samples: list[tuple[int, float]], columns: int) -> None:
    samples.sort(key=lambda s: s[0])
    times = np.array([t for t, _ in samples], float)
    values = np.array([v for _, v in samples], float)
    few, kept = reduce_series(times, values, columns)
    assert len(few) == len(kept) <= 5 * columns
    assert np.all(np.diff(few) >= 0)
    original = {(t, v) for t, v in zip(times, np.nan_to_num(values, nan=99), strict=True)}
    assert set(zip(few, np.nan_to_num(kept, nan=99), strict=True)) <= original
    if not samples:
        return
    span = (times[-1] - times[0]) or 1.0
    column = np.minimum((times - times[0]) * (columns / span), columns - 1).astype(int)
    left = np.minimum((few - times[0]) * (columns / span), columns - 1).astype(int)
    for number in set(column):
        all_values, kept_values = values[column == number], kept[left == number]
        assert np.isnan(all_values).any() == np.isnan(kept_values).any()
        if not np.isnan(all_values).all():
            assert np.nanmin(all_values) == np.nanmin(kept_values)
            assert np.nanmax(all_values) == np.nanmax(kept_values)


def test_natural_order() -> None:
    limits = ["pfifo limit 100", "pfifo limit 20", "pfifo limit 60"]
    assert sorted(limits, key=natural_key) == ["pfifo limit 20", "pfifo limit 60", "pfifo limit 100"]
    assert sorted(["1mbit", "500kbit", "1gbit"], key=natural_key) == ["500kbit", "1mbit", "1gbit"]
    assert sorted([10, 2.5, 3], key=natural_key) == [2.5, 3, 10]
    assert sorted(["1s", "20ms", "500us"], key=natural_key) == ["500us", "20ms", "1s"]


def test_an_order_needs_one_shape() -> None:
    assert is_ordered(["pfifo limit 20", "pfifo limit 100"])
    assert is_ordered(["500kbit", "1mbit"])
    assert is_ordered([1, 2.5])
    assert not is_ordered(["cubic", "bbr"])
    assert not is_ordered(["pfifo limit 20", "fq_codel"])
    assert not is_ordered([True, False])


def test_long_labels_are_cut_where_they_stay_apart() -> None:
    red, other = "red limit 250000 min 25000 max 75000 avpkt 1500", "red limit 250000 min 50000 max 150000 avpkt 1500"
    assert shortened_alike(["codel", red]) == ["codel", "RED"]
    assert shortened_alike([red, other]) == ["RED min 25000 max 75000", "RED min 50000 max 150000"]
    assert shortened_alike([red, f"{other} ecn"]) == [red, f"{other} ecn"], "what stands for the same is not known"
    assert shortened_alike(["a long name of something that is not a queue discipline"]) == ["a long name of …"]


def test_words() -> None:
    assert slug("red limit 150000, probability 0.02") == "red-limit-150000-probability-0.02"
    assert wrapped("fq_codel limit 1000 target 5ms", 14) == "fq_codel limit\n1000 target\n5ms"


def test_drawing_leaves_the_backend_alone() -> None:
    """A notebook, for example, would no longer show its own figures: matplotlib does not restore the backend."""
    before = matplotlib.get_backend()
    matplotlib.use("svg")
    try:
        with style.drawing():
            assert matplotlib.rcParams["axes.spines.top"] == style.RC["axes.spines.top"]
        assert matplotlib.get_backend() == "svg"
    finally:
        matplotlib.use(before)


@pytest.mark.slow
def test_figures_of_a_sweep(tmp_path: Path) -> None:
    write_result(tmp_path / "a", (20, 100), seconds=2)
    before = dict(matplotlib.rcParams)
    files = plot_result(tmp_path / "a")
    assert dict(matplotlib.rcParams) == before
    stems = {"cwnd-bulk", "queue-bottleneck-r1", "rtt-bulk", "rtt-ping", "throughput-bulk"}
    wanted = {f"{s}{each}.{kind}" for s in stems for each in ("", "-each") for kind in ("png", "svg")}
    wanted |= {f"{s}.{kind}" for s in ("interfaces", "stack-bulk") for kind in ("png", "svg")}
    assert {f.name for f in files} == wanted
    svg = (tmp_path / "a" / "plots" / "cwnd-bulk.svg").read_text()
    for words in ("bottleneck queue", "pfifo limit 20", "congestion window (packets)", "time (s)", "synthetic"):
        assert words in svg
    write_result(tmp_path / "b", (20, 100), seconds=2)
    for one, other in zip(files, plot_result(tmp_path / "b"), strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def two_axes(path: Path) -> None:
    queue, control = "links.bottleneck.queue", "flows.bulk.cc"
    points = [{queue: f"pfifo limit {limit}", control: cc} for limit in (20, 40) for cc in ("cubic", "bbr")]
    runs = [{"id": f"r{point[queue][-2:]}{point[control]}", "seed": 1, "point": point} for point in points]
    plan: Any = {"name": "two", "axes": [queue, control], "runs": runs}
    with create_result(path, scenario_toml="", plan=plan, manifest={}) as result:
        for run in runs:
            with result.making(str(run["id"])) as directory:
                write_run(directory, seconds=1, id=run["id"])
                failed = run["id"] == "r40bbr"
                RunDir(directory).write_status(RunStatus.FAILED if failed else RunStatus.SUSPECT, "why")
                RunDir(directory).write_metrics(pl.DataFrame(schema=METRICS_SCHEMA))
        result.write_summary()


@pytest.mark.slow
def test_other_axes_and_failed_runs(tmp_path: Path) -> None:
    two_axes(tmp_path)
    names = {f.name for f in plot_result(tmp_path)}
    assert "cwnd-bulk--cubic-each.png" in names
    assert "cwnd-bulk--bbr.png" in names
    assert "cwnd-bulk--bbr-each.png" not in names, "of bbr one run is left, the other failed"
    svg = (open_result(tmp_path).plots / "cwnd-bulk--cubic.svg").read_text()
    assert "bulk cc cubic" in svg
    assert "(suspect)" in svg


def test_a_result_without_runs_has_no_figures(tmp_path: Path) -> None:
    plan: Any = {"name": "none", "axes": [], "runs": [{"id": "a", "seed": 1, "point": {}}]}
    with create_result(tmp_path, scenario_toml="", plan=plan, manifest={}) as result:
        result.write_summary()
    assert plot_result(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("flows", [1, 3])
def test_seeds_are_compared_without_axes(tmp_path: Path, flows: int) -> None:
    runs: list[dict[str, Any]] = [{"id": f"r{seed}", "seed": seed, "point": {}} for seed in (1, 2)]
    plan: Any = {"name": "s", "runs": runs}
    with create_result(tmp_path, scenario_toml="", plan=plan, manifest={}) as result:
        for run in runs:
            with result.making(str(run["id"])) as directory:
                write_run(directory, seconds=1, flows=flows, id=run["id"], seed=run["seed"])
                RunDir(directory).write_status(RunStatus.OK, None)
                RunDir(directory).write_metrics(pl.DataFrame(schema=METRICS_SCHEMA))
        result.write_summary()
    assert "cwnd-bulk-each.png" in {f.name for f in plot_result(tmp_path)}

"""What figures compare: axes, cases and the baseline; rates that change; axes that fit the values."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.plots.legibility import striped
from netwarp.plots.timeseries import figure, strip
from netwarp.plots.timeseries.comparison import TUNER, run_sets
from netwarp.plots.timeseries.curves import schedules
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, Variant
from netwarp.plots.timeseries.figure_specs import shares_of, spec_of
from netwarp.plots.timeseries.result import draw_comparisons
from netwarp.plots.timeseries.scale import log_ticks, wants_log
from netwarp.plots.timeseries.spread import across
from netwarp.store.description import Description, End
from netwarp.store.result import ResultDir, create_result, open_result
from netwarp.store.rundir import METRICS_SCHEMA, RunDir
from synthetic import write_run

RATE, DELAY, QUEUE = "links.h1.rate", "links.h1.delay", "links.b.queue"
CASES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "20": {RATE: "20mbit"},
    "5": {RATE: "5mbit"},
    "far": {DELAY: "1s"},
    "both": {RATE: "5mbit", DELAY: "1s"},
}


def make(path: Path, runs: list[dict[str, Any]], axes: tuple[str, ...] = ()) -> ResultDir:
    """A result of these runs, the cases' settings and the baseline in its plan; runs named "broken" have failed."""
    usual = {RATE: "10mbit", DELAY: None}
    plan = {
        "name": "made",
        "axes": axes,
        "runs": runs,
        "cases": CASES,
        "baseline": {"case": "as it is", "usual": usual},
    }
    with create_result(path, scenario_toml="", plan=plan, manifest={}) as result:
        for run in runs:
            with result.making(str(run["id"])) as directory:
                write_run(directory, seconds=1, id=run["id"])
                failed = str(run["id"]).startswith("broken")
                RunDir(directory).write_status("failed" if failed else "ok", "it broke" if failed else None)
                RunDir(directory).write_metrics(pl.DataFrame(schema=METRICS_SCHEMA))
        result.write_summary()
    return open_result(path)


def one_of_each(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"r{number}", "seed": 1, "point": {}, "case": name} for number, name in enumerate(names)]


def test_cases_that_set_the_same_are_compared_with_the_baseline(tmp_path: Path) -> None:
    rate, delay, both = run_sets(make(tmp_path / "r", one_of_each(*CASES)))
    assert (rate.differs, rate.labels, rate.stem) == ("h1 rate", ["5mbit", "20mbit"], "links.h1.rate")
    assert [label for label, _ in rate.references] == ["10mbit (as it is)"]
    assert (delay.differs, delay.labels) == ("h1 delay", ["1s"])
    assert [label for label, _ in delay.references] == ["as it is"], "the scenario does not say what it is"
    assert (both.differs, both.labels) == ("case", ["both"])
    assert [run.point["case"] for run in rate.runs] == ["5", "20"]
    reference = rate.reference_of(rate.runs[1])
    assert reference is not None
    assert reference[1].point["case"] == "as it is"


@pytest.mark.slow
def test_a_reference_is_drawn_behind(tmp_path: Path) -> None:
    result = make(tmp_path / "r", one_of_each("as it is", "5", "20"))
    (rate,) = run_sets(result)
    spec = spec_of(result, rate, next(iter(rate.runs[0].curves)))
    assert [variant.reference for variant in spec.variants] == [True, False, False]
    assert [[v.label for v in panel.variants] for panel in spec.shown_alone] == [
        ["10mbit (as it is)", "5mbit"],
        ["10mbit (as it is)", "20mbit"],
    ]
    files = draw_comparisons(result, ("svg",))
    assert "cwnd-bulk--links.h1.rate-each.svg" in {file.name for file in files}
    for name in ("cwnd-bulk--links.h1.rate.svg", "cwnd-bulk--links.h1.rate-each.svg"):
        assert "10mbit (as it is)" in (result.plots / name).read_text()


@pytest.mark.slow
def test_a_grid_with_a_hole(tmp_path: Path) -> None:
    """Five panels stand in three rows of two, and each row has its second axis."""
    result = make(tmp_path / "r", [{"id": f"r{seed}", "seed": seed, "point": {}} for seed in range(5)])
    files = {file.name: file for file in draw_comparisons(result, ("svg",))}
    assert files["throughput-bulk-each.svg"].read_text().count("transfer (kB in each") == 1


@pytest.mark.parametrize("left", [("as it is",), ("5", "20")])
def test_part_of_a_study(tmp_path: Path, left: tuple[str, ...]) -> None:
    """The baseline alone, or without it, is drawn like anything else."""
    (only,) = run_sets(make(tmp_path / "r", one_of_each(*left)))
    assert (len(only.runs), only.references) == (len(left), [] if len(left) > 1 else ())


@pytest.mark.slow
def test_each_run_with_its_like_in_the_baseline(tmp_path: Path) -> None:
    queues = ("pfifo", "fq_codel")
    runs = [
        {"id": f"{queue}{case[0]}", "seed": 1, "point": {QUEUE: queue}, "case": case}
        for case in ("as it is", "5")
        for queue in queues
    ]
    result = make(tmp_path / "r", runs, (QUEUE,))
    usual, slow = run_sets(result)
    assert (usual.labels, usual.references) == (["pfifo", "fq_codel"], ())
    assert [run.point for _, run in slow.references] == [{"case": "as it is", QUEUE: queue} for queue in queues]
    second = slow.reference_of(slow.runs[1])
    assert second is not None
    assert second[1].point[QUEUE] == "fq_codel"
    assert not [v for v in spec_of(result, slow, next(iter(slow.runs[0].curves))).variants if v.reference]
    assert shares_of(result, slow) is None, "one flow alone has nobody to share with"
    runs[0]["id"] = "broken"
    _, slow = run_sets(make(tmp_path / "s", runs, (QUEUE,)))
    assert slow.references == (), "a reference for some of the panels alone would mislead"


def end(link: str, node: str, *rates: tuple[int, int]) -> End:
    return End(f"{link}:{node}", link, node, 1, rates)


def test_rates_that_change() -> None:
    steps = ((-(2**62), 10**8), (10**9, 10**8), (2 * 10**9, 10**6))
    ends = (end("a", "h1", *steps), end("a", "r1", *steps), end("b", "r1", steps[0]), end("b", "h2", *steps))
    found = schedules(Description("r", 1, "", {}, 0, 3 * 10**9, 0, (), ends))
    assert [(schedule.label, schedule.steps) for schedule in found] == [
        ("a", ((0, 100), (2, 1))),
        ("b", ((0, 100), (2, 1))),
    ]


def test_values_decades_apart_get_a_log_axis() -> None:
    ramp = np.linspace(1, 2, 100)
    assert wants_log([ramp, 100 * ramp])
    assert not wants_log([ramp, 10 * ramp])
    assert not wants_log([np.concatenate([ramp, [1e6]])]), "one peak is no reason"
    often_empty = np.concatenate([np.zeros(50), ramp])
    assert not wants_log([often_empty, 10 * ramp])
    assert wants_log([often_empty, 1000 * ramp])
    assert not wants_log([np.zeros(9)])
    assert not wants_log([])


def test_ticks_of_a_log_axis() -> None:
    assert log_ticks(0.9, 110, 4) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(0.9, 110, 3) == [1, 3, 10, 30, 100]
    assert log_ticks(0.9, 1.1e6, 4) == [1, 10, 100, 1000, 10**4, 10**5, 10**6]
    assert log_ticks(0.9, 1.1e6, 2) == [1, 100, 10**4, 10**6]


def test_tuners_are_compared_with_the_default(tmp_path: Path) -> None:
    """Whatever else is swept: in one figure, the default behind them."""
    runs = [
        {"id": f"{queue}{tuner}", "seed": 1, "point": {QUEUE: queue, TUNER: tuner}}
        for queue in ("pfifo", "fq_codel")
        for tuner in ("default", "small", "large")
    ]
    sets = list(run_sets(make(tmp_path / "r", runs, (QUEUE, TUNER))))
    assert [(s.differs, s.labels, s.rest) for s in sets] == [
        ("run tuner", ["small", "large"], {QUEUE: queue}) for queue in ("pfifo", "fq_codel")
    ]
    references = [[(label, run.point[TUNER]) for label, run in s.references] for s in sets]
    assert references == [[("default", "default")], [("default", "default")]]
    (alone,) = run_sets(make(tmp_path / "s", runs[:1], (QUEUE, TUNER)))
    assert (alone.labels, alone.references) == (["default"], ())


def test_labels_beside_a_strip_can_be_told_apart() -> None:
    assert strip.distinct(["bbr", "cubic"]) == ["bbr", "cubic"]
    assert strip.distinct(["", "pfifo limit 33", "pfifo limit 132"]) == ["", "… 33", "… 132"]


def test_lines_of_a_trace_are_not_spoken_of() -> None:
    """Of changes that are too many for lines, no subtitle says that they are dashed."""
    spec = FigureSpec(Quantity("rtt-a", "RTT", "", "RTT (ms)", False, "a"), "", "", 10.0, [])
    few, many = (replace(spec, changes=[(at / 10, f"change {at}") for at in range(count)]) for count in (3, 40))
    assert strip.marks(few) == [0.0, 0.1, 0.2] and strip.marks(many) == []
    assert figure._spoken(few) == ["dashed: change 0; change 1; change 2"] and figure._spoken(many) == []


def test_the_median_of_flows_is_of_those_that_are_there() -> None:
    times = np.arange(4.0)
    always, late = np.full(4, 2.0), np.array([np.nan, np.nan, np.nan, 5.0])
    curves = [Curve(times, always), *[Curve(times, late)] * 3]
    assert across(curves)[0].values[:3].tolist() != [2.0] * 3
    assert across(curves, "flows", least=0)[0].values.tolist() == [2.0, 2.0, 2.0, 5.0]


def test_what_stands_apart_on_a_log_axis_is_not_striped() -> None:
    times = np.arange(10.0)
    levels = {"3": 3.0, "3.4": 3.4, "3 again": 3.0, "300": 300.0}
    drawn = [Variant(label, label, "-", [Curve(times, np.full(10, level))]) for label, level in levels.items()]
    quantity = Quantity("stem", "", "", "rate (Mbit/s)", False)
    spec = FigureSpec(quantity, "", "", 9.0, drawn)
    linear, words = striped(spec, alone=False, log=False)
    assert words
    assert [variant.dash != "-" for variant in linear.variants] == [True, True, True, False]
    apart, _ = striped(spec, alone=False, log=True)
    assert [variant.dash != "-" for variant in apart.variants] == [True, False, True, False]

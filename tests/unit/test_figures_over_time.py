"""Comparisons in figures: axes, cases and the baseline; rates that change; axes that fit the values."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.plots import chosen, style
from netwarp.plots.charts.overview import Wish
from netwarp.plots.colours import CATEGORICAL, OWN, pale
from netwarp.plots.legibility import IN_TURNS, in_turns
from netwarp.plots.look import Look, looking
from netwarp.plots.timeseries import figure, strip
from netwarp.plots.timeseries.comparison import TUNER, run_sets
from netwarp.plots.timeseries.curves import schedules
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, SecondaryAxis, Variant
from netwarp.plots.timeseries.figure_specs import shares_of, spec_of
from netwarp.plots.timeseries.kinds import KINDS, kind_of
from netwarp.plots.timeseries.kinds.stack import stacks_of
from netwarp.plots.timeseries.result import Figure, draw_comparisons, figures_of_set
from netwarp.plots.timeseries.run_set import PlottedRun, RunSet
from netwarp.plots.timeseries.scale import log_ticks, set_scale, wants_log
from netwarp.plots.timeseries.spread import across
from netwarp.report.page import _set_by_cases
from netwarp.store.description import Description, End
from netwarp.store.result import ResultDir, create_result, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import METRICS_SCHEMA, RunDir
from synthetic import write_run

RATE, DELAY, QUEUE = "links.h1.rate", "links.h1.delay", "links.b.queue"
CONTROL = "flows.bulk.cc"
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
    plan: Any = {
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
                RunDir(directory).write_status(
                    RunStatus.FAILED if failed else RunStatus.OK, "it broke" if failed else None
                )
                RunDir(directory).write_metrics(pl.DataFrame(schema=METRICS_SCHEMA))
        result.write_summary()
    return open_result(path)


def one_of_each(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"r{number}", "seed": 1, "point": {}, "case": name} for number, name in enumerate(names)]


@pytest.mark.slow
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
    """Five panels are in three rows of two, and each row has its second axis."""
    result = make(tmp_path / "r", [{"id": f"r{seed}", "seed": seed, "point": {}} for seed in range(5)])
    files = {file.name: file for file in draw_comparisons(result, ("svg",))}
    assert files["throughput-bulk-each.svg"].read_text().count("transfer (kB in each") == 1


@pytest.mark.parametrize("left", [("as it is",), ("5", "20")])
def test_part_of_a_study(tmp_path: Path, left: tuple[str, ...]) -> None:
    """The baseline alone, or the study without it, is drawn like anything else."""
    (only,) = run_sets(make(tmp_path / "r", one_of_each(*left)))
    assert (len(only.runs), list(only.references)) == (len(left), [])


@pytest.mark.slow
def test_each_run_with_its_like_in_the_baseline(tmp_path: Path) -> None:
    queues = ("pfifo", "fq_codel")
    runs = [
        {"id": f"{queue}{case[0]}", "seed": 1, "point": {QUEUE: queue}, "case": case}
        for case in ("as it is", "5")
        for queue in queues
    ]
    result = make(tmp_path / "r", runs, (QUEUE,))
    usual, slow, *by_case = run_sets(result)
    assert [one.stem for one in by_case] == ["by-case-pfifo", "by-case-fq-codel"]
    assert (usual.labels, usual.references) == (["pfifo", "fq_codel"], ())
    assert [run.point for _, run in slow.references] == [{"case": "as it is", QUEUE: queue} for queue in queues]
    second = slow.reference_of(slow.runs[1])
    assert second is not None
    assert second[1].point[QUEUE] == "fq_codel"
    assert not [v for v in spec_of(result, slow, next(iter(slow.runs[0].curves))).variants if v.reference]
    assert shares_of(result, slow) is None, "one flow alone has no other to share with"
    runs[0]["id"] = "broken"
    _, slow, *_ = run_sets(make(tmp_path / "s", runs, (QUEUE,)))
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
    assert not wants_log([np.concatenate([ramp, [1e6]])]), "one peak is not a reason"
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


@pytest.mark.slow
def test_tuners_are_compared_with_the_default(tmp_path: Path) -> None:
    """With any other axis: in one figure, the default behind them."""
    runs = [
        {"id": f"{queue}{tuner}", "seed": 1, "point": {QUEUE: queue, TUNER: tuner}}
        for queue in ("pfifo", "fq_codel")
        for tuner in ("default", "small", "large")
    ]
    every = list(run_sets(make(tmp_path / "r", runs, (QUEUE, TUNER))))
    sets = [one for one in every if one.differs == "run tuner"]
    assert [one.labels for one in every[len(sets) :]] == [["pfifo", "fq_codel"]] * 3, "the queues after that"
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
    """With changes that are too many for lines, no subtitle mentions dashed lines."""
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


def level(label: str, *heights: float) -> Variant:
    """A curve of these heights, each for an equal part of 100 s."""
    times = np.linspace(0.0, 100.0, 1001)
    values = np.repeat(np.array(heights), -(-1001 // len(heights)))[:1001]
    return Variant(label, "blue", "-", [Curve(times, values)])


def seconds_in_front(spec: FigureSpec) -> list[float]:
    drawn, _ = in_turns(spec, alone=False)
    return [sum(end - begin for begin, end in variant.in_front[0]) for variant in drawn.variants]


LEVELS = FigureSpec(Quantity("stem", "", "", "rate (Mbit/s)", False), "", "", 100.0, [])


def test_what_stands_apart_on_a_log_axis_takes_no_turns() -> None:
    """3 and 3.4 coincide on an axis up to 300 unless that is logarithmic."""
    drawn = [level(label, height) for label, height in (("3", 3.0), ("3.4", 3.4), ("3 again", 3.0), ("300", 300.0))]
    first, second, third, fourth = seconds_in_front(replace(LEVELS, variants=drawn, linear=True))
    assert first == pytest.approx(100 / 3, abs=3) and second == pytest.approx(100 / 3, abs=3)
    assert third == pytest.approx(100 / 3, abs=3) and fourth == 0
    first, second, third, fourth = seconds_in_front(replace(LEVELS, variants=drawn))
    assert first == pytest.approx(50, abs=3) and third == pytest.approx(50, abs=3)
    assert (second, fourth) == (0, 0)


def test_curves_take_turns_only_where_they_coincide() -> None:
    """Two that coincide for 80 s and diverge for 20 s are not marked where they diverge."""
    spec = replace(LEVELS, variants=[level("one", 5, 5, 5, 5, 9), level("other", 5, 5, 5, 5, 1)])
    drawn, notes = in_turns(spec, alone=False)
    assert notes == [IN_TURNS]
    assert all(end <= 85 for variant in drawn.variants for _, end in variant.in_front[0])
    assert [variant.dash for variant in drawn.variants] == ["-", "-"]
    apart, notes = in_turns(replace(spec, variants=[level("one", 5), level("other", 5.3)]), alone=False)
    assert notes == [] and not any(variant.in_front[0] for variant in apart.variants)


def test_a_curve_within_the_ink_of_another_is_in_front_of_it() -> None:
    """CoDel's RTT swings around fq_codel's, which was hidden behind it."""
    times = np.linspace(0.0, 100.0, 5001)
    swings = Variant("swings", "red", "-", [Curve(times, 5 + 4 * np.sin(40 * times))])
    spec = replace(LEVELS, variants=[level("calm", 5), swings])
    drawn, notes = in_turns(spec, alone=False)
    assert notes == []
    (stretch,) = drawn.variants[0].in_front[0]
    assert stretch == pytest.approx((0, 100)) and not drawn.variants[1].in_front[0]


def test_the_lowest_value_is_on_the_axis() -> None:
    """A window of one packet for a moment, where others have hundreds."""
    times = np.arange(1000.0)
    values = np.where(times == 500, 1.0, 20.0)
    high = Variant("high", "red", "-", [Curve(times, np.full(1000, 900.0))])
    spec = FigureSpec(Quantity("cwnd-a", "", "", "window", True, "a"), "", "", 1000.0, [high])
    spec = replace(spec, variants=[high, Variant("low", "blue", "-", [Curve(times, values)])])
    with style.drawing():
        axes = style.new_figure(3.0).add_subplot()
        set_scale(axes, spec, ticks=6)
    assert axes.get_yscale() == "log" and axes.get_ylim()[0] < 1


def test_the_second_axis_has_round_numbers() -> None:
    """Its ticks were beside those of the first: 312.5 and 937.5 kB at 2.5 and 7.5 Mbit/s."""
    second = SecondaryAxis("", "transfer (kB)", 125.0)
    quantity = replace(LEVELS.quantity, secondary_axis=second, interval_s=1.0)
    with style.drawing():
        drawn = figure.multiples(replace(LEVELS, quantity=quantity, variants=[level("one", 9.6), level("two", 5)]))
    ticks = [tick for axes in drawn.axes[-1:] for tick in axes.get_yticks()]
    assert len(ticks) > 2 and all(tick % 100 == 0 for tick in ticks), ticks


def test_two_baselines_are_told_apart(tmp_path: Path) -> None:
    """TCP's and UDP's goodput without the tuner were both grey."""
    runs = [{"id": f"r{tuner}", "seed": 1, "point": {TUNER: tuner}} for tuner in ("default", "small")]
    result = make(tmp_path / "r", runs, (TUNER,))
    (compared,) = run_sets(result)
    one = next(q for q in compared.runs[0].curves if q.stem.startswith("throughput-"))

    def both(run: PlottedRun) -> PlottedRun:
        other = replace(one, stem="throughput-other", group="other")
        return replace(run, curves={**run.curves, other: run.curves[one]})

    references = [(label, both(run)) for label, run in compared.references]
    spec = shares_of(result, replace(compared, runs=[both(run) for run in compared.runs], references=references))
    assert spec is not None
    colours = {variant.label: variant.colour for variant in spec.variants}
    assert len(set(colours.values())) == 4, colours
    assert colours["bulk, default"] == pale(colours["bulk"])


@pytest.mark.slow
def test_a_colour_stays_with_its_value(tmp_path: Path) -> None:
    """However many of the values are drawn, and even if one of them has no records."""
    rates = ["1mbit", "2mbit", "4mbit"]
    runs: list[dict[str, Any]] = [{"id": rate, "seed": 1, "point": {RATE: rate}} for rate in rates]
    result = make(tmp_path / "r", runs, (RATE,))
    (compared,) = run_sets(result)
    quantity = next(iter(compared.runs[0].curves))
    whole = {variant.label: variant.colour for variant in spec_of(result, compared, quantity).variants}
    with looking(Look(only=("1mbit", "4mbit"))):
        (some,) = run_sets(result)
        assert {v.label: v.colour for v in spec_of(result, some, quantity).variants}.items() <= whole.items()
    middle = replace(compared.runs[1], curves={})
    without = replace(compared, runs=[compared.runs[0], middle, compared.runs[2]])
    spec = spec_of(result, without, quantity)
    assert {v.label: v.colour for v in spec.variants}.items() <= whole.items()
    assert spec.left_out == ["nothing recorded of it: 2mbit"]
    alone = replace(compared, runs=[compared.runs[0], middle, replace(compared.runs[2], curves={})])
    assert spec_of(result, alone, quantity).left_out == ["1mbit alone; nothing recorded of it: 2mbit, 4mbit"]


def test_what_is_left_out_is_said_without_a_title() -> None:
    spec = replace(LEVELS, variants=[level("one", 5)], left_out=["1 failed run left out"])
    for title in (True, False):
        with looking(Look(title=title)), style.drawing():
            words = [text.get_text() for text in figure.overlay(spec).texts]
        assert any("1 failed run left out" in text for text in words)


@pytest.mark.slow
def test_stacks_have_all_values(tmp_path: Path) -> None:
    """If queues have no order, no figure takes only the first three."""
    queues = ["pfifo", "codel", "fq_codel", "cake"]
    runs = [{"id": queue, "seed": 1, "point": {QUEUE: queue}} for queue in queues]
    result = make(tmp_path / "r", runs, (QUEUE,))
    (compared,) = run_sets(result)
    stacks = [(name, number, stack) for name, number, stack in stacks_of(result, compared)]
    assert [(name, number) for name, number, _ in stacks] == [("stack-bulk", 1), ("stack-bulk", 2)]
    shown = [variant.label for _, _, stack in stacks for variant in stack.columns[0][0].variants]
    assert shown == queues


@pytest.mark.slow
def test_each_axis_is_compared(tmp_path: Path) -> None:
    """Congestion controls, too, and not only the queues that are swept first."""
    runs = [
        {"id": f"{queue}{at}", "seed": 1, "point": {QUEUE: queue, CONTROL: cc}}
        for queue in ("pfifo", "fq_codel")
        for at, cc in enumerate(("cubic", "file:./tcp_mine.c", "bbr"))
    ]
    result = make(tmp_path / "r", runs, (QUEUE, CONTROL))
    sets = {compared.stem: compared for compared in run_sets(result)}
    assert list(sets) == ["cubic", "mine", "bbr", "by-bulk-cc-pfifo", "by-bulk-cc-fq-codel"]
    by_control = sets["by-bulk-cc-pfifo"]
    assert (by_control.differs, by_control.labels) == ("bulk cc", ["cubic", "mine", "bbr"])
    assert by_control.looks[0] == (CATEGORICAL[0], "-") and by_control.looks[1][0] in OWN


def queues_and_controls(path: Path) -> ResultDir:
    runs = [
        {"id": f"{queue}{cc}", "seed": 1, "point": {QUEUE: queue, CONTROL: cc}}
        for queue in ("pfifo", "fq_codel")
        for cc in ("cubic", "reno", "bbr")
    ]
    return make(path, runs, (QUEUE, CONTROL))


@pytest.mark.slow
def test_a_run_draws_what_says_most(tmp_path: Path) -> None:
    """At most twelve figures, of each axis, and the commands for the others, whose records are not read."""
    found = chosen._Found(queues_and_controls(tmp_path / "r"))
    found.take_most_telling()
    stems = [entry.stem for entry in found.entries]
    assert 4 <= len(stems) <= chosen.MOST
    assert {"rtt-bulk--cubic", "cwnd-bulk--cubic"} <= set(stems)
    assert any(stem.endswith("--by-bulk-cc-pfifo") for stem in stems), "congestion controls are compared, too"
    assert {"netwarp plot DIR '*--reno*'", "netwarp plot DIR '*--by-bulk-cc-fq-codel*'"} <= set(found.left)
    assert not {f"netwarp plot DIR {stem}" for stem in stems} & set(found.left)


@pytest.mark.slow
def test_a_run_draws_what_its_scenario_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(result: ResultDir, one: RunSet) -> Iterator[Figure]:
        read.append(one.stem)
        return figures_of_set(result, one)

    monkeypatch.setattr(chosen, "figures_of_set", noted)
    found = chosen._Found(queues_and_controls(tmp_path / "r"))
    assert found.take(["cwnd-bulk--cubic", "rtt-ping-*--cubic", "tuners", Wish("flow.nothing", (QUEUE,))])
    assert [entry.stem for entry in found.entries] == ["cwnd-bulk--cubic"], "and not its panels"
    assert read == ["cubic"], "the records of no other comparison"
    assert found.missing == [
        "there is no figure rtt-ping-*--cubic",
        "there is no figure tuners",
        "no run that counts has flow.nothing by links.b.queue",
    ]
    other = queues_and_controls(tmp_path / "s")
    assert not chosen._Found(other).take(["cwnd-other"]), "so that the most telling ones are drawn"
    assert chosen._Found(other).take(["monitor-rtt-*"]), "a view draws it, and nothing else is asked for"


def test_what_cases_change_is_blue_in_the_report(tmp_path: Path) -> None:
    """Rate and delay of the link that cases set; they were black, as if all runs had them."""
    result = make(tmp_path / "r", one_of_each(*CASES))
    assert _set_by_cases(result, list(CASES)) == {RATE: "3 values", DELAY: "2 values"}
    assert _set_by_cases(result, ["20"]) == {}


def test_a_kind_is_found_by_the_names_of_its_figures() -> None:
    for kind in KINDS:
        assert kind_of(f"{kind.prefix}x") is kind
        assert kind.names.startswith(f"`{kind.prefix}"), "as docs/figures.md has it"
    readers = [name for kind in KINDS for name in kind.readers]
    assert len(readers) == len(set(readers))
    assert kind_of("monitor-rtt") is None

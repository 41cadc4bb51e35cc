"""Figures that a user names: their choice, their labels, and that each kind draws."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.catalogue.metrics import label_of
from netwarp.analysis.flow.phases import Phase, Span, bbr_spans
from netwarp.analysis.run.distribution import distributed_stem
from netwarp.analysis.summary.selection import select
from netwarp.lab_format.model import read_lab
from netwarp.plots import style
from netwarp.plots.charts.chart import Chart, value_text, value_texts, wants_log
from netwarp.plots.charts.kinds import draw_chart
from netwarp.plots.charts.metric import charts, draw_metric
from netwarp.plots.charts.overview import wishes
from netwarp.plots.colours import CATEGORICAL, OWN, looks
from netwarp.plots.formats import formats_of
from netwarp.plots.labels import in_order, numbers_of
from netwarp.plots.look import Look, looking
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity
from netwarp.plots.timeseries.strip import change_rows
from netwarp.plots.timeseries.tasks import Task, shares
from netwarp.plots.values import of_values, shown_as
from netwarp.stats.censoring import Durations, held
from netwarp.stats.weighting import TimeWeighted, cumulative
from netwarp.store.description import changes_of
from netwarp.store.errors import SelectionError
from netwarp.store.result import create_result, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import METRICS_SCHEMA, RunDir
from synthetic import write_result

from bench.legible import problems

QUEUE, CONTROL = "links.b.queue", "flows.bulk.cc"


def test_phases_of_bbr() -> None:
    pacing = np.array([739, 739, 88, 320, 192, 256, 256, 256])
    window = np.array([739, 739, 739, 512, 512, 512, 256, 512])
    times = np.arange(8, dtype=np.int64) * 10**9
    assert bbr_spans(times, pacing, window, 9 * 10**9) == [
        Span(Phase.STARTUP, 0, 2),
        Span(Phase.DRAIN, 2, 3),
        Span(Phase.PROBE_BW, 3, 6),
        Span(Phase.PROBE_RTT, 6, 7),
        Span(Phase.PROBE_BW, 7, 9),
    ]
    assert bbr_spans(times[:0], pacing[:0], window[:0], 1) == []


def test_changes_in_words() -> None:
    def wire(rate: int, delay: int) -> dict[str, object]:
        return {"rate_bps": rate, "delay_ns": delay, "loss": None}

    ends = [{"index": index, "node": node, "wire": wire(10**7, 10**7)} for index, node in ((13, "r1"), (14, "h2"))]
    queue = {"handle": 16, "kind": "pfifo", "options": ["limit", "10"], "in_place": True}
    changes = [
        {"at_ns": 10**9, "link": "b", "index": 13, "wire": wire(4 * 10**6, 10**7), "queue": None},
        {"at_ns": 10**9, "link": "b", "index": 14, "wire": wire(4 * 10**6, 10**7), "queue": None},
        {"at_ns": 2 * 10**9, "link": "b", "index": 13, "wire": None, "queue": queue},
        {"at_ns": 3 * 10**9, "link": "b", "index": 13, "wire": wire(4 * 10**6, 5 * 10**7), "queue": None},
    ]
    found = changes_of(
        read_lab({"duration_ns": 1, "flows": [], "links": [{"name": "b", "ends": ends}], "changes": changes})
    )
    assert [(change.at_ns // 10**9, change.what) for change in found] == [
        (1, "b: rate 10 → 4 Mbit/s"),
        (2, "b: queue pfifo limit 10"),
        (3, "b: delay 10 → 50 ms"),
    ]


def test_changes_keep_apart() -> None:
    quantity = Quantity("q", "t", "", "y", False)
    spec = FigureSpec(quantity, "", "", 100.0, [], [(10, "a long sentence here"), (12, "another"), (60, "third")])
    rows = change_rows(spec, 6.0)
    assert [[words for _, words in row] for row in rows] == [["a long sentence here", "third"], ["another"]]


def test_numbers_of_an_axis() -> None:
    limits = numbers_of(["pfifo limit 20", "pfifo limit 100"])
    assert limits is not None
    assert (limits.values, limits.labels, limits.words) == ([20, 100], ["20", "100"], " (pfifo limit …)")
    rates = numbers_of(["500kbit", "1mbit"])
    assert rates is not None
    assert (rates.values, rates.labels, rates.words) == ([5e5, 1e6], ["500kbit", "1mbit"], "")
    mbit = numbers_of(["90mbit", "100mbit"])
    assert mbit is not None
    assert (mbit.values, mbit.labels, mbit.words) == ([9e7, 1e8], ["90", "100"], " (Mbit/s)")
    delays = numbers_of(["10ms", "150ms"])
    assert delays is not None and (delays.labels, delays.words) == (["10", "150"], " (ms)")
    assert numbers_of(["red min 1 max 2", "red min 2 max 4"]) is None, "two numbers differ"
    assert numbers_of(["cubic", "bbr"]) is None
    bare = numbers_of([1, 2.5])
    assert bare is not None
    assert bare.labels == ["1", "2.5"]


def test_values_with_an_order_are_in_it() -> None:
    assert in_order(["limit 100", None, "limit 20"]) == [None, "limit 20", "limit 100"]
    assert in_order(["second", "first", "cubic"]) == ["second", "first", "cubic"], "the plan's order, no alphabet's"
    assert in_order([]) == []


def test_labels_of_metrics() -> None:
    assert label_of("flow", "rtt_ms_p95") == "RTT, 95th percentile (ms)"
    assert label_of("flow", "goodput_mbps") == "goodput (Mbit/s)"
    assert label_of("queue", "length_pkts_max") == "queue length, maximum (packets)"
    assert label_of("queue", "length_pkts_min") == "queue length, minimum (packets)"
    assert label_of("flow", "cwnd_pkts_first_peak") == "congestion window, first peak (packets)"
    assert label_of("run", "jain_index") == "Jain's fairness index"
    assert label_of("flow", "rtt_ms") == "RTT (ms)"
    assert label_of("queue", "drops_overlimit") == "dropped packets, overlimit"
    assert label_of("flow", "bbr_probe_bw_pct") == "time in BBR's ProbeBW (%)"
    assert label_of("run", "of_another_version") == "run of another version"


def test_values_as_printed() -> None:
    assert [value_text(v) for v in (0, 0.01234, 9.5487, 30, 119.66, 12345.6)] == [
        "0",
        "0.0123",
        "9.55",
        "30",
        "120",
        "12\u2009346",
    ]
    assert wants_log([1, 100])
    assert not wants_log([0, 100])
    assert not wants_log([10, 100])


def test_values_beside_each_other_have_as_many_digits() -> None:
    assert value_texts([0.998, 1.0, 0.9]) == ["0.998", "1.000", "0.900"]
    assert value_texts([9.551, 9.5, float("nan")]) == ["9.55", "9.50", "nan"]
    assert value_texts([34, 28, 100]) == ["34", "28", "100"], "counts have none"
    assert value_texts([0.5, 1234.5]) == ["0.500", "1\u2009234"], "decades apart each by itself"
    assert value_texts([0.0848, 0.46, 0, 0.93]) == ["0.0848", "0.460", "0", "0.930"], "three digits each"
    assert value_texts([float("nan")]) == ["nan"]
    assert value_texts([0, 0.25]) == ["0", "0.250"]
    assert value_texts([]) == []


def test_formats() -> None:
    assert formats_of("png, pdf,png") == ("png", "pdf")
    for wrong in ("gif", ","):
        with pytest.raises(SelectionError):
            formats_of(wrong)


def test_a_distribution_ends_where_the_rest_is_only_known_to_be_greater() -> None:
    values, shares = cumulative(held(Durations(np.array([1.0, 2, 5, 5]), np.array([True, True, False, False]))))
    assert values.tolist() == [1, 2]
    assert shares.tolist() == [0.25, 0.5]


def test_the_distribution_function() -> None:
    held = TimeWeighted(np.array([3.0, 1.0, 2.0]), np.array([2, 1, 1]))
    values, parts = cumulative(held)
    assert values.tolist() == [1, 2, 3]
    assert parts.tolist() == [0.25, 0.5, 1]
    many = TimeWeighted(np.random.default_rng(1).random(10_000), np.ones(10_000, np.int64))
    values, parts = cumulative(many)
    assert len(values) <= 601
    assert (values[-1], parts[-1]) == (many.values.max(), 1)
    assert distributed_stem("sojourn_ms_p95") == "sojourn_ms"
    assert distributed_stem("goodput_mbps") is None


def test_work_is_dealt_out_evenly() -> None:
    spec = FigureSpec(Quantity("q", "t", "", "y", False), "", "", 1.0, [])
    tasks = [Task(spec, Path(f"f{number}"), number % 2 == 0, ("png",)) for number in range(7)]
    parts = shares(tasks, 2)
    assert sorted(map(len, parts)) == [3, 4]
    assert sorted(task.stem for part in parts for task in part) == [Path(f"f{number}") for number in range(7)]
    assert Curve(np.empty(0), np.empty(0)) is not None


def write_metrics(path: Path, limits: tuple[int, ...], controls: tuple[str, ...], seeds: int) -> None:
    """A result with metrics only: goodput grows with the limit, one run failed, one is suspect."""
    runs = [
        {
            "id": f"{limit}{controls.index(cc)}{seed}",
            "seed": seed,
            "point": {QUEUE: f"pfifo limit {limit}", CONTROL: cc},
        }
        for limit in limits
        for cc in controls
        for seed in range(1, seeds + 1)
    ]
    plan: Any = {"name": "made up", "axes": [QUEUE, CONTROL], "runs": runs}
    with create_result(path, scenario_toml="", plan=plan, manifest={}) as result:
        for number, run in enumerate(runs):
            with result.making(str(run["id"])) as directory:
                value = float(number + 1) * 3
                rows = [("flow", "bulk", "goodput_mbps", value), ("queue", "b:r1", "drops", value)]
                rows += [("flow", "bulk", "rtt_ms_p95", value), ("queue", "b:r1", "sojourn_ms_p95", value)]
                RunDir(directory).write_metrics(pl.DataFrame(rows, schema=METRICS_SCHEMA, orient="row"))
                status = {len(runs) - 1: RunStatus.FAILED, len(runs) - 2: RunStatus.SUSPECT}.get(number, RunStatus.OK)
                RunDir(directory).write_status(status, None)
        result.write_summary()


@pytest.mark.parametrize(
    ("kind", "by", "drawn"),
    [
        ("auto", f"{QUEUE},{CONTROL}", "line"),
        ("auto", f"{CONTROL},{QUEUE}", "bar"),
        ("auto", CONTROL, "bar"),
        ("auto", "", "line"),
        ("bar", f"{QUEUE},{CONTROL}", "bar"),
        ("heatmap", f"{QUEUE},{CONTROL}", "heatmap"),
        ("box", f"{CONTROL},{QUEUE}", "box"),
        ("box", "seed", "box"),
    ],
)
@pytest.mark.slow
def test_each_kind_draws(tmp_path: Path, kind: str, by: str, drawn: str) -> None:
    write_metrics(tmp_path / "r", (5, 50, 500), ("cubic", "bbr"), 3)
    axes = [axis for axis in by.split(",") if axis]
    (file,) = draw_metric(tmp_path / "r", "flow.goodput_mbps", axes, kind=kind, formats=("svg",), out=tmp_path)
    assert file.name.endswith(f"-{drawn}.svg")
    svg = file.read_text()
    for words in ("goodput (Mbit/s)", "Goodput of bulk, by", "made up", "left out: 1 suspect and 1 failed runs"):
        assert words in svg


@pytest.mark.slow
def test_figures_of_percentiles_say_what_these_are_weighted_by(tmp_path: Path) -> None:
    """An RTT's 95th percentile is over time, a queue's is over packets: both are shown."""
    write_metrics(tmp_path / "r", (5, 50, 500), ("cubic",), 2)
    for metric, words in (("flow.rtt_ms_p95", "weighted by time"), ("queue.sojourn_ms_p95", "weighted by packets")):
        (file,) = draw_metric(tmp_path / "r", metric, [QUEUE], kind="auto", formats=("svg",), out=tmp_path)
        assert words in file.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cdf", "box"])
@pytest.mark.parametrize("metric", ["flow.rtt_ms", "queue.sojourn_ms", "queue.length_pkts", "flow.cwnd_pkts"])
def test_distributions_within_runs_draw(tmp_path: Path, kind: str, metric: str) -> None:
    write_result(tmp_path / "r", (20, 40), seconds=2)
    files = draw_metric(tmp_path / "r", metric, [], kind=kind, formats=("svg",), out=tmp_path)
    assert files
    assert "share of" in files[0].read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "by", "kind", "output"),
    [
        ("flow.goodput", [], "auto", 'did you mean "flow.goodput_mbps"'),
        ("flow.goodput_mbps", ["links.b.que"], "auto", 'did you mean "links.b.queue"'),
        ("flow.goodput_mbps", [QUEUE, QUEUE], "auto", "named twice"),
        ("flow.goodput_mbps", [CONTROL], "line", "is not one; use --kind bar"),
        ("flow.goodput_mbps", [CONTROL], "heatmap", "needs two axes"),
        ("flow.goodput_mbps", [CONTROL], "cdf", "has no distribution"),
        ("flow.goodput_mbps", [CONTROL], "pie", "not a kind of figure"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path: Path, metric: str, by: list[str], kind: str, output: str) -> None:
    write_metrics(tmp_path / "r", (5, 50), ("cubic", "bbr"), 1)
    with pytest.raises(SelectionError, match=output):
        draw_metric(tmp_path / "r", metric, by, kind=kind, formats=("svg",), out=tmp_path)


def one_chart(path: Path, metric: str, by: list[str], kind: str = "auto") -> list[Chart]:
    return [chart for _, _, chart in charts(open_result(path), metric, by, kind)]


def test_times_in_a_queue_of_0_do_not_squeeze_all_others(tmp_path: Path) -> None:
    """A fifth of the packets wait for nothing, most for some ms, and 2 % for ten seconds."""
    write_result(tmp_path / "r", (20, 40), seconds=2)
    (chart, *_) = one_chart(tmp_path / "r", "queue.sojourn_ms", [], kind="cdf")
    waits = TimeWeighted(np.array([0.0, 2.0, 5.0, 1e4]), np.array([20, 40, 38, 2]))
    figure = draw_chart(replace(chart, spread=dict.fromkeys(chart.spread, waits)))
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == pytest.approx((1.8, 1.1e4))
    assert any("0 is left of the axis" in text.get_text() for text in figure.texts)


def test_durations_that_did_not_end_have_no_place_on_the_axis(tmp_path: Path) -> None:
    """One of them was the longest observation; of another flow none ended."""
    write_result(tmp_path / "r", (20, 40), seconds=2)
    (chart, *_) = one_chart(tmp_path / "r", "queue.sojourn_ms", [], kind="cdf")
    one, other = chart.spread
    some = TimeWeighted(np.array([3.0, 7.0, np.inf]), np.array([1, 1, 2]))
    none = TimeWeighted(np.array([np.inf]), np.array([1]))
    figure = draw_chart(replace(chart, spread={one: some, other: none}))
    (axes,) = figure.axes
    first, second = (line for line in axes.get_lines() if not str(line.get_label()).startswith("_"))
    assert np.asarray(first.get_xydata()).tolist() == [[3, 0], [3, 0.25], [7, 0.5]]
    assert np.asarray(second.get_xydata()).tolist() == []
    assert "(none complete)" in " ".join(str(second.get_label()).split())
    assert axes.get_xlim() == pytest.approx((0, 7.28))


@pytest.mark.slow
@pytest.mark.parametrize("width_in", [3.3, 7.0])
@pytest.mark.parametrize("count", range(2, 9, 2))
def test_the_medians_beside_boxes_have_room_or_are_left_out(tmp_path: Path, count: int, width_in: float) -> None:
    limits = tuple(range(5, 5 + count))
    write_metrics(tmp_path / "r", limits, ("cubic",), 6)
    (chart,) = one_chart(tmp_path / "r", "flow.goodput_mbps", [QUEUE], kind="box")
    with looking(Look(width_in=width_in)):
        figure = draw_chart(chart)
        assert list(problems(figure)) == []
    named = len([text for text in figure.axes[0].texts if text.get_text()])
    assert named == count or (named == 0 and width_in < 4 and count > 4)


OWN_FILE = "file:./tcp_mine.c"


def test_a_module_of_ones_own_has_no_controls_colour(tmp_path: Path) -> None:
    """With the queue among the series it had pfifo's blue, which is CUBIC's."""
    write_metrics(tmp_path / "r", (5, 50), ("cubic", OWN_FILE, "bbr"), 1)
    (chart,) = one_chart(tmp_path / "r", "flow.goodput_mbps", [QUEUE, CONTROL])
    colours = {look.text: look.colour for look in chart.looks}
    assert colours["cubic"] == CATEGORICAL[0] and colours["bbr"] == CATEGORICAL[1]
    assert colours["mine"] in OWN
    (chart,) = one_chart(tmp_path / "r", "flow.goodput_mbps", ["seed", QUEUE, CONTROL])
    of: dict[str, set[str]] = {look.key[1]: set() for look in chart.looks}
    for look in chart.looks:
        of[look.key[1]].add(look.colour)
    assert all(len(colours) == 1 for colours in of.values()), "a control has one colour with each queue"
    assert of[OWN_FILE] <= set(OWN) and len({look.dash for look in chart.looks}) == 2


def test_a_colour_is_not_used_twice() -> None:
    labels = ["mine", "cubic", "other", "reno", "third", "bbr"]
    found = looks(labels)
    assert len(set(found)) == len(labels)
    assert {found[0][0], found[2][0], found[4][0]} <= set(OWN)
    assert not set(OWN) & set(CATEGORICAL)
    assert looks(["cubic pfifo", "mine pfifo"])[1][0] in OWN, "of names of both kinds the controls count"


def test_names_of_modules() -> None:
    assert shown_as("file:./tcp_mine.c") == "mine"
    assert shown_as("file:../x/tcp_mine.c window=50") == "mine window=50"
    assert shown_as("file:tcp_prague.c") == "prague"
    assert shown_as("file:./tcp_cubic.c") == "tcp_cubic.c", "which is not the kernel's"
    two = of_values(["file:a/tcp_mine.c", "file:b/tcp_mine.c"], CONTROL)
    assert list(two.labels.values()) == ["file:a/tcp_mine.c", "file:b/tcp_mine.c"]


@pytest.mark.slow
def test_a_map_pools_nothing(tmp_path: Path) -> None:
    """CUBIC and BBR were one median; now each has a map, and both have one scale."""
    write_metrics(tmp_path / "r", (5, 50, 500), ("cubic", "bbr"), 3)
    maps = one_chart(tmp_path / "r", "flow.goodput_mbps", [QUEUE, "seed"], "heatmap")
    assert [chart.subtitle.rpartition("bulk cc ")[2] for chart in maps] == ["cubic", "bbr"]
    assert len({chart.span for chart in maps}) == 1 and maps[0].span is not None
    assert all(len(values) == 1 for chart in maps for values in chart.cells.values())


@pytest.mark.slow
@pytest.mark.parametrize("width", [9.0, 3.33])
def test_a_map_of_many_columns_can_be_read(tmp_path: Path, width: float) -> None:
    write_metrics(tmp_path / "r", tuple(range(1000, 26000, 1000)), ("cubic", "bbr"), 1)
    (chart,) = one_chart(tmp_path / "r", "flow.goodput_mbps", [CONTROL, QUEUE], "heatmap")
    with looking(Look(width_in=width)), style.drawing():
        assert problems(draw_chart(chart)) == []


def test_what_is_left_out_is_said_without_a_title(tmp_path: Path) -> None:
    """One run failed and one is suspect, so that a value has nothing to show."""
    write_metrics(tmp_path / "r", (5, 50), ("cubic", "bbr"), 1)
    (chart,) = one_chart(tmp_path / "r", "flow.goodput_mbps", [QUEUE])
    assert chart.left_out == ["left out: 1 suspect and 1 failed runs", "no value for b queue pfifo limit 50"]
    with looking(Look(title=False)), style.drawing():
        words = [text.get_text() for text in draw_chart(chart).texts]
    assert any("1 suspect and 1 failed" in text for text in words)


def test_each_axis_that_varies_is_in_the_figures_of_a_run(tmp_path: Path) -> None:
    """Congestion controls as well, whichever axis is swept first."""
    write_metrics(tmp_path / "r", (5, 50, 500), ("cubic", "bbr"), 1)
    first = next(iter(wishes(open_result(tmp_path / "r"))))
    assert first.by == (QUEUE, CONTROL)


def test_a_selection_says_what_it_pools() -> None:
    rows = [
        (f"r{n}", 1, "ok", cc, queue, "flow", "bulk", "drops", float(n))
        for n, (cc, queue) in enumerate([("cubic", 1), ("cubic", 2), ("bbr", 1), ("bbr", 2)])
    ]
    columns = ["run_id", "seed", "status", CONTROL, QUEUE, "scope", "name", "metric", "value"]
    summary = pl.DataFrame(rows, schema=columns, orient="row")
    chosen = select(summary, [CONTROL, QUEUE], "flow.drops", [CONTROL], ["bulk"])
    assert chosen.pooled == (QUEUE,)
    assert [(cell.key, cell.values) for cell in chosen.cells] == [(("cubic",), (0, 1)), (("bbr",), (2, 3))]

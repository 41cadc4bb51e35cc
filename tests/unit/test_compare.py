"""Comparing results: matching, judgement, words, JSON and JUnit XML, on results with known answers."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from netwarp.analysis.metric import Metric, frame
from netwarp.compare import Comparison, Verdict, compare, open_input
from netwarp.compare.formats import as_json, junit, shown_rows, table
from netwarp.compare.match import Matching
from netwarp.compare.min_effect import parse_min_effect
from netwarp.compare.render import differences, notes, sentence
from netwarp.store.errors import SelectionError
from netwarp.store.planfile import IMPORTED
from netwarp.store.result import create_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from rich.console import Console

QUEUE, CC = "links.bottleneck.queue", "flows.bulk.cc"
Values = Callable[[Mapping[str, Any], int], dict[str, float] | None]


def result(
    path: Path,
    values: Values,
    seeds: range = range(1, 9),
    points: tuple[dict[str, Any], ...] = ({},),
    *,
    identity: str = "k",
    engine: str = "virtual",
) -> Path:
    """A result whose runs have these metrics (None: a failed run), by point and seed; names are scope.name.metric."""
    runs = [
        {"id": f"{number}-{seed}", "seed": seed, "point": point}
        for number, point in enumerate(points)
        for seed in seeds
    ]
    plan: Any = {
        "name": "made up",
        "engine": engine,
        "identity": {"kernel": identity},
        "axes": list(points[0]),
        "runs": runs,
    }
    with create_result(path, scenario_toml="", plan=plan, manifest={}) as made:
        for run in runs:
            found = values(run["point"], run["seed"])  # type: ignore[arg-type]
            with made.making(str(run["id"])) as directory:
                if found is not None:
                    RunDir(directory).write_metrics(frame(_metric(key, value) for key, value in found.items()))
                RunDir(directory).write_status(RunStatus.FAILED if found is None else RunStatus.OK, None)
        made.write_summary()
    return path


def _metric(key: str, value: float) -> Metric:
    scope, _, rest = key.partition(".")
    name, _, metric = rest.rpartition(".")
    return Metric(scope, name, metric, value)


def plain(shift: float = 0.0, seed: int = 0) -> Values:
    """Goodput of about 9, RTT of about 50 ms + shift, 30 drops + shift; random parts depend on the seed."""

    def values(_: Mapping[str, Any], number: int) -> dict[str, float]:
        random = np.random.default_rng([seed, number])
        return {
            "flow.bulk.goodput_mbps": 9 + random.normal(0, 0.02),
            "flow.bulk.rtt_ms_mean": 50 + shift + random.normal(0, 0.3),
            "queue.bottleneck:r1.drops": 30 + 10 * shift + random.integers(0, 3),
        }

    return values


def compared(a: Path, b: Path, **options: Any) -> Comparison:
    return compare(open_input("A", a), open_input("B", b), **options)


def verdicts(comparison: Comparison) -> dict[str, str]:
    return {str(row.subject): row.verdict.value for row in comparison.rows}


def test_better_worse_changed_and_the_same(tmp_path: Path) -> None:
    base, slow = result(tmp_path / "a", plain()), result(tmp_path / "b", plain(10, seed=1))
    found = compared(base, slow)
    assert found.paired and found.seeds == tuple(range(1, 9))
    assert verdicts(found) == {
        "flow.goodput_mbps of bulk": "same",
        "flow.rtt_ms_mean of bulk": "worse",
        "queue.drops of bottleneck:r1": "changed",
    }
    rtt = found.rows[1]
    assert rtt.shift.estimate == pytest.approx(10, abs=0.5)
    assert rtt.shift.low < rtt.shift.estimate < rtt.shift.high
    assert rtt.shift.low < 10 < rtt.shift.high
    assert rtt.percent == pytest.approx(20, abs=1)
    assert found.regression
    assert sentence(found) == (
        f"B is worse than A in 1 of 3 values, better in none, 1 is the same; "
        f"most of all flow.rtt_ms_mean of bulk ({rtt.percent:+.3g} %)."
    )
    back = compared(slow, base)
    assert verdicts(back)["flow.rtt_ms_mean of bulk"] == "better"
    assert not back.regression


def test_a_sound_difference_that_does_not_matter_is_none(tmp_path: Path) -> None:
    a, b = result(tmp_path / "a", plain()), result(tmp_path / "b", plain(1.0, seed=0))
    found = compared(a, b)
    row = found.rows[1]
    assert row.p is not None and row.p < 0.05, "the same seeds have the same chance: the difference is 1 in every pair"
    assert row.verdict is Verdict.SAME
    assert compared(a, b, min_effect=[parse_min_effect("flow.rtt_*=1%")]).rows[1].verdict is Verdict.WORSE
    assert (
        compared(a, b, min_effect=[parse_min_effect("flow.*=1%"), parse_min_effect("flow.rtt_ms_mean=2")])
        .rows[1]
        .verdict
        is Verdict.SAME
    )


@pytest.mark.parametrize("runs", [1, 2])
def test_identical_results_are_the_same_however_few_the_runs(tmp_path: Path, runs: int) -> None:
    found = compared(*(result(tmp_path / name, plain(), seeds=range(1, runs + 1)) for name in "ab"))
    assert found.identical and not found.regression
    assert set(verdicts(found).values()) == {"same"}
    assert sentence(found) == "B is identical to A: all 3 values are equal in every common run."


def test_one_run_of_another_seed_proves_nothing(tmp_path: Path) -> None:
    found = compared(result(tmp_path / "a", plain(), range(1, 2)), result(tmp_path / "b", plain(), range(2, 3)))
    assert not found.paired and set(verdicts(found).values()) == {"unclear"}
    assert "with 1 run a side no difference, however large, can be distinguished from chance" in sentence(found)


def test_too_few_seeds_prove_nothing_and_it_says_how_many_would(tmp_path: Path) -> None:
    few = range(1, 5)
    found = compared(result(tmp_path / "a", plain(), few), result(tmp_path / "b", plain(30, seed=1), few))
    assert found.undecided and not found.regression
    assert set(verdicts(found).values()) == {"unclear"}
    assert "the smallest possible p-value is 0.12" in sentence(found)
    assert "it takes 6 (--seeds 6)" in sentence(found)
    assert found.rows[1].needed == 6


def test_one_common_seed_shows_a_difference_of_that_seed_alone(tmp_path: Path) -> None:
    one = range(1, 2)
    found = compared(result(tmp_path / "a", plain(), one), result(tmp_path / "b", plain(30), one))
    assert found.undecided and not found.regression and not found.settled
    assert set(verdicts(found).values()) == {"unclear"}
    assert "They differ in 2 values by an amount that matters, which is certain for this seed" in sentence(found)


def constant(rtt: float, more: Values = lambda *_: {}) -> Values:
    """Metrics that do not vary with the seed, and `more`."""
    return lambda point, seed: (
        {
            "flow.bulk.goodput_mbps": 9.5,
            "flow.bulk.rtt_ms_mean": rtt,
            "queue.bottleneck:r1.drops": 30.0,
        }
        | (more(point, seed) or {})
    )


@pytest.mark.parametrize("seeds", [range(1, 3), range(11, 13)], ids=["the same seeds", "other seeds"])
def test_what_does_not_vary_with_the_seed_is_certain(tmp_path: Path, seeds: range) -> None:
    """Two runs a side: a test could not decide anything, and there is nothing to test."""
    found = compared(result(tmp_path / "a", constant(50), range(1, 3)), result(tmp_path / "b", constant(80), seeds))
    assert verdicts(found) == {
        "flow.goodput_mbps of bulk": "same",
        "flow.rtt_ms_mean of bulk": "worse",
        "queue.drops of bottleneck:r1": "same",
    }
    assert found.regression and not found.undecided
    assert [row.p for row in found.rows] == [None] * 3
    assert "No value of either side varies with the seed: differences there are certain, and not tested." in notes(
        found
    )
    assert json.loads(json.dumps(as_json(found), allow_nan=False))["rows"][1]["p_adjusted"] is None
    assert "certain: no value varies with the seed" in junit(found)
    small = compared(result(tmp_path / "c", constant(50), range(1, 3)), result(tmp_path / "d", constant(51), seeds))
    assert set(verdicts(small).values()) == {"same"}, "certain, but less than what matters"


def test_a_value_that_agrees_by_chance_is_not_certain(tmp_path: Path) -> None:
    """The seed matters as soon as anything varies with it, whether it is compared or not, on one side or both."""

    def ping(_: Mapping[str, Any], seed: int) -> dict[str, float]:
        return {"flow.ping.rtt_ms_mean": 20 + seed / 10}

    few = range(1, 4)
    still, moving = result(tmp_path / "a", constant(50), few), result(tmp_path / "b", constant(80, ping), few)
    for sides in ((still, moving), (moving, still)):
        found = compared(*sides, metrics=["flow.rtt_ms_mean"])
        assert found.undecided and not found.regression and not found.settled

    def sometimes(_: Mapping[str, Any], seed: int) -> dict[str, float]:
        return {"flow.ping.rtt_ms_mean": 20.0} if seed == 1 else {}

    absent = result(tmp_path / "c", constant(80, sometimes), few)
    assert compared(still, absent).undecided, "a metric that only some seeds have varies with the seed"


def test_points_are_certain_or_tested_each_for_itself(tmp_path: Path) -> None:
    """At one point nothing varies, at another everything does: the first does not reduce the power of the second's
    test."""
    points = ({QUEUE: "small"}, {QUEUE: "large"})

    def side(shift: float, seed: int) -> Values:
        still, moving = constant(50 + shift), plain(shift, seed)
        return lambda point, number: (still if point[QUEUE] == "small" else moving)(point, number)

    base, slow = (result(tmp_path / name, side(*how), points=points) for name, how in (("a", (0, 0)), ("b", (10, 1))))
    found = compared(base, slow)
    rtts = {row.point: row for row in found.rows if row.subject.metric == "rtt_ms_mean"}
    assert {row.verdict for row in rtts.values()} == {Verdict.WORSE}
    assert rtts["small",].p is None
    assert (p := rtts["large",].p) is not None and p == 1 / 2**7
    assert any("varies with the seed at (links.bottleneck.queue = small):" in note for note in notes(found))


def test_some_points_with_too_few_runs_leave_the_whole_undecided(tmp_path: Path) -> None:
    points = ({QUEUE: "small"}, {QUEUE: "large"})

    def dies(point: Mapping[str, Any], seed: int) -> dict[str, float] | None:
        return None if point[QUEUE] == "large" and seed > 3 else plain(seed=1)(point, seed)

    found = compared(result(tmp_path / "a", plain(), points=points), result(tmp_path / "b", dies, points=points))
    assert found.undecided
    assert {row.point for row in found.rows if row.undecided} == {("large",)}
    assert "of 3 of 6 values there are 3 pairs of runs" in sentence(found)


def test_a_rare_event_asks_for_no_more_runs(tmp_path: Path) -> None:
    """A metric that few of many runs have stays unclear, and no number of runs is promised to change that."""

    def rare(shift: float) -> Values:
        def values(point: Mapping[str, Any], seed: int) -> dict[str, float]:
            more = {"flow.ping.rtt_ms_mean": 20 + shift + seed} if seed < 3 else {}
            return (plain(0, seed=1)(point, seed) or {}) | more

        return values

    many = range(1, 21)
    found = compared(result(tmp_path / "a", rare(0), many), result(tmp_path / "b", rare(50), many))
    (row,) = (row for row in found.rows if row.subject.name == "ping")
    assert (row.runs_a, row.verdict, row.undecided) == (2, Verdict.UNCLEAR, False)
    assert not found.undecided


def test_repetitions_of_an_imported_result_are_no_seeds(tmp_path: Path) -> None:
    """They were numbered afterwards, and a rounded value may agree by chance."""
    few = range(1, 3)
    found = compared(
        *(result(tmp_path / name, constant(rtt), few, engine=IMPORTED) for name, rtt in (("a", 50), ("b", 80)))
    )
    assert found.undecided and not found.settled


def test_short_flows_that_accompany_others_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    """iperf3's control connection, in both directions, and a request; not a short flow without another."""
    names = ("a-b-c-tcp-5201", "a-b-c-tcp-5201-short", "c-a-b-tcp-5201-short", "a-b-c-tcp-80-short", "c-d-udp-53")

    def flows(_: Mapping[str, Any], seed: int) -> dict[str, float]:
        return {f"flow.{name}.rtt_ms_mean": 50.0 + seed for name in names}

    sides = [result(tmp_path / name, flows) for name in "ab"]
    found = compared(*sides)
    assert {row.subject.name for row in found.rows} == {"a-b-c-tcp-5201", "a-b-c-tcp-80-short", "c-d-udp-53"}
    assert any(note.startswith("Short flows that accompany others are left out") for note in notes(found))
    asked = compared(*sides, short=True)
    assert {row.subject.name for row in asked.rows} == set(names)
    assert not any("--short" in note for note in notes(asked))


def test_an_unclear_difference_says_how_many_runs_would_settle_it(tmp_path: Path) -> None:
    def noisy(seed: int) -> Values:
        return lambda _, number: {"flow.bulk.rtt_ms_mean": 50 + np.random.default_rng([seed, number]).normal(0, 10)}

    found = compared(result(tmp_path / "a", noisy(0)), result(tmp_path / "b", noisy(1)))
    (row,) = found.rows
    assert row.verdict is Verdict.UNCLEAR
    assert row.needed is not None and row.needed > 8


def test_without_common_seeds_nothing_is_paired(tmp_path: Path) -> None:
    found = compared(result(tmp_path / "a", plain()), result(tmp_path / "b", plain(10, seed=1), range(101, 107)))
    assert not found.paired and found.seeds == ()
    assert verdicts(found)["flow.rtt_ms_mean of bulk"] == "worse"
    assert (found.rows[0].runs_a, found.rows[0].runs_b) == (8, 6)
    assert next(notes(found)) == "Not paired: the two have no two seeds in common."


def test_sweeps_are_matched_by_their_axes(tmp_path: Path) -> None:
    def rtt(point: Mapping[str, Any], seed: int) -> dict[str, float]:
        base = {"20": 30, "100": 120}[str(point[QUEUE]).split()[-1]]
        return {"flow.bulk.rtt_ms_mean": base + np.random.default_rng(seed).normal(0, 0.1)}

    def slower(point: Mapping[str, Any], seed: int) -> dict[str, float]:
        extra = 20 if point[QUEUE] == "pfifo limit 100" else 0
        return {name: value + extra for name, value in rtt(point, seed + 50).items()}

    small, large = {QUEUE: "pfifo limit 20"}, {QUEUE: "pfifo limit 100"}
    a = result(tmp_path / "a", rtt, points=(small, large, {QUEUE: "pfifo limit 20 100"}))
    b = result(tmp_path / "b", slower, points=(large, small))
    found = compared(a, b)
    assert found.matching.keys == (QUEUE,)
    assert {row.point: row.verdict.value for row in found.rows} == {
        ("pfifo limit 20",): "same",
        ("pfifo limit 100",): "worse",
    }
    assert sentence(found).endswith("at links.bottleneck.queue = pfifo limit 100).")
    assert "Only A has (links.bottleneck.queue = pfifo limit 20 100): not compared." in list(notes(found))
    one = compare(open_input("A", a, [f"{QUEUE}=pfifo limit 20"]), open_input("B", a, [f"{QUEUE}=pfifo limit 100"]))
    assert list(differences(one)) == [f"{QUEUE} pfifo limit 20 → pfifo limit 100"]
    assert one.rows[0].verdict is Verdict.WORSE


def test_axes_that_one_side_alone_has(tmp_path: Path) -> None:
    points = tuple({CC: cc} for cc in ("cubic", "bbr"))
    swept, single = result(tmp_path / "a", plain(), points=points), result(tmp_path / "b", plain(), points=({},))
    with pytest.raises(
        SelectionError, match=r"A .* has 2 values of flows.bulk.cc, but B .* such as -a 'flows.bulk.cc=cubic'"
    ):
        compared(swept, single)
    found = compare(open_input("A", swept, [f"{CC}=bbr"]), open_input("B", single))
    assert list(differences(found)) == ["flows.bulk.cc bbr → –"]


def test_values_are_the_same_whatever_their_type(tmp_path: Path) -> None:
    a = result(tmp_path / "a", plain(), points=({"mtu": 1500}, {"mtu": 9000}))
    b = result(tmp_path / "b", plain(), points=({"mtu": 1500}, {"mtu": "auto"}))
    found = compared(a, b)
    assert found.matching.points == (("1500",),)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    a = result(tmp_path / "a", plain(), points=({CC: "cubic"}, {CC: "bbr"}))
    b = result(tmp_path / "b", plain(), points=({CC: "reno"}, {CC: "dctcp"}))
    with pytest.raises(SelectionError, match=r"no point in common: A has \(flows.bulk.cc = cubic\); .*B has .*reno"):
        compared(a, b)
    with pytest.raises(SelectionError, match=r'no metric "flow\.rtt_ms_p9"'):
        compared(a, a, metrics=["flow.rtt_ms_p9"])
    with pytest.raises(SelectionError, match=r'is never "cubik" in .* \(did you mean "cubic"'):
        open_input("A", a, [f"{CC}=cubik"])
    with pytest.raises(SelectionError, match=r'"flows\.bulk\.c" is not an axis'):
        open_input("A", a, ["flows.bulk.c=cubic"])
    with pytest.raises(SelectionError, match="is not PATH=VALUE"):
        open_input("A", a, ["cubic"])
    dead = result(tmp_path / "dead", lambda *_: None)
    with pytest.raises(SelectionError, match=r"A .* has no good run at any of the common points"):
        compared(dead, result(tmp_path / "c", plain()))


@pytest.mark.parametrize("text", ["flow.rtt", "=5%", "flow.rtt=", "flow.rtt=-1", "flow.rtt=nan", "flow.rtt=5 ms"])
def test_sizes_that_make_no_sense(text: str) -> None:
    with pytest.raises(SelectionError, match="is not METRIC=SIZE"):
        parse_min_effect(text)


def test_a_point_where_b_no_longer_runs_is_a_regression(tmp_path: Path) -> None:
    points = ({CC: "cubic"}, {CC: "bbr"})

    def dies(point: Mapping[str, Any], seed: int) -> dict[str, float] | None:
        return None if point[CC] == "bbr" or seed == 3 else plain()(point, seed)

    found = compared(result(tmp_path / "a", plain(), points=points), result(tmp_path / "b", dies, points=points))
    assert found.regression and found.broken == (("bbr",),)
    assert sentence(found) == "B is worse than A: at (flows.bulk.cc = bbr) it has no good run, but A has one."
    assert "B: of 16 runs 9 failed, left out." in list(notes(found))
    suite = ElementTree.fromstring(junit(found))
    assert suite.attrib["errors"] == "1"
    assert [case.attrib["classname"] for case in suite.iter("testcase") if case.find("error") is not None] == [
        "flows.bulk.cc = bbr"
    ]


def test_members_of_groups_and_metrics_of_one_side(tmp_path: Path) -> None:
    def group(_: Mapping[str, Any], seed: int) -> dict[str, float]:
        return {f"flow.{name}.goodput_mbps": 1.0 + seed for name in ("bulk", "bulk.0", "bulk.1")}

    def more(point: Mapping[str, Any], seed: int) -> dict[str, float]:
        return group(point, seed) | {"flow.bulk.bbr_drain_pct": 1.0}

    found = compared(result(tmp_path / "a", group), result(tmp_path / "b", more))
    assert verdicts(found) == {"flow.goodput_mbps of bulk": "same"}
    assert "only in B: flow.bbr_drain_pct of bulk." in list(notes(found))


def test_another_kernel_or_version_of_netwarp_is_reported(tmp_path: Path) -> None:
    one, other = result(tmp_path / "a", plain()), result(tmp_path / "b", plain(), identity="other")
    found = compared(one, other)
    assert list(differences(found)) == ["kernel k → other"]
    assert "not the same for A and B: kernel. Differences may come from them" in " ".join(notes(found))
    assert "not the same" not in " ".join(notes(compared(one, one)))

    for place, version in ((one, "0.1.0"), (other, "0.2.0")):
        (place / "manifest.json").write_text(json.dumps({"netwarp": version}))
        for run in (place / "runs").iterdir():
            lab = {"duration_ns": 1, "nodes": [], "links": [], "flows": []}
            document = {"id": run.name, "kernel": {"version": f"6.12.{version[2]}"}, "lab": lab}
            (run / "run.json").write_text(json.dumps(document))
    found = compared(one, other)
    assert list(differences(found)) == [
        "netwarp's version 0.1.0 → 0.2.0",
        "kernel 6.12.1 (k) → 6.12.2 (other)",
    ]
    assert "not the same for A and B: netwarp's version, kernel." in " ".join(notes(found))
    (one / "manifest.json").unlink()
    assert "netwarp's version unknown → 0.2.0" in list(differences(compared(one, other))), "it is still compared"


def test_json_has_everything_and_is_json(tmp_path: Path) -> None:
    found = compared(result(tmp_path / "a", plain(), range(1, 2)), result(tmp_path / "b", plain(10), range(1, 2)))
    read = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert read["counts"] == {"worse": 0, "better": 0, "changed": 0, "unclear": 3, "same": 0}
    assert read["rows"][1]["metric"] == "rtt_ms_mean"
    assert read["rows"][1]["sd"] is None
    assert read["rows"][1]["shift"] == pytest.approx(10)


def test_junit_is_what_ci_systems_read(tmp_path: Path) -> None:
    """Counts in the suite are those of its cases; each case has a class, a name and a time."""
    found = compared(result(tmp_path / "a", plain()), result(tmp_path / "b", plain(10, seed=1)))
    root = ElementTree.fromstring(junit(found))
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    cases = suite.findall("testcase")
    assert all({"classname", "name", "time"} <= set(case.attrib) for case in cases)
    assert int(suite.attrib["tests"]) == len(cases) == 3
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
        assert int(suite.attrib[attribute]) == int(root.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
    (failure,) = suite.findall("testcase/failure")
    assert failure.attrib["type"] == "regression" and failure.attrib["message"].startswith("worse: +2")


def test_the_table_shows_what_differs(tmp_path: Path) -> None:
    found = compared(result(tmp_path / "a", plain()), result(tmp_path / "b", plain(10, seed=1)))
    rows = shown_rows(found)
    assert [row.verdict.value for row in rows] == ["worse", "changed"]
    assert len(shown_rows(found, everything=True)) == 3
    console = Console(width=140)
    with console.capture() as capture:
        console.print(table(found, rows))
    text = capture.get()
    assert "flow.rtt_ms_mean" in text and "[95% interval]" in text and "worse" in text


def test_points_in_words() -> None:
    matching = Matching((CC, QUEUE), (), (), (), ())
    assert matching.words(("cubic", None)) == "flows.bulk.cc = cubic"


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_same_against_same_raises_no_alarm(tmp_path: Path, paired: bool) -> None:
    """Two results of one distribution: no more than 5 % of comparisons may call anything worse, better or changed."""
    alarms, trials = 0, 25
    for trial in range(trials):
        seeds = range(1, 9) if paired else range(11, 19)
        a = result(tmp_path / f"a{trial}", plain(seed=2 * trial))
        b = result(tmp_path / f"b{trial}", plain(seed=2 * trial + 1), seeds=seeds)
        # Even the smallest differences count, so that only the test prevents false alarms.
        found = compared(a, b, min_effect=[parse_min_effect("*=0")])
        alarms += any(row.verdict not in (Verdict.SAME, Verdict.UNCLEAR) for row in found.rows)
    assert alarms / trials <= 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5

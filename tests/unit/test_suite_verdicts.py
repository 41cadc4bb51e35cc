"""The suites: harm and its limit, verdicts, the choice of cases, the formats, and the required fields of each case."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from netwarp.analysis.catalogue.metrics import entry_of
from netwarp.analysis.summary.harm import harm
from netwarp.common.junit import document
from netwarp.store.errors import PlanMismatchError, SelectionError
from netwarp.store.held import refuse_other
from netwarp.suite.case import Bar, Case, Measure, Subject, Suite
from netwarp.suite.formats import as_text, head_of, json_text, junit, number, spread
from netwarp.suite.page import markdown
from netwarp.suite.runner import Assessment, columns_of, experiment_of
from netwarp.suite.suites import CONTROLS, QUEUES, choose, controls, names_in, queues, with_modules
from netwarp.suite.verdict import Judged, Verdict, judge
from netwarp.verify.verifier import scenario_of

HARM = Measure("harm to CUBIC's goodput", "flow", "cubic", "harm_goodput", Bar.HARM)
LOSSES = Measure("packets dropped", "queue", "q", "drop_pct", margin=1.0, why="1 of 100")
FULL = Measure("utilisation", "link", "l", "utilisation", margin=0.05)
SHARE = Measure("share", "flow", "far", "share_pct", Bar.REPORT)
BOUND = Measure("utilisation", "link", "l", "utilisation", least=0.9, why="a reason")
CASE = Case("case", "What it asks.", "RFC 1, 2", measures=(HARM, LOSSES, FULL, SHARE, BOUND))
WAITS = Case("later", "What it asks.", "RFC 1, 3", waits="a thing")
ALL = [(suite, group, case) for suite in (CONTROLS, QUEUES) for group in suite.groups for case in group.cases]
MEASURED = [(suite, case) for suite, _, case in ALL if case.experiment]


def _judge(measure: Measure, own: list[float], baseline: list[float], failed: str = "") -> Judged:
    failures = {"mine": failed} if failed else {}
    return judge(
        CASE, measure, "", {"mine": own, "cubic": baseline, "bbr": baseline}, baseline="cubic", failures=failures
    )


def test_the_definition_of_harm() -> None:
    """R. Ware et al., section 3: 10 alone and 4 with is a harm of 0.6; 20 ms alone and 50 with as well."""
    assert harm("goodput_mbps", alone=10, shared=4) == pytest.approx(0.6)
    assert harm("rtt_ms_p95", alone=20, shared=50) == pytest.approx(0.6)
    assert harm("goodput_mbps", alone=10, shared=12) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("measure", "own", "baseline", "verdict"),
    [
        # CUBIC's worst seed takes 0.52 of CUBIC, and 0.05 is the smallest difference that matters: 0.57 is the limit.
        (HARM, [0.58, 0.58, 0.2], [0.48, 0.52, 0.50], Verdict.HARMS),
        (HARM, [0.56, 0.56, 0.9], [0.48, 0.52, 0.50], Verdict.PASSES),  # one seed is not the median
        (HARM, [0.42], [0.48, 0.52], Verdict.BETTER),
        (HARM, [0.04], [-0.20, -0.10], Verdict.PASSES),  # the baseline gives, and what takes nothing does not harm
        (HARM, [0.06], [-0.20, -0.10], Verdict.HARMS),
        (LOSSES, [2.1], [1.0, 0.9], Verdict.CONCERN),  # the catalogue does not say that fewer are better; the bar does
        (LOSSES, [1.9], [1.0, 0.9], Verdict.PASSES),
        (LOSSES, [37.0], [33.0], Verdict.PASSES),  # the catalogue's 20 % is more than the margin
        (FULL, [0.92], [0.98, 0.99], Verdict.CONCERN),
        (FULL, [0.94], [0.98, 0.99], Verdict.PASSES),
        (SHARE, [1.0], [50.0], Verdict.REPORTED),
        (BOUND, [0.89], [0.2], Verdict.CONCERN),  # a bound counts, whatever the baseline does
        (BOUND, [0.91], [1.0], Verdict.PASSES),
        (HARM, [], [0.5], Verdict.FAILED),
    ],
)
def test_verdicts(measure: Measure, own: list[float], baseline: list[float], verdict: Verdict) -> None:
    assert _judge(measure, own, baseline).verdicts["mine"] == verdict


@pytest.mark.parametrize("measure", CASE.measures)
def test_the_baseline_is_never_worse_than_itself(measure: Measure) -> None:
    values = [0.95, 0.91, 0.99]
    assert _judge(measure, values, values).verdicts["mine"] in (Verdict.PASSES, Verdict.REPORTED)


def test_a_failed_run_is_no_verdict() -> None:
    judged = _judge(FULL, [0.99, 0.99], [0.99], failed="seed 3: failed: a fault")
    assert judged.verdicts == {"mine": Verdict.FAILED, "cubic": Verdict.PASSES, "bbr": Verdict.PASSES}
    assert judged.reason == "mine: seed 3: failed: a fault"


def test_values_that_do_not_count_say_why() -> None:
    judged = judge(
        CASE, FULL, "", {"mine": [], "cubic": [1.0]}, baseline="cubic", failures={}, suspicions={"mine": "seed 1: why"}
    )
    assert judged.reason == "mine: seed 1: why"


def test_a_group_about_others_has_no_verdict_on_a_subject() -> None:
    judged = replace(_judge(BOUND, [0.8], [1.0]), verdicts=dict.fromkeys(("mine", "cubic", "bbr"), Verdict.UNASKED))
    assessment = Assessment(CONTROLS, (Subject("mine", "mine"),), {"A group": [judged]}, 3)
    assert as_text(assessment) == "mine: no case is about it\n"
    assert "is asked for" not in markdown(assessment, "Linux 6.12").split("## All measures")[0]


def _assessment() -> Assessment:
    waits = Judged(WAITS, None, "", {}, {"mine": Verdict.WAITS}, reason="a thing")
    rows = [
        _judge(HARM, [0.9, 0.8, 0.7], [0.5, 0.4, 0.6]),
        _judge(FULL, [0.5], [0.99]),
        _judge(SHARE, [9.0], [50.0]),
        _judge(LOSSES, [], [1.0], failed="seed 1: failed: a fault"),
        _judge(BOUND, [0.8], [1.0]),
        waits,
    ]
    return Assessment(CONTROLS, (Subject("mine", "mine"),), {"A group": rows}, 3)


def test_the_page_begins_with_what_is_wrong() -> None:
    text = markdown(_assessment(), "Linux 6.12")
    assert "Of 6 measures 1 shows harm, 2 raise concerns, 1 is only reported, 1 failed, 1 waits." in text
    assert "does better" not in text, "no section is empty"
    harms, worse = (text.index(words) for words in ("harms others", "is worse than"))
    assert harms < worse < text.index("## All measures") < text.index("### `case`")
    assert "- **case**, harm to CUBIC's goodput: 0.8, where cubic has 0.5" in text
    assert "- **case**, utilisation: 0.8, where 0.9 is asked for" in text
    assert "| case | harm to CUBIC's goodput | ✗ 0.8 (0.7 to 0.9) | 0.5 (0.4 to 0.6) |" in text
    assert "- Waits for a thing." in text


def test_formats() -> None:
    assessment = _assessment()
    assert "✗ harms: case: harm to CUBIC's goodput 0.8; cubic 0.5 (0.4 to 0.6)" in as_text(assessment)
    rows = json.loads(json_text(assessment, "6.12"))["measures"]
    assert rows[0]["limit"] == pytest.approx(0.65)
    assert rows[0]["subjects"][0] == {"name": "mine", "verdict": "harms", "values": [0.9, 0.8, 0.7]}
    root = ElementTree.fromstring(document("netwarp suite cc", junit(assessment)))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "3",
        "errors": "1",
        "skipped": "1",
    }
    assert [number(value) for value in (123.4, 12.34, 0.9996, 0.00405, -0.0142, -0.0001, 0.0)] == [
        *("123", "12.3", "1", "0.004", "−0.014", "0", "0")
    ]
    assert spread([1.0, 2.0, 9.0]) == "2 (1 to 9)" and spread([]) == "–"


@pytest.mark.parametrize(("suite", "case"), MEASURED, ids=lambda one: one.name)
def test_every_case_is_a_scenario_with_every_subject(suite: Suite, case: Case) -> None:
    subjects = columns_of(suite, [Subject("reno" if suite is CONTROLS else "red limit 9", "mine")])
    assert case.experiment is not None
    scenario = scenario_of(experiment_of(case, subjects, seeds=3))
    assert scenario.seeds == (1, 2, 3)
    assert [one.name for one in scenario.cases] == [*(["alone"] if case.lone else []), *(one.name for one in subjects)]
    assert case.measures and case.sets
    assert any(measure.metric.startswith("harm_") for measure in case.measures) == bool(case.lone)
    for measure in case.measures:
        assert entry_of(measure.scope, measure.metric) is not None, measure
        names = {"": "run", "bottleneck:r1": "link"} | dict.fromkeys(scenario.flows, "flow")
        assert measure.name in names
        assert bool(measure.why) or not (measure.margin or measure.least or measure.most)


@pytest.mark.parametrize(("suite", "group", "case"), ALL, ids=lambda one: one.name)
def test_every_case_states_its_source(suite: Suite, group: object, case: Case) -> None:
    assert case.asks.endswith(".") and ("RFC" in case.source or "draft-" in case.source)
    assert (case.experiment is None) == bool(case.waits)


def test_names_are_unique() -> None:
    for suite in (CONTROLS, QUEUES):
        names = [group.name for group in suite.groups] + [case.name for group in suite.groups for case in group.cases]
        assert len(names) == len(set(names))
    (bbr,) = (group for group in CONTROLS.groups if group.only_for)
    assert len(bbr.cases) == 22, "the draft's appendix has 22"


def test_the_choice_of_cases() -> None:
    reno, bbr = controls(["reno"]), controls(["file:tcp_bbr_draft.c"])
    assert bbr == [Subject("file:tcp_bbr_draft.c", "bbr_draft")]
    usual = choose(CONTROLS, reno, [], quick=False)
    assert "bbr" not in {group.name for group, _ in usual}
    assert len(choose(CONTROLS, bbr, [], quick=False)) == len(usual) + 22
    quick = choose(CONTROLS, reno, [], quick=True)
    assert 0 < len(quick) < len(usual) / 2
    assert [case.name for _, case in choose(CONTROLS, reno, ["losses", "mixed"], quick=True)] == [
        *("short-beside", "call", "media", "losses")
    ]
    with pytest.raises(SelectionError, match=r'there is no case "loses" \(did you mean "losses"\?\)'):
        choose(CONTROLS, reno, ["loses"], quick=False)


def test_an_option_that_names_no_case_is_refused() -> None:
    assert names_in(None) == [] and names_in(" losses,mixed,") == ["losses", "mixed"]
    for wrong in ("", ",", " , "):
        with pytest.raises(SelectionError, match="--cases names no case"):
            names_in(wrong)


def test_another_suite_does_not_replace_this_one(tmp_path: Path) -> None:
    place = tmp_path / "suite.json"
    place.write_text(json_text(_assessment(), "6.12"))
    mine = [Subject("mine", "mine")]
    same = head_of(CONTROLS, mine, [CASE, WAITS], 3, "6.12")
    refuse_other(place, same)
    others = (
        head_of(QUEUES, mine, [CASE, WAITS], 3, "6.12"),
        head_of(CONTROLS, [Subject("reno", "reno")], [CASE, WAITS], 3, "6.12"),
        head_of(CONTROLS, mine, [CASE], 3, "6.12"),
        head_of(CONTROLS, mine, [CASE, WAITS], 2, "6.12"),
        head_of(CONTROLS, mine, [CASE, WAITS], 3, "6.18"),
    )
    for other in others:
        with pytest.raises(PlanMismatchError, match="holds another result"):
            refuse_other(place, other)


def test_the_baseline_is_not_compared_with_itself() -> None:
    rows = [_judge(FULL, [0.9], [0.9]), _judge(BOUND, [0.8], [0.8])]
    text = markdown(Assessment(CONTROLS, (Subject("cubic", "cubic"),), {"A group": rows}, 1), "Linux 6.12")
    assert "### Where cubic misses a bound" in text and "### Where cubic is worse" not in text
    assert "Of 2 measures 1 raises a concern, 1 passes." in text
    assert "one seed for each" in text


def test_the_choice_of_subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.c").write_text(
        'static struct tcp_congestion_ops x = { .name = "mine" };\nint f(void) { tcp_register_congestion_control(&x); }'
    )
    assert controls(["file:./x.c window=3"]) == [Subject(f"file:{tmp_path}/x.c window=3", "mine")]
    (tmp_path / "weights").write_text("1")
    (tmp_path / "mine.py").write_text("pass")
    assert controls(["program:./mine.py per_ack=1 ./weights"]) == [
        Subject(f"program:{tmp_path}/mine.py per_ack=1 {tmp_path}/weights", "p_mine")
    ]
    twice = controls(["file:./x.c window=3", "file:./x.c window=4"])
    assert len({one.name for one in twice}) == 2, "the same module with other parameters has its own name"
    for wrong, said in (
        (["reno", "reno"], '"reno" is given twice'),
        (["file:./y.c"], '--cc "file:./y.c": .* cannot be read'),
        ([""], '--cc "": a congestion control is one of the kernel'),
        (["file:"], '--cc "file:": a congestion control is one of the kernel'),
        (["renö"], '--cc "renö": a congestion control is one of the kernel'),
    ):
        with pytest.raises(SelectionError, match=said):
            controls(wrong)
    with pytest.raises(SelectionError, match="written as in tc"):
        queues(["  "])
    red = "red " + "x" * 200
    assert [one.name for one in queues(["codel limit 30", "pie", "pfifo"])] == ["codel limit 30", "pie", "pfifo"]
    assert [len(one.name) for one in queues([red, "red limit 9"])] == [100, 11]
    names = [one.name for one in columns_of(QUEUES, queues(["pfifo"]))]
    assert names == ["pfifo", "pfifo limit 2BDP", "fq_codel"]
    assert with_modules(QUEUES, queues(["dualpi2"]), []).modules == ("sch_dualpi2.c",)
    assert with_modules(QUEUES, queues(["codel"]), []).modules == ()


def test_subjects_in_a_scenario_are_quoted() -> None:
    _, case = MEASURED[0]
    data = tomllib.loads(experiment_of(case, [Subject('a "b" \\ \n[c]', "mine “x”")], ["d.c"]).text)
    assert data["cases"][-1] == {"name": "mine “x”", "set": dict.fromkeys(case.sets, 'a "b" \\ \n[c]')}
    assert data["modules"] == ["d.c"]

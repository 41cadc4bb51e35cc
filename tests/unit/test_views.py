"""Views: the available ones, and their findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.analysis.catalogue.metrics import CATALOGUE
from netwarp.analysis.run.distribution import DISTRIBUTED
from netwarp.plan import Plan, make_plan
from netwarp.scenario import ScenarioError, load_scenario, parse_scenario, shipped_scenarios
from netwarp.scenario.model.views import known_views
from netwarp.steps.needs import refuse_unshowable
from netwarp.store.findings import Finding, Holds, read_findings, write_findings
from scenario_texts import replaced


def test_a_scenario_may_name_every_view_there_is() -> None:
    names = ", ".join(f'"{name}"' for name in known_views())
    scenario = parse_scenario(replaced(('name = "t"', f'name = "t"\nviews = [{names}]')))
    assert list(scenario.views) == known_views()
    assert parse_scenario(replaced(), settings=["views=[]"]).views == ()


def test_findings_come_back_as_they_were_written(tmp_path: Path) -> None:
    findings = [
        Finding('pfifo bloats, "much"', Holds.YES, "9.1 × RED's", "8.1 × RED's"),
        Finding("CUBIC is fairer", Holds.NO, "0.98 against 0.99"),
        Finding("UDP loses", Holds.INCONCLUSIVE, "no run of this is there"),
    ]
    assert read_findings(write_findings(tmp_path, findings)) == findings


def _plan(scenario: str, *settings: str) -> Plan:
    return make_plan(load_scenario(scenario, settings))


def test_every_shipped_scenario_has_what_it_shows() -> None:
    assert len([name for name in shipped_scenarios() if load_scenario(name).views]) > 8
    for name in shipped_scenarios():
        refuse_unshowable(_plan(name))


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ('[[expect]]\nmetric = "flow.goodput_mps"\nmin = 1', "expect.0.metric"),
        ('[[expect]]\nmetric = "flow.rtt_ms"\nmin = 1', "expect.0.metric"),
    ],
)
def test_a_metric_that_does_not_exist_is_refused_before_any_run(more: str, where: str) -> None:
    with pytest.raises(ScenarioError, match=rf"{where}: .* is not a metric \(did you mean"):
        refuse_unshowable(make_plan(parse_scenario(f"{replaced()}\n{more}\n")))


def test_a_figure_may_have_a_metric_or_the_stem_of_several() -> None:
    def plan(metric: str) -> Plan:
        figures = f'figures = [{{ metric = "{metric}" }}, "nothing-by-this-name"]'
        return make_plan(parse_scenario(replaced(('name = "t"', f'name = "t"\n{figures}'))))

    for metric in ("flow.rtt_ms_p95", "flow.rtt_ms", "queue.drops_qdisc_overlimit"):
        refuse_unshowable(plan(metric))
    wrong = {
        "flow.rtt_mss": r'is not a metric \(did you mean "flow\.rtt_ms"\?\)',
        "flow.handshake_ms": r'is not a metric \(did you mean "flow\.handshake_ms_mean"\?\)',  # it has no distribution
        "flow.jitter_ms": r"is not a metric",
        "flows.rtt_ms": r'is not a metric \(did you mean "flow\.rtt_ms"\?\); write scope and name',
    }
    for metric, why in wrong.items():
        with pytest.raises(ScenarioError, match=rf"figures\.0.*: .*{why}"):
            refuse_unshowable(plan(metric))


def test_stems_of_figures_are_those_of_distributions() -> None:
    for scope, entries in CATALOGUE.items():
        for stem in {entry.stem for entry in entries} - {name for entry in entries for name in entry.names}:
            figures = f'figures = [{{ metric = "{scope}.{stem}" }}]'
            made = make_plan(parse_scenario(replaced(('name = "t"', f'name = "t"\n{figures}'))))
            if stem in DISTRIBUTED and DISTRIBUTED[stem][0] == scope:
                refuse_unshowable(made)
            else:
                with pytest.raises(ScenarioError, match="is not a metric"):
                    refuse_unshowable(made)


def test_a_scope_that_does_not_exist_has_one_wording() -> None:
    with pytest.raises(ScenarioError, match=r'is not a metric \(did you mean "flow\.rtt_ms_p95"\?\); write scope and'):
        parse_scenario(f'{replaced()}\n[[expect]]\nmetric = "flows.rtt_ms_p95"\nmin = 1\n')


@pytest.mark.parametrize(
    ("metric", "more", "tools"),
    [
        ("flow.mos", "", "media"),
        ("flow.handshake_ms_mean", "", "quic, quic_datagrams"),
        ("flow.stalls", 'where = { name = "bulk" }', "video"),
        ("subflow.rtt_ms_p95", "", "mptcp"),
    ],
)
def test_a_metric_that_no_flow_has_is_refused_before_any_run(metric: str, more: str, tools: str) -> None:
    text = f'{replaced()}\n[[expect]]\nmetric = "{metric}"\nmin = 1\n{more}\n'
    with pytest.raises(ScenarioError, match=rf"expect\.0\.metric: .* is measured of flows with the tool {tools}, and "):
        refuse_unshowable(make_plan(parse_scenario(text)))


def test_a_metric_of_a_tool_that_a_case_sets_is_accepted() -> None:
    expect = '[[expect]]\nmetric = "flow.handshake_ms_mean"\nmin = 1\n'
    swept = '[sweep]\n"flows.bulk.tool" = ["bulk", "quic"]\n'
    refuse_unshowable(make_plan(parse_scenario(f"{replaced()}\n{expect}{swept}")))


@pytest.mark.parametrize(
    ("scenario", "settings", "why"),
    [
        ("web-search", ['views=["energy-cost"]'], "needs two axes"),
        ("energy", ["record.exact=false"], "needs runs with energy"),
        ("bufferbloat", ['views=["energy-cost"]'], "needs runs with energy: give links or nodes a model"),
        ("bufferbloat", ['views=["coexistence-matrix"]'], "needs two axes such as flows.a.cc and flows.b.cc"),
        ("bufferbloat", ['views=["tuners"]'], 'compares tuners, but this study has only one; sweep "run.tuner"'),
        ("red-law", ["links.link.queue=codel"], "is about one queue"),
        ("red-law", ["record.exact=false"], "needs exact records"),
        ("md1", ["links.link.queue=codel"], "is about a queue in the order of arrival"),
        ("md1", ['sweep.links.link.rate=["100mbit", "200mbit"]'], "sweep the flow's rate alone"),
        ("bufferbloat", ['views=["ab-interference"]'], "all, none and some flows are in the group treated"),
    ],
)
def test_a_view_that_the_runs_cannot_fill_is_refused_with_the_scenario(
    scenario: str, settings: list[str], why: str
) -> None:
    with pytest.raises(ScenarioError, match=why) as refused:
        refuse_unshowable(_plan(scenario, *settings))
    (problem,) = refused.value.problems
    assert "views" in problem.where and "--set views=[]" in problem.message
    refuse_unshowable(_plan(scenario, *settings, "views=[]"))


def test_an_engine_without_exact_records_cannot_fill_a_view_of_energy() -> None:
    with pytest.raises(ScenarioError, match="needs runs with energy"):
        refuse_unshowable(_plan("energy"), exact=False)

"""Plans: every point once, ids that follow from resolved values, and fast."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.lab import network_notes
from netwarp.plan import Plan, make_plan
from netwarp.scenario import ScenarioError, notes, parse_scenario
from netwarp.scenario.points import resolve
from scenario_texts import DUMBBELL, replaced

SWEEP = """[sweep]
"links.bottleneck.queue" = ["pfifo limit 20", "fq_codel"]
"flows.bulk.cc" = ["cubic", "bbr", "reno"]
"""


def plan(text: str, *settings_: str) -> Plan:
    return make_plan(parse_scenario(text, settings=settings_))


def ids(text: str, *settings_: str) -> list[str]:
    return [run.id for run in plan(text, *settings_)]


def test_order_is_cases_axes_seeds() -> None:
    cases = '[[cases]]\nname = "a"\n[[cases]]\nname = "b"\nset = { "links.access.rate" = "5mbit" }\n'
    made = plan(DUMBBELL + SWEEP + cases, "seeds=2")
    assert len(made) == 2 * 2 * 3 * 2
    assert made.axes == ("links.bottleneck.queue", "flows.bulk.cc")
    assert [run.label for run in made][:3] == [
        "a, links.bottleneck.queue = pfifo limit 20, flows.bulk.cc = cubic, seed 1",
        "a, links.bottleneck.queue = pfifo limit 20, flows.bulk.cc = cubic, seed 2",
        "a, links.bottleneck.queue = pfifo limit 20, flows.bulk.cc = bbr, seed 1",
    ]
    last = made.runs[-1]
    assert last.scenario.links["access"].rate.forward == 5 * 10**6
    assert last.scenario.links["bottleneck"].queue.forward == "fq_codel"
    assert last.scenario.seeds == (2,)
    assert made.runs[0].scenario.links["access"].rate.forward == 10**9
    only = make_plan(made.scenario, seeds=[7], cases=["b"])
    assert {(run.case, run.seed) for run in only} == {("b", 7)}


def test_setting_replaces_an_axis() -> None:
    made = plan(DUMBBELL + SWEEP, "flows.bulk.cc=bbr")
    assert [run.point["flows.bulk.cc"] for run in made] == ["bbr", "bbr"]
    assert {run.id for run in made} < set(ids(DUMBBELL + SWEEP))


def test_id_is_stable() -> None:
    """An id that changes makes every stored result unknown: change this only together with the resolved values."""
    assert plan(DUMBBELL).runs[0].id == plan(DUMBBELL).runs[0].id
    assert len(plan(DUMBBELL).runs[0].id) == 12
    assert plan(DUMBBELL).id == plan(DUMBBELL).id


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_id_does_not_depend_on_key_order_or_spelling(rng: random.Random) -> None:
    def shuffled(*lines: str) -> str:
        chosen = list(lines)
        rng.shuffle(chosen)
        return "\n".join(chosen) + "\n"

    nodes = "[nodes]\nh1 = {}\nr1 = { forward = true }\nh2 = {}\n"
    access = "[links.access]\n" + shuffled('ends = ["h1", "r1"]', 'rate = "1000mbit"')
    bottleneck = "[links.bottleneck]\n" + shuffled(
        'ends = ["r1", "h2"]', 'rate = "10mbit"', 'delay = "0.01s"', 'queue = "pfifo  limit 100"', "mtu = 1500"
    )
    flow = "[flows.bulk]\n" + shuffled('from = "h1"', 'to = "h2"', 'tool = "bulk"', 'cc = "cubic"', 'start = "0s"')
    sections = [nodes, access + bottleneck, flow]
    rng.shuffle(sections)
    text = 'duration = "10000ms"\nname = "other"\nsummary = "other"\n' + "".join(sections)
    assert ids(text) == ids(DUMBBELL)


DIFFERENT = [
    "duration=9s",
    "warmup=1s",
    "run.memory=256M",
    "run.start_jitter=0s",
    "record.exact=false",
    "nodes.h1.forward=true",
    "nodes.h1.sysctl.net.ipv4.tcp_ecn=1",
    "links.access.rate=2gbit",
    "links.access.rate.reverse=2gbit",
    "links.bottleneck.delay=11ms",
    "links.bottleneck.jitter=1ms",
    "links.bottleneck.loss=1%",
    "links.bottleneck.queue=fq_codel",
    "links.bottleneck.queue.reverse=fq_codel",
    "links.bottleneck.mtu=1400",
    "flows.bulk.cc=bbr",
    "flows.bulk.count=2",
    "flows.bulk.start=1s",
    'flows.bulk.bytes="1MB"',
    "flows.bulk.family=ipv6",
    "seeds=[2]",
]


def test_id_differs_when_anything_resolved_differs() -> None:
    found = [ids(DUMBBELL)[0], *(ids(DUMBBELL, setting)[0] for setting in DIFFERENT)]
    assert len(set(found)) == len(DIFFERENT) + 1


def test_order_of_links_decides_addresses_and_so_the_id() -> None:
    head, access, rest = DUMBBELL.replace("[links.b", "\0[links.b").replace("[links.a", "\0[links.a").split("\0")
    bottleneck, flow = rest.split("[flows")
    assert ids(head + bottleneck + access + "[flows" + flow) != ids(DUMBBELL)


def test_id_ignores_presentation_and_unused_tuners() -> None:
    same = ["name=x", "summary=x", "run.time_limit=5s"]
    tail = '[tuners.t]\nsysctl = { "net.ipv4.tcp_ecn" = 1 }\n[[expect]]\nmetric = "flow.goodput_mbps"\nmin = 1\n'
    assert {ids(DUMBBELL)[0]} == {ids(DUMBBELL, setting)[0] for setting in same} | set(ids(DUMBBELL + tail))
    assert ids(DUMBBELL + tail, "run.tuner=t") != ids(DUMBBELL)


def test_identity_goes_into_the_id() -> None:
    scenario = parse_scenario(DUMBBELL)
    found = {make_plan(scenario, identity=identity).id for identity in (None, {"kernel": "a"}, {"kernel": "b"})}
    assert len(found) == 3
    assert (
        make_plan(scenario, identity={"a": "1", "b": "2"}).id == make_plan(scenario, identity={"b": "2", "a": "1"}).id
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3))
def test_size_is_the_product(sizes: list[int], seeds: int) -> None:
    paths = ["links.bottleneck.queue", "flows.bulk.cc", "links.bottleneck.delay"]
    values = [["pfifo", "red", "codel", "pie"], ["cubic", "bbr", "reno", "vegas"], ["1ms", "2ms", "3ms", "4ms"]]
    axes = "".join(f'"{path}" = {json.dumps(v[:n])}\n' for path, v, n in zip(paths, values, sizes, strict=False))
    made = plan(f"{DUMBBELL}[sweep]\n{axes}", f"seeds={seeds}")
    expected = seeds
    for size in sizes:
        expected *= size
    assert len(made) == len({run.id for run in made}) == expected


def test_lazily_resolved_scenario_equals_the_loaded_one() -> None:
    for run in plan(DUMBBELL + SWEEP):
        loaded = parse_scenario(DUMBBELL, settings=[f"{path}={value}" for path, value in run.point.items()])
        assert run.scenario.links == loaded.links
        assert run.scenario.flows == loaded.flows
        assert run.id == make_plan(loaded).runs[0].id


@pytest.mark.parametrize(
    ("tail", "fragment"),
    [
        (
            '[sweep]\n"links.access.rate" = ["1mbit", "1mbps"]\n',
            't.toml:20: sweep."links.access.rate": "1mbps": tc means',
        ),
        ('[sweep]\n"links.access.rate" = ["1mbit", "1000kbit"]\n', "one and the same run"),
        ('[sweep]\n"duration" = ["1s", "0s"]\n', "t.toml:20: sweep.duration: must be longer than 0"),
        ('[sweep]\n"warmup" = ["1s", "12s"]\n', "t.toml:20: sweep.warmup: the warm-up (12s) leaves nothing"),
        ('[sweep]\n"flows.bulk.to" = ["h2", "h1"]\n', 't.toml:20: sweep."flows.bulk.to": a flow to itself'),
        (
            '[sweep]\n"flows.bulk.tool" = ["bulk", "cbr"]\n',
            "flows.bulk.rate: `rate` is missing (at the point flows.bulk.tool = 'cbr')",
        ),
        ('[sweep]\n"run.tuner" = ["default", "x"]\n', 't.toml:20: sweep."run.tuner": there is no tuner "x"'),
        ('[sweep]\n"nodes.r1.forward" = [true, false]\n', "at the point nodes.r1.forward = False"),
        (
            '[sweep]\n"links.bottleneck.reorder" = ["0%", "1%"]\n"links.bottleneck.delay" = ["0s", "1s"]\n',
            "needs a delay",
        ),
        ('[[cases]]\nname = "x"\nset = { "links.access.rate" = 5 }\n', '"links.access.rate": 5 has no unit'),
        ('[[cases]]\nname = "x"\nset = { "nodes.r1.forward" = false }\n', '"h1" cannot reach "h2"'),
    ],
)
def test_points_that_are_no_scenario(tail: str, fragment: str) -> None:
    """The notes, which `run` prints before the plan, leave the error to the plan."""
    scenario = parse_scenario(DUMBBELL + tail, "t.toml")
    notes(scenario, network_notes)
    with pytest.raises(ScenarioError) as refusal:
        make_plan(scenario)
    assert fragment in str(refusal.value)


def test_unknown_case_and_bad_seeds() -> None:
    scenario = parse_scenario(DUMBBELL + '[[cases]]\nname = "slow"\n')
    with pytest.raises(ScenarioError, match=r'there is no case "slwo".*did you mean "slow"'):
        make_plan(scenario, cases=["slwo"])
    for seeds in ([], [1, 1]):
        with pytest.raises(ScenarioError, match="at least one seed"):
            make_plan(scenario, seeds=seeds)


def test_sweep_in_changes_and_one_direction() -> None:
    text = replaced(tail='[[changes]]\nat = "1s"\nlink = "access"\nrate = "1mbit"\n[sweep]\n')
    made = plan(text + '"changes.0.rate" = ["1mbit", "2mbit"]\n"links.bottleneck.rate.reverse" = ["3mbit", "4mbit"]\n')
    change = made.runs[-1].scenario.changes[0].rate
    assert change is not None and change.forward == 2 * 10**6
    rate = made.runs[-1].scenario.links["bottleneck"].rate
    assert (rate.forward, rate.reverse) == (10**7, 4 * 10**6)


@pytest.mark.slow
def test_of_ten_thousand_runs_each_section_is_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unaffected sections of a point are not validated again, and points that no check can distinguish are checked
    once."""
    counted: Counter[str] = Counter()
    section, check = resolve._section, resolve.__dict__["check_scenario"]
    monkeypatch.setattr(resolve, "_section", lambda *given: counted.update(sections=1) or section(*given))
    monkeypatch.setattr(resolve, "check_scenario", lambda *given: counted.update(checks=1) or check(*given))
    rates = json.dumps([f"{n}mbit" for n in range(10, 35)])
    starts = json.dumps([f"{n}ms" for n in range(20)])
    queues = json.dumps([f"pfifo limit {n}" for n in range(1, 21)])
    axes = f'"links.bottleneck.rate" = {rates}\n"flows.bulk.start" = {starts}\n"links.bottleneck.queue" = {queues}\n'
    made = plan(f"{DUMBBELL}[sweep]\n{axes}")
    assert len(made) == len({run.id for run in made}) == 10_000
    of_the_base = 7 + 3 + 2 + 1 + 1  # sections that count: single ones, nodes, links, flow, tuners
    assert counted["sections"] <= 25 * 20 + 20 + of_the_base + 10
    assert counted["checks"] == 20, "one for each start: nothing holds a rate or a queue against the rest"


def test_a_plan_has_a_bound_that_is_checked_before_any_work() -> None:
    with pytest.raises(ScenarioError, match="1,000,000,000 runs"):
        make_plan(parse_scenario(DUMBBELL), seeds=range(1, 10**9 + 1))
    numbers = ", ".join(map(str, range(1, 401)))
    sweep = "".join(f'"flows.bulk.{key}" = [{numbers}]\n' for key in ("count", "bytes", "start"))
    with pytest.raises(ScenarioError, match="64,000,000 points"):
        plan(replaced(tail=f"[sweep]\n{sweep}"))


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "[[ {} ]]\nb = 1", "x = {{ {} = 1 }}", "x = {{ y = 1, {} = 1 }}"])
def test_what_is_nested_too_deeply_is_no_scenario(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is it parsed: for a key of 30,000 parts, tomllib's time grows with the square of its length."""
    monkeypatch.delattr(tomllib, "loads")
    for part in ("a", '"a.b"', "'a'"):
        with pytest.raises(ScenarioError, match="nested more than"):
            parse_scenario(text.format(".".join([part] * 30_000)))


@pytest.mark.parametrize(
    ("settings", "sample_ns"),
    [
        ([], 10**9),
        (["record.exact=false"], 10**8),
        # No exact record has the inner state of a queue.
        (['record.queue_states=["bottleneck:r1"]'], 10**8),
        (['record.queue_states=["bottleneck:r1"]', "record.sample=1s"], 10**9),
    ],
)
def test_samples_are_as_frequent_as_what_only_they_have_needs(settings: list[str], sample_ns: int) -> None:
    assert parse_scenario(DUMBBELL, settings=settings).record.sample_ns == sample_ns

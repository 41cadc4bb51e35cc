"""Flows over time: changes, ramps, repetitions, numbers of active flows; and errors in them."""

from __future__ import annotations

import pytest
from netwarp.lab import build_lab
from netwarp.lab.commands import commands
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError
from netwarp.scenario.load.loader import parse_scenario
from netwarp.scenario.model.flow_timeline import flow_timeline
from scenario_texts import DUMBBELL

FLOWS = """
[flows.udp]
from = "h1"
to = "h2"
tool = "cbr"
rate = "1mbit"
[flows.web]
from = "h1"
to = "h2"
tool = "request"
count = 4
response_size = "10kB"
think = "1s exponential"
"""
S = 10**9


def change(flow: str, at: str, *fields: str) -> str:
    return f'[[changes]]\nat = "{at}"\nflow = "{flow}"\n' + "".join(f"{field}\n" for field in fields)


def states(group: str, *changes: str) -> list[tuple[float, int | None, float | None, int]]:
    """Seconds, Mbit/s, seconds of pause, number."""
    found = flow_timeline(parse_scenario(DUMBBELL + FLOWS + "".join(changes)), group)
    return [(at / S, s.rate and s.rate // 10**6, s.think.mean / S if s.think else None, s.active) for at, s in found]


def test_steps_ramps_and_repetitions_are_those_of_links() -> None:
    assert states("udp", change("udp", "2s", 'rate = "3mbit"')) == [(0, 1, None, 1), (2, 3, None, 1)]
    ramp = change("udp", "1s", 'rate = "5mbit"', 'over = "4s"', 'step = "1s"')
    assert [(at, rate) for at, rate, _, _ in states("udp", ramp)] == [(0, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    square = [change("udp", at, f'rate = "{rate}mbit"', 'repeat = "4s"') for at, rate in (("1s", 2), ("3s", 1))]
    assert [(at, rate) for at, rate, _, _ in states("udp", *square)] == [(0, 1), (1, 2), (3, 1), (5, 2), (7, 1), (9, 2)]


def test_numbers_and_pauses_change_gradually() -> None:
    down = change("web", "2s", "active = 1", 'think = "3s exponential"', 'over = "2s"', 'step = "500ms"')
    assert states("web", down) == [
        (0, None, 1.0, 4),
        (2.5, None, 1.5, 3),
        (3, None, 2.0, 2),
        (3.5, None, 2.5, 2),
        (4, None, 3.0, 1),
    ]


def test_each_flow_of_the_group_has_its_own_changes_in_the_lab() -> None:
    text = (
        DUMBBELL + FLOWS + change("web", "2s", "active = 1") + change("web", "5s", "active = 4", 'think = "2s pareto"')
    )
    lab = build_lab(make_plan(parse_scenario(text)).runs[0])
    changes = {flow.name: [change.as_json() for change in flow.changes] for flow in lab.flows}
    assert changes["bulk"] == changes["udp"] == []
    later = {"rate_bps": None, "think_ns": 2 * S, "think_distribution": "pareto", "active": True, "at_ns": 5 * S}
    assert changes["web.0"] == [later]
    away = {"rate_bps": None, "think_ns": S, "think_distribution": "exponential", "active": False, "at_ns": 2 * S}
    assert changes["web.3"] == [away, later]
    shown = [line for line in commands(lab) if "web.3:" in line]
    assert shown == ["# at 2s: web.3: not active", "# at 5s: web.3: active, think 2s pareto"]


def test_who_is_not_there_at_the_start_has_a_change_then() -> None:
    text = DUMBBELL + FLOWS + change("web", "0s", "active = 3") + change("web", "5s", "active = 4")
    lab = build_lab(make_plan(parse_scenario(text)).runs[0])
    changes = {flow.name: [(c.at_ns, c.active) for c in flow.changes] for flow in lab.flows}
    assert (changes["web.0"], changes["web.3"]) == ([], [(0, False), (5 * S, True)])


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (change("wbe", "1s", "active = 1"), 'there is no flow "wbe" (did you mean "web"?)'),
        (change("web", "1s", "active = 9"), '9 flows of "web" cannot be active, as its `count` is 4'),
        (
            change("web", "1s", 'rate = "2mbit"'),
            "the rate of a `request` flow cannot change; its think and active can",
        ),
        (
            change("udp", "1s", 'think = "1s"'),
            "the think of a `cbr` flow cannot change; its rate and active can",
        ),
        (
            change("bulk", "1s", "active = 0"),
            "a `bulk` flow cannot change while it runs; make several groups, each with a `start`",
        ),
        (change("udp", "1s"), "changes nothing; give rate, think or active"),
        (change("udp", "1s", 'rate = "2mbit"', 'delay = "3ms"'), "a flow has no `delay`; name the `link`"),
        (change("udp", "1s", 'rate = { forward = "2mbit" }'), "a flow has one direction; write only its rate"),
        (change("udp", "1s", 'link = "bottleneck"', 'rate = "2mbit"'), "names both a `link` and a `flow`"),
        ('[[changes]]\nat = "1s"\nrate = "2mbit"\n', "names neither a `link` nor a `flow`; name one of the two"),
        ('[[changes]]\nat = "1s"\nlink = "bottleneck"\nactive = 2\n', "a link has no `active`; name a `flow`"),
        (change("web", "0s", "active = 2"), "at most 2 of these 4 flows are active at any time; take `count = 2`"),
        (change("udp", "0s", "active = 0"), "none of these flows is active at any time"),
        (
            change("udp", "1s", 'rate = "2mbit"', 'over = "3s"') + change("udp", "2s", 'rate = "9mbit"'),
            'at 2s the rate of flow "udp" is still changing',
        ),
        (change("web", "1s", 'think = "1s pareto"', 'over = "3s"'), "a ramp of `think` keeps its distribution"),
        (change("web", "1s", "active = 1", 'over = "2s"', 'step = "3s"'), "a step is longer than the whole `over`"),
        (change("web", "0s", 'think = "2s"', 'repeat = "10ns"'), 'flow "web" would change more than'),
    ],
)
def test_what_cannot_be_is_said(tail: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(DUMBBELL + FLOWS + tail)
    assert message in str(refused.value)

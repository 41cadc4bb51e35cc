"""A link over time: changes, ramps, repetitions, outages; and errors in them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.lab import build_lab, network_notes
from netwarp.lab.commands import commands
from netwarp.lab.drawing import draw
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.model.timeline import timeline
from netwarp.scenario.points.notes import notes
from scenario_texts import DUMBBELL, replaced

MS = 10**6
LINK = 'link = "bottleneck"'


def change(at: str, *fields: str) -> str:
    return f'[[changes]]\nat = "{at}"\n{LINK}\n' + "".join(f"{field}\n" for field in fields)


def series(tail: str, name: str, way: int = 0, text: str = DUMBBELL) -> list[tuple[float, Any]]:
    """(ms, value) of one property after each change of it."""
    states = timeline(parse_scenario(text + tail), "bottleneck", way)
    found: list[tuple[float, Any]] = []
    for at, state in states:
        value = state.value(name)
        if not found or found[-1][1] != value:
            found.append((at / MS, value))
    return found


def test_a_step() -> None:
    assert series(change("2s", 'rate = "1mbit"'), "rate") == [(0, 10_000_000), (2000, 1_000_000)]


def test_a_change_at_the_start_is_the_start() -> None:
    assert series(change("0s", 'rate = "1mbit"'), "rate") == [(0, 1_000_000)]


def test_a_ramp_is_a_straight_line_in_steps() -> None:
    ramp = change("1s", 'rate = "2mbit"', 'over = "400ms"', 'step = "100ms"')
    assert series(ramp, "rate") == [
        (0, 10_000_000),
        (1100, 8_000_000),
        (1200, 6_000_000),
        (1300, 4_000_000),
        (1400, 2_000_000),
    ]


def test_the_last_step_of_a_ramp_may_be_shorter() -> None:
    ramp = change("1s", 'delay = "35ms"', 'over = "250ms"', 'step = "100ms"')
    assert series(ramp, "delay") == [(0, 10 * MS), (1100, 20 * MS), (1200, 30 * MS), (1250, 35 * MS)]


def test_a_ramp_has_fifty_steps_unless_it_says() -> None:
    assert len(series(change("1s", 'rate = "2mbit"', 'over = "5s"'), "rate")) == 51


def test_ramps_of_jitter_and_loss() -> None:
    ramp = change("1s", 'loss = "4%"', 'jitter = "2ms normal"', 'over = "200ms"', 'step = "100ms"')
    assert [(at, loss.p) for at, loss in series(ramp, "loss")] == [(0, 0), (1100, 0.02), (1200, 0.04)]
    assert [(at, j.words()) for at, j in series(ramp, "jitter")] == [
        (0, "0ns"),
        (1100, "1ms distribution normal"),
        (1200, "2ms distribution normal"),
    ]


def test_a_ramp_begins_from_what_is() -> None:
    tail = change("1s", 'rate = "4mbit"') + change("2s", 'rate = "2mbit"', 'over = "200ms"', 'step = "100ms"')
    assert series(tail, "rate") == [(0, 10_000_000), (1000, 4_000_000), (2100, 3_000_000), (2200, 2_000_000)]


def test_repetition() -> None:
    """A square wave: two changes, each every two seconds."""
    tail = change("1s", 'rate = "1mbit"', 'repeat = "2s"') + change(
        "2s", 'rate = "10mbit"', 'repeat = "2s"', "times = 2"
    )
    assert [at for at, _ in series(tail, "rate")] == [0, 1000, 2000, 3000, 4000, 5000]


def test_a_ramp_may_be_repeated() -> None:
    up = change("0s", 'rate = "12mbit"', 'over = "2s"', 'step = "1s"', 'repeat = "4s"', "times = 2")
    down = change("2s", 'rate = "10mbit"', 'over = "2s"', 'step = "1s"', 'repeat = "4s"')
    values = [value // 10**6 for _, value in series(up + down, "rate")]
    assert values == [10, 11, 12, 11, 10, 11, 12, 11, 10]


def test_an_outage_loses_everything_and_gives_back_what_was_or_became() -> None:
    tail = change("1s", 'outage = "300ms"') + change("1.1s", 'loss = "2%"')
    assert [(at, loss.p) for at, loss in series(tail, "loss")] == [(0, 0), (1000, 1), (1300, 0.02)]
    assert [(at, loss.p) for at, loss in series(tail, "loss", way=1)] == [(0, 0), (1000, 1), (1300, 0.02)]


def test_outages_in_bursts_one_way() -> None:
    tail = change("1s", 'outage = { forward = "100ms" }', 'repeat = "3s"')
    assert [at for at, _ in series(tail, "loss")] == [0, 1000, 1100, 4000, 4100, 7000, 7100]
    assert [at for at, _ in series(tail, "loss", way=1)] == [0]


def test_outages_that_touch_are_one() -> None:
    tail = change("1s", 'outage = "300ms"') + change("1.2s", 'outage = "300ms"') + change("1.5s", 'outage = "1s"')
    assert [at for at, _ in series(tail, "loss")] == [0, 1000, 2500]


def test_a_trace_in_one_direction_and_changes_of_the_rest() -> None:
    text = replaced(('rate = "10mbit"', 'rate = "10mbit"\ntrace = { forward = "lte" }'))
    tail = change("1s", 'delay = "20ms"') + change("2s", 'rate = { reverse = "1mbit" }')
    assert len(series(tail, "rate", text=text)) == 100
    assert series(tail, "rate", way=1, text=text) == [(0, 10_000_000), (2000, 1_000_000)]
    assert series(tail, "delay", text=text) == [(0, 10 * MS), (1000, 20 * MS)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9999),
            st.sampled_from(["rate", "delay", "loss", "outage"]),
            st.integers(1, 100),
            st.none() | st.integers(1, 3000),
            st.none() | st.integers(2000, 6000),
        ),
        max_size=5,
    )
)
def test_any_changes_make_a_timeline_or_a_sentence(changes: list[tuple[int, str, int, int | None, int | None]]) -> None:
    units = {"rate": "mbit", "delay": "ms", "loss": "%", "outage": "ms"}
    tail = ""
    for at, name, value, over, repeat in changes:
        fields = [f'{name} = "{value}{units[name]}"']
        fields += [f'over = "{over}ms"'] if over else []
        fields += [f'repeat = "{repeat}ms"'] if repeat else []
        tail += change(f"{at}ms", *fields)
    try:
        scenario = parse_scenario(DUMBBELL + tail)
    except ScenarioError as error:
        assert all(problem.line for problem in error.problems)
        return
    for way in (0, 1):
        states = timeline(scenario, "bottleneck", way)
        times = [at for at, _ in states]
        assert times[0] == 0 and times == sorted(set(times)) and times[-1] < scenario.duration
        assert all(a != b for (_, a), (_, b) in pairwise(states))


@pytest.mark.parametrize(
    ("tail", "fragment"),
    [
        (change("1s"), "changes nothing; give one of rate, delay, jitter, loss, queue, outage"),
        (change("1s", 'step = "1s"', 'rate = "1mbit"'), "there are no steps without `over`"),
        (change("1s", 'over = "1s"', 'step = "2s"', 'rate = "1mbit"'), "a step is longer than the whole `over` of 1s"),
        (change("9s", 'over = "2s"', 'rate = "1mbit"'), "lasts until 11s, when the run of 10s is over"),
        (change("9s", 'outage = "2s"'), "lasts until 11s, when the run of 10s is over"),
        (change("10s", 'outage = "1ms"'), "happens at 10s, when the run of 10s is over"),
        (change("1s", 'outage = "2s"', 'repeat = "1s"'), "begins again before its `outage` of 2s is over"),
        (change("1s", 'rate = "1mbit"', 'over = "2s"', 'repeat = "1s"'), "begins again before its `over`"),
        (change("1s", 'rate = "1mbit"', "times = 3"), "happens only once, because there is no `repeat`"),
        (change("1s", 'rate = "1mbit"', 'repeat = "5s"', "times = 3"), "happens for the last time at 11s"),
        (change("1s", 'rate = "1mbit"', "times = 0"), "times"),
        (change("1s", 'over = "1s"', 'queue = "pfifo limit 3"'), "a queue cannot change gradually"),
        (change("1s", 'over = "1s"', 'outage = "1s"'), "an outage is not gradual"),
        (change("1s", 'over = "1s"', 'loss = "gemodel 1% 10%"'), "a ramp of the loss leads from one random loss"),
        (
            change("1s", 'jitter = "2ms pareto"') + change("2s", 'over = "1s"', 'jitter = "4ms normal"'),
            "a ramp of the jitter keeps its distribution",
        ),
        (
            change("1s", 'over = "2s"', 'rate = "1mbit"') + change("2s", 'rate = "2mbit"'),
            'at 2s the rate of link "bottleneck" is still changing: changes.0 moves it until 3s',
        ),
        (
            change("1s", 'rate = "10kbit"') + change("2s", 'rate = "2mbit"'),
            "from 1s to 2s the rate is 10kbit, at which a full frame takes 1211 ms, longer than that",
        ),
        (change("1s", 'rate = "10kbit"', 'over = "1s"', 'step = "10ms"'), "full frame takes"),
        (change("1s", 'outage = "x"'), "not a duration"),
        (change("1s", 'outage = { sideways = "1s" }'), '"sideways" is not a direction'),
    ],
)
def test_bad_changes(tail: str, fragment: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(DUMBBELL + tail)
    assert fragment in str(caught.value)
    assert all(problem.line and problem.line > len(DUMBBELL.splitlines()) for problem in caught.value.problems)


def test_too_many_changes() -> None:
    tail = change("0s", 'delay = "1ms"', 'repeat = "1us"') + change("1us", 'delay = "2ms"', 'repeat = "1us"')
    with pytest.raises(ScenarioError, match="would change more than 100000 times"):
        parse_scenario(replaced(('duration = "10s"', 'duration = "1s"'), tail=tail))


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        (('rate = "1mbit"', 'over = "9s"', 'step = "1ns"'), "step"),
        (('outage = "1ns"', 'repeat = "2ns"'), "repeat"),
        (('rate = "1mbit"', 'repeat = "1ns"'), "repeat"),
    ],
)
def test_too_many_changes_are_refused_before_any_is_made(fields: tuple[str, ...], place: str) -> None:
    with pytest.raises(ScenarioError, match=rf"changes\.0\.{place}: .*would change more than 100000 times"):
        parse_scenario(DUMBBELL + change("0s", *fields))


@pytest.mark.slow
def test_a_trace_of_too_many_moments_is_refused_before_any_is_made(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time,rate\n0,1mbit\n0.000000001,2mbit\n0.000000002\n")
    text = replaced(('rate = "10mbit"', 'trace = "t.csv"'))
    with pytest.raises(ScenarioError, match="would change more than 100000 times"):
        parse_scenario(text, folder=tmp_path)


@pytest.mark.parametrize(
    ("queue", "after", "fragment"),
    [
        ("sfq", "sfq perturb 10", "the kernel cannot change a sfq that runs"),
        ("fq_codel", "fq_codel flows 64", "the kernel cannot change `flows` of a fq_codel that runs"),
    ],
)
def test_queues_that_the_kernel_cannot_change(queue: str, after: str, fragment: str) -> None:
    text = replaced(("pfifo limit 100", queue), tail=change("1s", f'queue = "{after}"'))
    with pytest.raises(ScenarioError, match=fragment):
        parse_scenario(text)


@pytest.mark.parametrize(
    ("queue", "after", "fragment"),
    [
        ("pfifo limit 100", "fq_codel", "a fq_codel replaces the pfifo"),
        ("red limit 90000 avpkt 1000", "red limit 60000 avpkt 1000", "the kernel empties a red that is changed"),
        ("pfifo limit 100", "pfifo limit 10", None),
        ("sfq", "sfq", None),
    ],
)
def test_notes_say_where_a_change_loses_packets(queue: str, after: str, fragment: str | None) -> None:
    scenario = parse_scenario(replaced(("pfifo limit 100", queue), tail=change("1s", f'queue = "{after}"')))
    output = notes(scenario)
    assert [note.where for note in output] == (["changes.0.queue"] if fragment else [])
    assert all(fragment in note.message for note in output if fragment)


def test_notes_say_where_no_packet_catches_up() -> None:
    """Jitter and a delay that falls, at the bottleneck of a flow that keeps it busy, but at no faster link."""

    def places(tail: str, *pairs: tuple[str, str]) -> list[str]:
        return [note.where for note in notes(parse_scenario(replaced(*pairs, tail=tail)), network_notes)]

    assert places(change("1s", 'delay = "5ms"')) == ["links.bottleneck.delay"]
    assert places(change("1s", 'delay = "20ms"')) == []
    assert places(change("1s", 'delay = { reverse = "5ms" }')) == []
    assert places(change("1s", 'jitter = "5ms"')) == ["links.bottleneck.jitter"]
    assert "links.bottleneck.delay" not in places(change("1s", 'delay = "5ms"'), ('rate = "1gbit"', 'rate = "5mbit"'))
    assert places("", ('delay = "10ms"', 'delay = "10ms"\njitter = "1ms"'), ('"bulk"', '"ping"')) == []


def test_changes_can_be_swept() -> None:
    tail = change("1s", 'rate = "1mbit"', 'over = "2s"') + '[sweep]\n"changes.0.over" = ["1s", "9s"]\n'
    assert len({run.id for run in make_plan(parse_scenario(DUMBBELL + tail))}) == 2
    with pytest.raises(ScenarioError, match="lasts until 21s"):
        make_plan(parse_scenario(DUMBBELL + tail.replace("9s", "20s")))
    # The rate of the link itself is compared with later changes.
    tail = change("1s", 'rate = "1mbit"') + '[sweep]\n"links.bottleneck.rate" = ["10mbit", "8kbit"]\n'
    with pytest.raises(ScenarioError, match="full frame takes 1514 ms"):
        make_plan(parse_scenario(DUMBBELL + tail))


def test_the_lab_and_its_commands_hold_every_step() -> None:
    tail = change("1s", 'rate = "9mbit"', 'over = "200ms"', 'step = "100ms"') + change("2s", 'outage = "1s"')
    lab = build_lab(make_plan(parse_scenario(DUMBBELL + tail)).runs[0], devices=False)
    forward = [entry for entry in lab.changes if entry.index == lab.links[1].ends[0].index]
    assert [(entry.at_ns // MS, entry.rate_bps) for entry in forward] == [
        (1100, 9_500_000),
        (1200, 9_000_000),
        (2000, None),
        (3000, None),
    ]
    losses = [entry.wire.as_json()["loss"] for entry in forward if entry.wire]
    assert losses == [None, None, {"model": "random", "p": 1.0, "correlation": 0.0, "ecn": False}, None]
    assert "# at 1100ms: tc -n r1 class change dev eth1 parent 1: classid 1:1 htb rate 9500000bit" in "\n".join(
        commands(lab)
    )


def test_notes_say_what_netems_correlations_do() -> None:
    text = replaced(('delay = "10ms"', 'delay = "10ms"\nloss = "1% 25%"\njitter = "1ms 25%"'))
    assert [(note.where, note.line) for note in notes(parse_scenario(text))] == [
        ("links.bottleneck.loss", 14),
        ("links.bottleneck.jitter", 15),
    ]
    assert notes(parse_scenario(DUMBBELL)) == []


def test_notes_look_at_every_point() -> None:
    """Values of a sweep or a case are used, and not those of the base."""
    swept = '[sweep]\n"links.bottleneck.loss" = ["0%", "1% 25%", "2% 25%"]\n"links.bottleneck.rate" = ["1mbit"]\n'
    assert [note.where for note in notes(parse_scenario(DUMBBELL + swept))] == ['sweep."links.bottleneck.loss"']
    cases = '[[cases]]\nname = "a"\n[[cases]]\nname = "b"\nset = { "links.bottleneck.jitter.reverse" = "1ms 25%" }\n'
    (note,) = notes(parse_scenario(DUMBBELL + cases))
    assert note.where == 'cases.1.set."links.bottleneck.jitter.reverse"'
    base = replaced(('delay = "10ms"', 'delay = "10ms"\nloss = "1% 25%"'))
    assert notes(parse_scenario(base + swept.replace("25%", "").replace("% ", "%"))) == []
    queues = change("1s", 'queue = "fq_codel"') + '[sweep]\n"links.bottleneck.queue" = ["fq_codel", "pfifo limit 9"]\n'
    (note,) = notes(parse_scenario(DUMBBELL + queues))
    assert "replaces the pfifo" in note.message


def test_of_many_changes_the_first_are_printed() -> None:
    text = replaced(('rate = "10mbit"', 'trace = "lte"'))
    lab = build_lab(make_plan(parse_scenario(text)).runs[0])
    assert commands(lab)[-1] == f"# … and {len(lab.changes) - 40} more changes, the last at 9900ms"
    assert "pfifo limit 100  (changes 99 times)" in draw(lab)


def test_notes_of_red_that_does_not_adapt() -> None:
    red = "red limit 90000 avpkt 1514"
    for words in ("adaptive", "adaptative"):
        (note,) = notes(parse_scenario(replaced(("pfifo limit 100", f"{red} {words}"))))
        assert note.where == "links.bottleneck.queue" and "does not adapt" in note.message
    assert notes(parse_scenario(replaced(("pfifo limit 100", red)))) == []
    swept = f'[sweep]\n"links.bottleneck.queue" = ["{red}", "{red} adaptive"]\n'
    assert [note.where for note in notes(parse_scenario(DUMBBELL + swept))] == ['sweep."links.bottleneck.queue"']
    later = change("1s", f'queue = "{red} adaptive ecn"')
    assert len(notes(parse_scenario(replaced(("pfifo limit 100", red), tail=later)))) == 2, "and one of what is lost"


def test_notes_of_the_network_look_at_every_point() -> None:
    """A sender at its bottleneck, buffers beyond a host's own, DCTCP; each is noted once."""

    def places(tail: str) -> list[str]:
        return [note.where for note in notes(parse_scenario(DUMBBELL + tail), network_notes)]

    assert places("") == []
    # Its default queue of a thousand packets is more than a host's own buffers fill.
    assert places('[sweep]\n"links.access.rate" = ["1gbit", "5mbit", "10mbit"]\n') == ["nodes", "flows.bulk"]
    assert places('[sweep]\n"links.bottleneck.delay" = ["10ms", "2s"]\n') == ["nodes"]
    assert places('[sweep]\n"flows.bulk.cc" = ["cubic", "dctcp"]\n') == ['sweep."flows.bulk.cc"']

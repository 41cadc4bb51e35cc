"""Advice without a single run: questions, refusals, judgement, and estimates from recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.advise.advice import _choose
from netwarp.advise.candidates import NOW, Candidate, candidates_of
from netwarp.advise.catalogue import read_catalogue
from netwarp.advise.commands import commands_of
from netwarp.advise.criteria import check_limits, parse_goal, parse_limit, playout, score, utilities
from netwarp.advise.described import environment_of_scenario
from netwarp.advise.energy import with_energy
from netwarp.advise.environment import MINE, MODEM, Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.estimate import estimate
from netwarp.advise.judgement import Standing, check, differences, robust_scores
from netwarp.advise.options import (
    Options,
    Ownership,
    changes_of,
    default_goal,
    ownership_of,
    question_environment,
)
from netwarp.advise.present import parse_present, undo_queue
from netwarp.advise.situations import AS_DESCRIBED, scenario_of, situations_of
from netwarp.advise.sizing import EFFORTS, cost_s, size_of
from netwarp.advise.traffic import parse_traffic
from netwarp.advise.trial import Trial
from netwarp.plan import make_plan
from netwarp.scenario import load_scenario, parse_scenario
from scenario_texts import DUMBBELL

BOTH = ("sender", "queue")


def _home(**options: str) -> Environment:
    given: dict[str, Any] = {"rate": "20/2mbit", "rtt": "30ms", "traffic": "bulk 3, call 1"} | options
    return question_environment(Options(**given), BOTH)


def _behind_a_modem(**options: str) -> Environment:
    given: dict[str, Any] = {"rate": "20/2mbit", "rtt": "30ms", "traffic": "bulk 3, call 1"} | options
    return question_environment(Options(**given), ("shaper",), Ownership(MODEM))


def test_traffic_is_read_as_written() -> None:
    text = "bulk 3, upload 1, call 1, web 20%, udp 2mbit"
    assert str(parse_traffic(text)) == text
    assert parse_traffic("call").call == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bluk 3", 'did you mean "bulk"'),
        ("", "nothing would be sent"),
        ("bulk 0", "nothing would be sent"),
        ("bulk 3, bulk 1", "twice"),
        ("web 120%", "more than 100%"),
        ("bulk 2000", "not a number of flows"),
        ("udp 2mbps", "BYTES"),
    ],
)
def test_traffic_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(AdviceError, match=words):
        parse_traffic(text)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (["rtt_p95 < 20ms"], "the empty path alone takes 30 ms"),
        (["goodput > 25mbit"], "carries at most 20 Mbit/s of it"),
        (["rtt_p95 < 50ms", "rtt_p95 > 60ms"], "contradict each other"),
        (["web_p95 < 1s"], "needs traffic"),
        (["rtt < 50ms"], 'did you mean "rtt_p95"'),
        (["rtt_p95 under 50ms"], "is not a limit"),
        (["rtt_p95 < 50"], "has no unit"),
        (["energy < -1"], '"-1" is negative'),
        (["energy < 0"], "cannot be met: energy is always above 0"),
        (["energy < 5 J"], '"5 J" is not a number, alone or in J/MB, such as "1.5" or "1.5 J/MB"'),
        (["energy < nan"], "is not a number"),
        (["energy < inf"], "is not a number"),
        (["energy < 1,5"], "is not a number"),
        (["goodput > -1mbit"], "is negative"),
        (["rtt_p95 < 0ms"], "is always above 0"),
        (["web_p95 < 0ms"], "is always above 0"),
        (["web_p95 < 20ms"], "the empty path alone takes 30 ms"),
        (["call_delay < 0s"], "is always above 0"),
        (["call_lost < -1%"], "is negative"),
        (["call_r > 95"], "is at most 94.2"),
        (["fairness > 1.5"], "is at most 1"),
        (["fairness > 90%"], "is not a number without unit"),
        (["retransmits < -1"], "is negative"),
    ],
)
def test_limits_that_cannot_be_kept(limits: list[str], words: str) -> None:
    with pytest.raises(AdviceError, match=words):
        check_limits([parse_limit(text) for text in limits], _home())


@pytest.mark.parametrize(
    ("goal", "words"),
    [("web", "needs traffic"), ("latncy", 'did you mean "latency"'), ("latency 0", "above 0"), ("", "above 0")],
)
def test_goals_that_cannot_be(goal: str, words: str) -> None:
    with pytest.raises(AdviceError, match=words):
        parse_goal(goal, _home())


def test_a_goal_leaves_out_what_nothing_says_anything_about() -> None:
    assert parse_goal("calls", _home(traffic="call 1")) == {"calls": 0.75}
    assert parse_goal("latency 2, throughput 1", _home()) == {"latency": 2, "throughput": 1}


def test_energy_as_a_goal_gives_models_to_ends_and_links_that_ports_can_carry() -> None:
    assert parse_goal("energy", _home()) == {"energy": 0.75, "throughput": 0.25}
    assert parse_limit("energy < 1.5").violation(1.2) < 0 < parse_limit("energy < 1.5").violation(1.6)
    assert {parse_limit(f"energy < 1.5{unit}").value for unit in ("", "J/MB", " J/MB", " j/mb")} == {1.5}
    assert parse_limit("retransmits < 0").violation(0) == 0
    half = utilities({("", "energy_j_per_mb"): 2.0}, _home())["energy"]
    assert half == utilities({("", "energy_j_per_mb"): 1.0}, _home())["energy"] / 2
    assert "energy" not in utilities({}, _home())
    document = with_energy(_home()).document
    assert document["record"]["exact"]
    assert {name for name, node in document["nodes"].items() if "energy" in node} == {"server", "client"}
    assert {link["energy"] for link in document["links"].values()} == {"1000base-t-eee"}
    assert "energy" not in _home().document["nodes"]["server"]
    fast = with_energy(_home(rate="1gbit")).document["links"]
    assert fast["line"]["energy"] == "10gbase-t-eee", "a port has room for situations with a faster line"
    assert "energy" not in fast["access"], "no model is as fast as this link"
    traced = with_energy(question_environment(Options(rate="lte", rtt="50ms", traffic="bulk 1"), BOTH)).document[
        "links"
    ]
    assert traced["line"]["energy"] == "1000base-t-eee"


def test_models_of_the_users_own_stay(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(DUMBBELL.replace("h1 = {}", 'h1 = { energy = "wifi" }'))
    document = with_energy(question_environment(Options(source=str(path)), BOTH)).document
    assert document["nodes"]["h1"]["energy"] == "wifi"
    parts = {**document["nodes"], **document["links"]}
    assert [name for name, part in parts.items() if "energy" in part] == ["h1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"without the rate \(--rate\) and the RTT \(--rtt\) and the traffic"),
        ({"rate": "20mbit", "traffic": "bulk 1"}, r"without the RTT \(--rtt\)$"),
        ({"rate": "10kbit", "rtt": "30ms", "traffic": "bulk 1"}, "less than 100 kbit/s"),
        ({"rate": "30mbit..10mbit", "rtt": "30ms", "traffic": "bulk 1"}, "is not a range"),
        ({"rate": "20mbit", "rtt": "0ms", "traffic": "bulk 1"}, "longer than 0"),
        ({"rate": "20mbit", "rtt": "30ms", "traffic": "bulk 1", "buffer": "1kB"}, "a full frame"),
        ({"rate": "20mbit", "rtt": "30ms", "traffic": "bulk 1", "link": "line"}, "give the scenario"),
        ({"source": "bufferbloat", "rate": "20mbit"}, "cannot be combined with a scenario"),
        ({"source": "bufferbloat", "link": "nolink"}, "known: access, bottleneck"),
    ],
)
def test_an_environment_that_is_not_known(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AdviceError, match=words):
        question_environment(Options(**options), BOTH)


def test_what_can_be_changed() -> None:
    assert changes_of((), None) == BOTH
    assert changes_of((), "1000") == ("sender",), "a buffer that is given cannot be changed"
    assert changes_of(("both", "shaper"), None) == ("sender", "shaper"), "a shaper brings its own queue"
    with pytest.raises(AdviceError, match="known: sender"):
        changes_of(("everything",), None)


def test_a_range_is_its_own_neighbourhood() -> None:
    environment = _home(rate="10mbit..40mbit", rtt="20ms..80ms")
    assert environment.rates_bps == (20_000_000, 20_000_000)
    assert environment.rate_spread == pytest.approx((0.5, 2.0))
    assert environment.rtt_spread == pytest.approx((0.5, 2.0))


@pytest.mark.slow
def test_every_candidate_is_a_valid_scenario_in_every_situation() -> None:
    """Also of the narrowest line, where thresholds round to little, with shapers and offloads."""
    for rate, changes, owner in (
        ("200kbit", BOTH, MINE),
        ("20/2mbit", BOTH, MINE),
        ("20mbit", ("sender", "shaper", "offload"), MODEM),
    ):
        options = Options(rate=rate, rtt="30ms", traffic="bulk 2, upload 1, call 1, web 5%")
        environment = question_environment(options, changes, Ownership(owner))
        candidates = candidates_of(environment, read_catalogue(), changes)
        for situation in situations_of(environment):
            cases = {one.name: one.settings for one in candidates}
            plan = make_plan(scenario_of(situation.document, cases, situation.name), [1])
            assert len(plan) == len(candidates)


def test_a_scenario_is_an_environment() -> None:
    environment = environment_of_scenario(load_scenario("bufferbloat"), None, None)
    assert (environment.link, environment.roles.bulk, environment.roles.probe) == ("bottleneck", ("bulk",), "ping")
    candidates = candidates_of(environment, read_catalogue(), BOTH)
    for situation in situations_of(environment):
        assert make_plan(scenario_of(situation.document, {one.name: one.settings for one in candidates}, "x"), [1])


def test_candidates_of_the_users_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[[queue]]\nname = "fq_codel"\nqueue = "fq_codel target {target}"\n[[control]]\nname="R"\ncc="reno"\n'
    )
    found = read_catalogue(own)
    assert [one.queue for one in found.queue if one.name == "fq_codel"] == ["fq_codel target {target}"]
    assert "R" in [one.name for one in found.control]
    assert len(found.control) == len(read_catalogue().control) + 1
    own.write_text('replace = true\n[[queue]]\nname = "mine"\nqueue = "pfifo limit {bpd}"\n')
    with pytest.raises(AdviceError, match=r"uses \{bpd\}"):
        candidates_of(_home(), read_catalogue(own), ("queue",))
    own.write_text('[[queue]]\nnme = "mine"\n')
    with pytest.raises(AdviceError, match=r"queue\.0"):
        read_catalogue(own)


def test_whose_queue_it_is() -> None:
    """The statement decides whose queue it is; without one the options do, then the rates; always with the reason."""
    home = Options(rate="20/2mbit", rtt="30ms", traffic="bulk 1")
    assert ownership_of(home, ()).queue_is == MODEM
    assert "--queue-is mine" in ownership_of(home, ()).assumed
    assert ownership_of(home, ("queue",)).queue_is == MINE, "the one who can change it has it"
    alike = Options(rate="20mbit", rtt="30ms", traffic="bulk 1")
    assert ownership_of(alike, ()).queue_is == MINE
    assert ownership_of(alike, ("sender,shaper",)).queue_is == MODEM
    assert ownership_of(Options(source="bufferbloat"), ()) == Ownership(MINE)
    stated = Options(rate="20/2mbit", rtt="30ms", traffic="bulk 1", queue_is="mine")
    assert ownership_of(stated, ()) == Ownership(MINE), "nothing was assumed"
    with pytest.raises(AdviceError, match='did you mean "modem"'):
        ownership_of(Options(queue_is="modm"), ())
    with pytest.raises(AdviceError, match="cannot be combined with a scenario"):
        ownership_of(Options(source="bufferbloat", queue_is="modem"), ())
    assert changes_of((), "256kB", MODEM) == ("shaper",)


def test_behind_a_modem_nothing_is_advised_that_cannot_be_changed() -> None:
    """Only shapers at the router; the line's own queues are the same in every candidate."""
    environment = _behind_a_modem()
    found = candidates_of(environment, read_catalogue(), ("shaper",))
    assert len(found) > 10
    for one in found[1:]:
        assert all(path.startswith("links.router.") for path in one.settings)
        assert one.shaped_bps is not None and max(one.shaped_bps) <= 0.98 * 20_000_000
    with pytest.raises(AdviceError, match="the queue is the modem's"):
        candidates_of(environment, read_catalogue(), ("queue",))
    with pytest.raises(AdviceError, match="this queue is yours"):
        candidates_of(_home(), read_catalogue(), ("shaper",))


def test_a_shaper_stands_before_the_modem_and_behind_the_providers_queue() -> None:
    """Uploads meet it before the modem's FIFO; downloads after the provider's, as with an ifb."""
    links = _behind_a_modem(buffer="256kB").document["links"]
    assert links["line"]["ends"] == ["provider", "modem"]
    assert links["line"]["queue"] == {"forward": "bfifo limit 256000", "reverse": "bfifo limit 256000"}
    assert links["router"]["ends"] == ["modem", "router"]


def test_linux_commands_of_a_router() -> None:
    environment = _behind_a_modem()
    found = {one.name: one for one in candidates_of(environment, read_catalogue(), ("shaper",))}
    made = commands_of(found["htb + fq_codel at 85 % down, 95 % up"], environment, "wan0")
    stab = "stab mpu 84 overhead 30 linklayer ethernet"
    assert made.apply == (
        f"tc qdisc replace dev wan0 root handle 1: {stab} htb default 1   # upload",
        "tc class replace dev wan0 parent 1: classid 1:1 htb rate 1900kbit",
        "tc qdisc replace dev wan0 parent 1:1 handle 10: fq_codel limit 10240 target 9562us",
        "ip link add name ifb4wan0 type ifb",
        "ip link set dev ifb4wan0 up",
        f"tc qdisc replace dev ifb4wan0 root handle 1: {stab} htb default 1   # download",
        "tc class replace dev ifb4wan0 parent 1: classid 1:1 htb rate 17mbit",
        "tc qdisc replace dev ifb4wan0 parent 1:1 handle 10: fq_codel limit 10240 target 5000us",
        "tc qdisc add dev wan0 handle ffff: ingress",
        "tc filter add dev wan0 parent ffff: protocol all matchall action mirred egress redirect dev ifb4wan0",
    )
    assert made.undo[:2] == ("tc qdisc del dev wan0 ingress", "ip link del dev ifb4wan0")
    assert "\toption script 'simplest.qos'" in made.sqm
    cake = commands_of(found["CAKE at 95 %"], environment, "wan0", overhead=18)
    assert cake.apply[0] == (
        "tc qdisc replace dev wan0 root cake bandwidth 1900kbit besteffort overhead 18 mpu 84   # upload"
    )
    settings = dict(line.split("option ")[1].split(" ", 1) for line in cake.sqm[1:])
    assert settings["download"] == "'19000'" and settings["upload"] == "'1900'" and settings["overhead"] == "'18'"


def test_lines_apply_and_take_back() -> None:
    environment = _home()
    found = {one.name: one for one in candidates_of(environment, read_catalogue(), BOTH)}
    made = commands_of(found["BBR, CAKE"], environment, "wan0")
    assert made.save == (
        "tc qdisc show dev wan0 | tee wan0.before",
        "sysctl net.ipv4.tcp_congestion_control | tee sysctl.before",
    )
    assert made.apply == (
        "sysctl -w net.ipv4.tcp_congestion_control=bbr",
        "tc qdisc replace dev wan0 root cake unlimited besteffort   # at each end of the line",
    )
    assert made.undo[0] == "sysctl -p sysctl.before"
    assert made.undo[1].startswith("tc qdisc del dev wan0 root   # at each end of the line; the kernel")
    assert commands_of(found[NOW], environment, "wan0").apply == ()


SHOWN = {
    "qdisc noqueue 0: dev wan0 root refcnt 2": ("tc qdisc del dev wan0 root",),
    "qdisc pfifo 8001: dev wan0 root refcnt 2 limit 500p": ("tc qdisc replace dev wan0 root pfifo limit 500",),
    "qdisc sfq 8002: root refcnt 2 limit 127p quantum 1514b depth 127 divisor 1024 perturb 10sec": (
        "tc qdisc replace dev wan0 root sfq limit 127 quantum 1514 depth 127 divisor 1024 perturb 10",
    ),
    "qdisc htb 1: dev wan0 root refcnt 2 r2q 10 default 0x1": (
        "tc qdisc del dev wan0 root",
        "# then what set up: qdisc htb 1: dev wan0 root refcnt 2 r2q 10 default 0x1",
    ),
}
"""tc's output → the commands that restore it."""


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_there_now_comes_back(shown: str) -> None:
    text = f"qdisc fq_codel 0: dev lan0 root refcnt 2 limit 10240p\n{shown}\nnet.ipv4.tcp_ecn = 2\n"
    present = parse_present(text.replace("dev wan0 ", "") if "dev" not in shown else text, "wan0", "file")
    if "dev" in shown:
        assert undo_queue(present, "wan0") == SHOWN[shown]
    else:
        assert undo_queue(parse_present(shown, "wan0", "file"), "wan0") == SHOWN[shown]
    assert present.sysctl == {"net.ipv4.tcp_ecn": "2"}


def test_a_file_without_the_device() -> None:
    with pytest.raises(AdviceError, match=r"no line about the root queue of eth0; it has lan0 \(--device\)"):
        parse_present("qdisc fq_codel 0: dev lan0 root refcnt 2", "eth0", "file")


def test_known_sysctls_are_set_back_to_what_they_were() -> None:
    environment = _home()
    found = {one.name: one for one in candidates_of(environment, read_catalogue(), BOTH)}
    text = "qdisc fq 8001: dev wan0 root refcnt 2 limit 10000p\nnet.ipv4.tcp_congestion_control = reno\n"
    made = commands_of(found["BBR, CAKE"], environment, "wan0", parse_present(text, "wan0", "file"))
    assert made.save == ()
    assert made.undo == (
        "sysctl -w net.ipv4.tcp_congestion_control='reno'",
        "tc qdisc replace dev wan0 root fq limit 10000   # at each end of the line",
    )


def test_traffic_without_a_congestion_control_has_candidates() -> None:
    """A change of the sender would change nothing, so only queues are candidates, each once."""
    environment = _home(rate="20mbit", traffic="call 1, udp 30mbit")
    assert default_goal(environment) == "calls"
    found = candidates_of(environment, read_catalogue(), BOTH)
    assert {one.control for one in found} == {None}
    plan = make_plan(scenario_of(environment.document, {one.name: one.settings for one in found}, "x"), [1])
    assert len(plan) == len(found)
    with pytest.raises(AdviceError, match="no flow of this traffic has a congestion control"):
        candidates_of(environment, read_catalogue(), ("sender",))


INCAST = """
name = "incast"
duration = "2s"
[nodes]
client = {}
switch = { forward = true }
servers = {}
[links.rack]
ends = ["servers", "switch"]
rate = "1gbit"
[links.port]
ends = ["switch", "client"]
rate = "100mbit"
delay = "100us"
queue = { forward = "pfifo limit 64" }
[flows.query]
from = "client"
to = "servers"
tool = "incast"
senders = 64
response_size = "32kB"
"""


def test_an_incast_has_thresholds_and_room_for_its_answers() -> None:
    environment = environment_of_scenario(parse_scenario(INCAST, "x"), None, None)
    assert environment.own_ends and environment.burst_packets == 64 * 23
    assert default_goal(environment) == "web"
    found = {one.name: one for one in candidates_of(environment, read_catalogue(), BOTH)}
    assert found["CUBIC, pfifo with room for every answer"].queues == ("pfifo limit 1472", "pfifo limit 1472")
    assert "DCTCP, an ECN threshold" in found
    assert found["DCTCP, an ECN threshold"].settings["flows.query.cc"] == "dctcp"
    assert make_plan(scenario_of(environment.document, {k: one.settings for k, one in found.items()}, "x"), [1])


def test_across_the_internet_dctcp_is_no_candidate() -> None:
    names = [one.name for one in candidates_of(_home(), read_catalogue(), BOTH)]
    assert not any("DCTCP" in name or "threshold" in name for name in names)
    own = question_environment(Options(rate="20mbit", rtt="1ms", traffic="bulk 2", own_ends=True), BOTH)
    assert "DCTCP, an ECN threshold" in [one.name for one in candidates_of(own, read_catalogue(), BOTH)]


def test_a_trace_says_its_mean_rate_and_its_delay() -> None:
    environment = question_environment(Options(rate="satellite", traffic="bulk 1, web 5%"), BOTH)
    assert environment.rtt_ns == 2 * 26_284_000
    assert 90e6 < environment.usual_bps[0] < 130e6
    words = {one.name: one.words for one in situations_of(environment)}
    assert words["smaller pipe"] == "the RTT × 0.8", "the trace's rate is what it is"
    longer = question_environment(Options(rate="satellite", rtt="100ms", traffic="bulk 1"), BOTH)
    assert longer.document["links"]["access"]["delay"] == "23716us"


@pytest.mark.parametrize(
    ("rate", "rtt", "cpu_s"),
    [("20/2mbit", "30ms", 120), ("1gbit", "80ms", 600), ("lte", "50ms", 360), ("satellite", "52ms", 360)],
)
def test_a_search_is_as_large_as_its_time_permits(rate: str, rtt: str, cpu_s: float) -> None:
    """On two CPUs: a minute for a home line, five for a fast long one, three for traces; by the cost of a run."""
    options = Options(rate=rate, rtt=rtt, traffic="bulk 3, call 1")
    owner = ownership_of(options, ())
    changes = changes_of((), None, owner.queue_is)
    environment = question_environment(options, changes, owner)
    count = len(candidates_of(environment, read_catalogue(), changes)) - 1
    size = size_of(EFFORTS["usual"], environment, count, situations_of(environment))
    assert size.runs * cost_s(environment) <= cpu_s
    assert size.seeds >= 6, "fewer seeds cannot tell anything"
    assert len(size.situations) >= 2


def test_a_call_is_played_with_the_buffer_that_is_best_for_it() -> None:
    """R by hand: 94.2 − 0.024 (d + 20) − 0.11 (d + 20 − 177.3)⁺ − 30 ln(1 + 15 e)."""
    late = {"delay_ms_p50": 15.0, "delay_ms_p95": 20.0, "delay_ms_p99": 30.0, "delay_ms_max": 900.0}
    values = {("call", name): value for name, value in (late | {"loss_pct": 0.0}).items()}
    found = playout(values, "call")
    assert found is not None
    assert found.delay_ms == 30.0
    assert found.lost_pct == pytest.approx(1.0)
    assert found.r == pytest.approx(94.2 - 0.024 * 50 - 30 * math.log(1.15))
    nothing = playout({("call", "loss_pct"): 100.0}, "call")
    assert nothing is not None and nothing.r == 0
    assert playout({}, "call") is None


def test_nothing_measured_is_the_worst_not_the_best() -> None:
    """A probe without a reply, requests without an answer: a score at the floor, never an omitted gap."""
    environment = _home(traffic="bulk 1, web 10%")
    found = utilities({("bulk", "goodput_mbps"): 10.0}, environment)
    assert found["latency"] == found["web"] == min(found.values()) == 1e-3


def _trial(scores: dict[str, list[float]], environment: Environment) -> Trial:
    """Runs whose goodput gives these scores, under seeds 1, 2 … in the environment as described."""
    runs = {
        (name, AS_DESCRIBED, seed): {("bulk", "goodput_mbps"): 20 * math.exp(value), ("probe", "rtt_ms_p95"): 40.0}
        for name, values in scores.items()
        for seed, value in enumerate(values, 1)
    }
    return Trial(runs)  # type: ignore[arg-type]


def test_scores_are_ratios() -> None:
    environment = _home()
    trial = _trial({"a": [math.log(0.5)]}, environment)
    assert score(trial.seeds("a", AS_DESCRIBED)[1], environment, {"throughput": 1}) == pytest.approx(math.log(0.5))


def test_better_the_same_and_too_close_to_call() -> None:
    chance = np.random.default_rng(1)
    noise = chance.normal(0, 0.002, 8)
    wild = chance.normal(0, 0.3, 8)
    scores = {
        "base": dict(enumerate(noise)),
        "better": dict(enumerate(noise + 0.2 + chance.normal(0, 0.01, 8))),
        "alike": dict(enumerate(noise + chance.normal(0, 0.002, 8))),
        "wild": dict(enumerate(wild)),
    }
    found = differences(scores)
    assert found["better", "base"].standing is Standing.BETTER
    assert found["base", "better"].standing is Standing.WORSE
    assert found["better", "base"].percent == pytest.approx(22, abs=2)
    assert found["base", "better"].percent == pytest.approx(-18, abs=2)
    assert found["alike", "base"].standing is Standing.SAME
    assert found["wild", "base"].standing is Standing.CLOSE
    assert (found["wild", "base"].needed or 0) > 8


@pytest.mark.slow
def test_alike_candidates_are_rarely_told_apart() -> None:
    """Among five that do not differ, any claim is made in at most 5 % of the tries, within random deviation."""
    chance = np.random.default_rng(7)
    claims = 0
    for _ in range(200):
        scores = {str(at): dict(enumerate(chance.normal(0, 0.2, 8))) for at in range(5)}
        claims += any(one.standing in (Standing.BETTER, Standing.WORSE) for one in differences(scores).values())
    assert claims <= 20, "binomial(200, 5 %) exceeds 20 once in 300"


def _candidates(**changed: int) -> list[Candidate]:
    return [Candidate(name, {}, changed=count) for name, count in changed.items()]


def test_of_those_that_tie_the_preferred_one_is_taken() -> None:
    """Flow isolation with an AQM before one without, the usual before the exotic, less shaping before more."""
    chance = np.random.default_rng(3)
    base = chance.normal(0, 0.1, 8)

    def chosen(*others: Candidate) -> tuple[str, tuple[str, ...]]:
        shifts = {NOW: 0.0} | {one.name: 0.3 - 0.001 * at for at, one in enumerate(others)}
        scores = {name: dict(enumerate(base + shift)) for name, shift in shifts.items()}
        choice, tied = _choose([Candidate(NOW, {}), *others], scores, differences(scores))
        return choice.name, tied

    def queue(name: str) -> Candidate:
        return Candidate(name, {}, queues=(name, name), changed=1)

    assert chosen(queue("sfq"), queue("fq_codel")) == ("fq_codel", ("sfq",))
    assert chosen(queue("fq_pie"), queue("cake")) == ("cake", ("fq_pie",))
    assert chosen(queue("pie"), queue("sfq")) == ("sfq", ("pie",))
    less, more = (
        Candidate(name, {}, queues=("cake", "cake"), shares=(share, share), changed=1)
        for name, share in (("less", 0.95), ("more", 0.85))
    )
    assert chosen(more, less) == ("less", ("more",))


def test_of_the_same_the_one_that_changes_least_is_taken_and_nothing_without_need() -> None:
    chance = np.random.default_rng(3)
    base = chance.normal(0, 0.1, 8)
    now, two, one = (dict(enumerate(base + shift)) for shift in (0.0, 0.301, 0.3))
    scores = {NOW: now, "two": two, "one": one}
    meeting = [Candidate(NOW, {}), *_candidates(two=2, one=1)]
    assert _choose(meeting, scores, differences(scores)) == (meeting[2], ("two",))
    scores = {NOW: now, "two": dict(enumerate(base + 0.005)), "one": dict(enumerate(base - 0.5))}
    assert _choose(meeting, scores, differences(scores)) == (meeting[0], ())


def test_seeds_with_a_gap_do_not_count() -> None:
    environment = _home(traffic="bulk 1")
    trial = _trial({"a": [0.0, 0.0]}, environment)
    found = robust_scores(trial, ["a", "b"], situations_of(environment)[:2], environment, {"throughput": 1})
    assert found == {"a": {}, "b": {}}, "the second situation was not run"


def test_a_limit_is_met_by_the_median_and_counts_the_seeds_that_break_it() -> None:
    environment = _home(traffic="bulk 1")
    trial = _trial({"a": [math.log(share) for share in (0.5, 0.9, 0.95)]}, environment)
    (found,) = check(trial, "a", [parse_limit("goodput > 16mbit")], environment)
    assert (found.met, found.broken, found.seeds) == (True, 1, 3)
    (missing,) = check(Trial({("a", AS_DESCRIBED, 1): {}}), "a", [parse_limit("goodput > 16mbit")], environment)
    assert not missing.met, "an absent value is neither 0 nor a success"


def _recording(path: Path, mbps: list[float], controls: Sequence[str] = ("bbr", "bbr", "bbr")) -> Path:
    """Samples every 100 ms of connections, by congestion control, that share these rates, in Mbit/s of payload."""
    rows = []
    for at in range(len(mbps)):
        for cookie, control in enumerate(controls):
            moved = sum(mbps[: at + 1]) * 1e5 / 8 / len(controls)
            counters = {"bytes_acked": int(moved), "data_segs_out": int(moved / 1448) + 1, "total_retrans": at // 10}
            state = {"min_rtt_us": 30_000 + 500 * cookie, "congestion_control": control}
            rows.append({"time_ns": at * 10**8, "cookie": cookie, **counters, **state})
    pl.DataFrame(rows).write_ipc_stream(path)
    return path


def test_a_recording_says_rate_rtt_and_traffic_with_intervals(tmp_path: Path) -> None:
    found = estimate(_recording(tmp_path / "w.arrow", [19.13] * 100))
    assert found.rate_bps == pytest.approx(20e6, rel=0.01), "19.13 Mbit/s of payload in full frames"
    assert found.rtt_ns == 30_000_000
    assert found.traffic is not None and str(found.traffic) == "bulk 3"
    assert found.control == "bbr"
    assert found.loss == 0.0, "on a full line losses may be the queue's own"
    assert set(found.shown) == {"rate", "rtt", "loss", "traffic"}


@pytest.mark.parametrize("controls", [("cubic", "bbr"), ("bbr", "cubic"), ("reno", "bbr", "cubic", "bbr", "reno")])
def test_of_congestion_controls_as_frequent_the_first_is_todays(tmp_path: Path, controls: Sequence[str]) -> None:
    path = _recording(tmp_path / "w.arrow", [19.13] * 100, controls)
    assert {estimate(path).control for _ in range(20)} == {controls[0]}


def test_a_line_that_nothing_filled_has_no_rate(tmp_path: Path) -> None:
    bursts = [40.0 if at % 12 == 0 else 1.0 for at in range(120)]
    path = _recording(tmp_path / "w.arrow", bursts)
    assert "nothing filled the line" in estimate(path).missing["rate"]
    with pytest.raises(AdviceError, match="--rate: nothing filled the line"):
        question_environment(Options(source=str(path)), BOTH)
    given = question_environment(Options(source=str(path), rate="50mbit"), BOTH)
    assert [one.name for one in given.estimates] == ["RTT", "loss", "traffic"]


def test_a_recording_that_lacks_columns(tmp_path: Path) -> None:
    pl.DataFrame({"time_ns": [0, 1], "cookie": [1, 1]}).write_ipc_stream(tmp_path / "w.arrow")
    with pytest.raises(AdviceError, match="lacks the columns bytes_acked"):
        estimate(tmp_path / "w.arrow")

"""Advice without a single run: what is asked, what is refused, how it is judged, and what is read from recordings."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from netwarp.advise.advice import _choose
from netwarp.advise.candidates import NOW, Candidate, candidates_of, lines, read_catalogue
from netwarp.advise.criteria import check_limits, parse_goal, parse_limit, playout, score, utilities
from netwarp.advise.environment import Environment, environment_of_scenario
from netwarp.advise.errors import AdviceError
from netwarp.advise.estimate import estimate
from netwarp.advise.judgement import Standing, check, differences, robust_scores
from netwarp.advise.options import Options, changes_of, question_environment
from netwarp.advise.situations import AS_DESCRIBED, scenario_of, situations_of
from netwarp.advise.traffic import parse_traffic
from netwarp.advise.trial import Trial
from netwarp.plan import make_plan
from netwarp.scenario import load_scenario

BOTH = ("sender", "queue")


def _home(**options: str) -> Environment:
    given = {"rate": "20/2mbit", "rtt": "30ms", "traffic": "bulk 3, call 1"} | options
    return question_environment(Options(**given), BOTH)


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
def test_an_environment_that_is_not_known(options: dict[str, str], words: str) -> None:
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
    for rate, changes in (("200kbit", BOTH), ("20/2mbit", BOTH), ("20mbit", ("sender", "shaper", "offload"))):
        options = Options(rate=rate, rtt="30ms", traffic="bulk 2, upload 1, call 1, web 5%")
        environment = question_environment(options, changes)
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


def test_lines_apply_and_take_back() -> None:
    environment = _home()
    found = {one.name: one for one in candidates_of(environment, read_catalogue(), BOTH)}
    pairs = list(lines(found["BBR, CAKE"], environment, "wan0"))
    assert pairs == [
        (
            "sysctl -w net.ipv4.tcp_congestion_control=bbr",
            "sysctl -w net.ipv4.tcp_congestion_control=cubic",
        ),
        (
            "tc qdisc replace dev wan0 root cake unlimited besteffort   # at each end of the line",
            "tc qdisc replace dev wan0 root pfifo limit 1000   # at each end of the line",
        ),
    ]
    assert list(lines(found[NOW], environment, "wan0")) == []


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
    """A probe without a reply, requests without an answer: a score at the floor, never a gap that is left out."""
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


def test_alike_candidates_are_rarely_told_apart() -> None:
    """Of five that do not differ, any claim at all is made in at most 5 % of the tries, within what chance allows."""
    chance = np.random.default_rng(7)
    claims = 0
    for _ in range(200):
        scores = {str(at): dict(enumerate(chance.normal(0, 0.2, 8))) for at in range(5)}
        claims += any(one.standing in (Standing.BETTER, Standing.WORSE) for one in differences(scores).values())
    assert claims <= 20, "binomial(200, 5 %) exceeds 20 once in 300"


def _candidates(**changed: int) -> list[Candidate]:
    return [Candidate(name, {}, changed=count) for name, count in changed.items()]


def test_of_the_same_the_one_that_changes_least_is_taken_and_nothing_without_need() -> None:
    chance = np.random.default_rng(3)
    base = chance.normal(0, 0.1, 8)
    now, two, one = (dict(enumerate(base + shift)) for shift in (0.0, 0.301, 0.3))
    scores = {NOW: now, "two": two, "one": one}
    meeting = [Candidate(NOW, {}), *_candidates(two=2, one=1)]
    assert _choose(meeting, scores, differences(scores)).name == "one"
    scores = {NOW: now, "two": dict(enumerate(base + 0.005)), "one": dict(enumerate(base - 0.5))}
    assert _choose(meeting, scores, differences(scores)).name == NOW


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
    assert not missing.met, "absent is no 0 and no success"


def _recording(path: Path, mbps: list[float], connections: int = 3) -> Path:
    """Samples every 100 ms of connections that share these rates, in Mbit/s of payload."""
    rows = []
    for at in range(len(mbps)):
        for cookie in range(connections):
            moved = sum(mbps[: at + 1]) * 1e5 / 8 / connections
            counters = {"bytes_acked": int(moved), "data_segs_out": int(moved / 1448) + 1, "total_retrans": at // 10}
            state = {"min_rtt_us": 30_000 + 500 * cookie, "congestion_control": "bbr"}
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

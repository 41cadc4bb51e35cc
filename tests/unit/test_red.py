"""RED: parameters from tc's words, the average, the law."""

import numpy as np
import pytest
from netwarp.analysis.queue.red import Red, averages, drop_probabilities, red_of
from netwarp.values.qdisc import Qdisc

RED = Red(min_bytes=30_000, max_bytes=90_000, wlog=4, max_p=0.1, packet_ns=120_000)


def test_parameters_from_words() -> None:
    words = "red limit 400000 min 30000 max 90000 avpkt 1500 burst 30 bandwidth 100mbit probability 0.1"
    assert red_of(Qdisc.read(words)) == RED
    assert red_of(Qdisc.read("pfifo limit 10")) is None
    assert red_of(Qdisc.read("red limit 400k min 30kb max nonsense avpkt 1500")) is None
    assert red_of(Qdisc.read("red limit 400k avpkt 0")) is None
    assert red_of(Qdisc.read("red limit 1000 min 200000 max 600000 avpkt 1000 burst 20 probability 0.02")) is None, (
        "as tc refuses"
    )


def test_what_is_not_said_is_what_tc_makes_of_it() -> None:
    """RED's own defaults: max a quarter of the limit, min a third of that, (2 min + max) / (3 avpkt), 10 Mbit/s."""
    short = red_of(Qdisc.read("red limit 360kb avpkt 1k"))
    assert short == red_of(
        Qdisc.read("red limit 368640 min 30720 max 92160 avpkt 1024 burst 50 bandwidth 10mbit probability 0.02")
    )
    assert short is not None and short.packet_ns == 1024 * 800


def test_an_average_that_learns_of_idleness_decays_as_if_packets_had_come() -> None:
    idle = np.zeros(301)
    idle[200:] = RED.packet_ns
    backlog = np.concatenate([np.full(200, 50_000), np.zeros(101, np.int64)])
    told = averages(RED, backlog, idle)
    assert told[:200] == pytest.approx(averages(RED, backlog[:200]))
    assert told[200] == pytest.approx(50_000 * 15 / 16, rel=1e-3)
    assert told[300] == pytest.approx(50_000 * (15 / 16) ** 101, rel=0.05)
    idle[200:] = 100 * RED.packet_ns
    assert averages(RED, backlog, idle)[200] == pytest.approx(50_000 * (15 / 16) ** 100, rel=0.01)


def test_the_average_comes_to_a_steady_queue() -> None:
    found = averages(RED, np.full(200, 50_000))
    assert found[0] == pytest.approx(50_000 / 16)
    assert found[1] == pytest.approx(50_000 * (1 - (15 / 16) ** 2), rel=1e-3)
    assert found[-1] == pytest.approx(50_000, rel=1e-3)


def test_the_law() -> None:
    average = np.array([29_999, 30_000, 60_000, 89_999.9, 90_000])
    assert RED.base_probability(average) == pytest.approx([0, 0, 0.05, 0.1, 1], abs=1e-6)
    assert RED.drop_fraction(average) == pytest.approx([0, 0, 0.1 / 1.05, 0.2 / 1.1, 1], abs=1e-6)


def test_drops_made_by_the_law_are_as_likely_as_computed() -> None:
    """A simulation of RED with separate random numbers, at an average that wanders over min and max."""
    rng = np.random.default_rng(3)
    average = 60_000 + 35_000 * np.sin(np.arange(200_000) / 300)
    base = RED.base_probability(average)
    dropped = np.zeros(len(average), bool)
    count, threshold = -1, 0.0
    for at, likely in enumerate(base):
        if likely in (0, 1):
            count, dropped[at] = -1, likely == 1
            continue
        count += 1
        if count == 0:
            threshold = rng.random()
        elif likely * count >= threshold:
            dropped[at], count, threshold = True, 0, rng.random()
    found = drop_probabilities(RED, average, dropped)
    deviation = np.sqrt((found * (1 - found)).sum())
    assert abs(dropped.sum() - found.sum()) < 4 * deviation
    assert not dropped[found == 0].any()
    assert dropped[found == 1].all()
    steady = np.full(20_000, 60_000.0)
    assert drop_probabilities(RED, steady, np.zeros(len(steady), bool)).sum() > 0.99, "one is certain within 1/p_b"

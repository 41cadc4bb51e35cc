"""Limits of queues in parts of a BDP and in time: their values, their places, and refused ones."""

from __future__ import annotations

import pytest
from netwarp.lab.build import build_lab
from netwarp.lab_format.model import Lab
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, parse_scenario
from netwarp.values.qdisc import Qdisc

RATE_BPS, RTT_NS, FRAME = 20_000_000, 50_000_000, 1514
"""20 Mbit/s × 50 ms are 125,000 bytes, 82.56 frames."""


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("pfifo limit 1BDP", "pfifo limit 83"),
        ("pfifo limit 0.5BDP", "pfifo limit 41"),
        ("bfifo limit 0.5BDP", "bfifo limit 62500"),
        ("fq_codel limit 2BDP target 5ms", "fq_codel limit 165 target 5ms"),
        ("red limit 4BDP avpkt 1000", "red limit 500000 avpkt 1000"),
        ("tbf rate 1mbit burst 5kb limit 20ms", "tbf rate 1mbit burst 5kb limit 50000"),
        ("cake unlimited memlimit 1BDP", "cake unlimited memlimit 125000"),
        ("sfq limit 20ms perturb 10", "sfq limit 33 perturb 10"),
        ("pfifo limit 0.001BDP", "pfifo limit 1"),
        ("bfifo limit 1us", "bfifo limit 1514"),
        ("pfifo limit 100", "pfifo limit 100"),
        ("codel target 20ms", "codel target 20ms"),
    ],
)
def test_each_in_its_own_unit(given: str, resolved: str) -> None:
    """Calculated by hand; at least one packet, or one frame of bytes, since less would pass nothing."""
    assert str(Qdisc.read(given).resolved(RATE_BPS, RTT_NS, FRAME)) == resolved


SCENARIO = """
name = "limits"
duration = "2s"
[nodes]
a = {}
r = { forward = true }
b = {}
[links.access]
ends = ["a", "r"]
rate = "1gbit"
[links.line]
ends = ["r", "b"]
rate = { forward = "20mbit", reverse = "2mbit" }
delay = "25ms"
queue = { forward = "pfifo limit 0.5 BDP", reverse = "bfifo limit 20 ms" }
[flows.bulk]
from = "a"
to = "b"
tool = "bulk"
"""


def _labs(text: str) -> list[Lab]:
    return [build_lab(run) for run in make_plan(parse_scenario(text, "x"), [1])]


def _limits(lab: Lab) -> list[str]:
    ends = next(link for link in lab.links if link.name == "line").ends
    return [str(Qdisc.of(end.queue)) for end in ends]


def test_the_lab_has_numbers() -> None:
    """50 ms, a frame of 1514 bytes at both rates, and an ACK back: 50.89 ms; half a BDP is 42.0 frames."""
    (lab,) = _labs(SCENARIO)
    assert _limits(lab) == ["pfifo limit 42", "bfifo limit 5000"]


def test_one_axis_follows_another() -> None:
    """The same limit at each rate; and the points have the file's words in their names."""
    text = SCENARIO + '[sweep]\n"links.line.rate.forward" = ["10mbit", "40mbit"]\n'
    text += '"links.line.queue.forward" = ["pfifo limit 1BDP", "bfifo limit 1BDP"]\n'
    text += '"links.line.delay" = ["25ms"]\n'
    labs = _labs(text)
    assert [_limits(lab)[0].split()[0] for lab in labs] == ["pfifo", "bfifo"] * 2
    packets, octets = ([int(_limits(lab)[0].split()[2]) for lab in labs[kind::2]] for kind in (0, 1))
    assert packets == [round(size / FRAME) for size in octets]
    assert 3.8 < octets[1] / octets[0] < 4.0, "four times the rate, and a frame that takes a quarter of the time"
    labels = [run.label for run in make_plan(parse_scenario(text, "x"), [1])]
    assert "links.line.queue.forward = pfifo limit 1BDP" in labels[0]


def test_spellings_are_one_value() -> None:
    ids = [
        make_plan(parse_scenario(SCENARIO.replace("0.5 BDP", spelt), "x"), [1]).runs[0].id
        for spelt in ("0.5 BDP", "0.5BDP", "0.5bdp")
    ]
    assert len(set(ids)) == 1


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("pfifo limit 0BDP", "holds nothing"),
        ("mine limit 1BDP", "does not know whether"),
        ("cake limit 20ms", "does not know whether"),
    ],
)
def test_what_cannot_be_a_limit(queue: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        parse_scenario(SCENARIO.replace("pfifo limit 0.5 BDP", queue), "x")

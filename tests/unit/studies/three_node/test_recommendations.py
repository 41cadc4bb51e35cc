"""Sentences from measurements: each has its numbers, and none lacks support by measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest
from netwarp.studies.three_node.factors import OPEN, Factors, named_factors
from netwarp.studies.three_node.published import published
from netwarp.studies.three_node.recommendations import Sentence, recommend
from netwarp.studies.three_node.tables import Condition, Repetition
from netwarp.studies.three_node.view import sentences_of

PUBLISHED = published()
LIMITED = Factors(3.0, "pfifo", "cubic", 10, "20 ms")
Values = dict[str, list[float]]


@pytest.mark.parametrize(
    ("name", "factors"),
    [
        ("bw3Mbps_multiflow_10_RED_BBR", Factors(3.0, "red", "bbr", 10)),
        ("bwNORMAL_oneflow_pfifo", Factors(OPEN, "pfifo", None, 1)),
        ("bw3+impairments_5_cubic_fq", Factors(3.0, "fq_codel", "cubic", 5, "impairments")),
        ("bwNORMAL_multiflow_RED", Factors(OPEN, "red", None, 5)),
        ("20mbit fq_codel bbr 4 office", Factors(20.0, "fq_codel", "bbr", 4, "office")),
        ("tuesday", Factors(path="tuesday")),
    ],
)
def test_factors_of_names(name: str, factors: Factors) -> None:
    assert named_factors(name) == factors


def test_every_published_name_tells_its_rate_and_queue() -> None:
    for name in PUBLISHED:
        found = named_factors(name)
        assert found.rate_mbps is not None and found.queue is not None and found.flows is not None, name


def _condition(name: str, factors: Factors, values: Values) -> Condition:
    seeds = range(len(next(iter(values.values()))))
    repetitions = tuple(
        Repetition(seed + 1, {column: them[seed] for column, them in values.items()}, {}, pl.DataFrame(), factors)
        for seed in seeds
    )
    return Condition(name, repetitions)


def _pair(pfifo_ms: list[float], red_ms: list[float]) -> list[Condition]:
    rest = {"tcp_avg_bw_Mbps": [0.28] * len(red_ms), "tcp_fairness": [0.9] * len(red_ms)}
    return [
        _condition("one", LIMITED, {"ss_avg_rtt_ms": pfifo_ms, **rest}),
        _condition("other", replace(LIMITED, queue="red"), {"ss_avg_rtt_ms": red_ms, **rest}),
    ]


def _of(sentences: list[Sentence], kind: str, about: str = "") -> list[Sentence]:
    return [one for one in sentences if one.kind == kind and about in one.about]


def test_a_sentence_has_its_numbers() -> None:
    (pro,) = _of(recommend(_pair([900, 910, 920], [90, 91, 92])), "pro")
    assert pro.about == "RED against pfifo"
    assert pro.sentence == (
        "At 3 Mbit/s, with CUBIC, 10 flows: RTT 0.1 times that of pfifo (90 to 92 against 900 to 920 ms)."
    )


def test_the_other_way_round_it_is_a_contra() -> None:
    found = recommend(_pair([90, 91, 92], [900, 910, 920]))
    assert not _of(found, "pro")
    (contra,) = _of(found, "contra")
    assert "RTT 10 times" in contra.sentence


@pytest.mark.parametrize(
    ("pfifo", "red"),
    [
        ([900.0, 910.0], [90.0, 91.0]),  # too few seeds
        ([900.0, 90.0, 900.0], [90.0, 900.0, 90.0]),  # seeds disagree
        ([100.0, 101.0, 102.0], [100.0, 101.0, 100.0]),  # no difference
    ],
)
def test_what_is_not_supported_is_not_written(pfifo: list[float], red: list[float]) -> None:
    found = recommend(_pair(pfifo, red))
    assert not [one for one in found if one.kind in ("pro", "contra", "reason", "avoid")]
    if len(red) < 3:
        assert not _of(found, "recommended")
        assert "2 of the 3 seeds" in _of(found, "cannot be told", "latency")[0].sentence
    else:
        assert all("too close to call" in one.sentence for one in _of(found, "recommended"))


def test_scenarios_that_differ_in_more_than_one_thing_are_not_compared() -> None:
    one, other = _pair([900, 910, 920], [90, 91, 92])
    elsewhere = replace(other.factors, path="100 ms")
    moved = Condition(other.name, tuple(replace(each, factors=elsewhere) for each in other.repetitions))
    found = recommend([one, moved])
    assert {one.kind for one in found} == {"cannot be told"}
    assert "no two scenarios are alike in all but queue" in _of(found, "cannot be told", "against")[0].sentence


def test_names_do_not_matter_where_factors_are_known() -> None:
    """A scenario of any name is compared with the published row of the same factors."""
    (pro,) = _of(recommend(_pair([900, 910, 920], [90, 91, 92])), "pro")
    theirs = (
        PUBLISHED["bw3Mbps_multiflow_10_RED"]["ss_avg_rtt_ms"]
        / PUBLISHED["bw3Mbps_multiflow_10_pfifo"]["ss_avg_rtt_ms"]
    )
    assert pro.published == f"{theirs:.3g} times"
    (contra,) = _of(recommend(_pair([90, 91, 92], [900, 910, 920])), "contra")
    assert contra.published is not None and contra.published.endswith("which contradicts it")
    claims = [one.sentence for one in sentences_of(_pair([90, 91, 92], [900, 910, 920])) if one.kind == "contradicted"]
    assert any("pfifo's RTT is above 900 ms" in text for text in claims)


def _as_published(change: Callable[[str, str, float], float] = lambda name, column, value: value) -> list[Condition]:
    """Every published row as if it had been measured three times with the same numbers."""
    found = []
    for name, row in PUBLISHED.items():
        factors = named_factors(name)
        values = {column: [change(name, column, value)] * 3 for column, value in row.items()}
        found.append(_condition(name, replace(factors, control=factors.control or "cubic"), values))
    return found


def test_the_published_numbers_support_some_of_the_published_advice() -> None:
    """The study recommends CUBIC with fq_codel at 3 Mbit/s; its own numbers have BBR ahead there, at the same RTT."""
    advised = [one for one in recommend(_as_published()) if one.kind == "recommended"]
    by_environment = {
        (one.about, one.sentence.split(":")[0]): one
        for one in advised
        if "fq_codel" in one.sentence and "10" in one.sentence
    }
    limited = by_environment["Environment: up to 10 Mbit/s", "At 3 Mbit/s, 10 flows"]
    assert "BBR with fq_codel." in limited.sentence
    assert "CUBIC with fq_codel is beaten here" in (limited.published or "")
    above = by_environment["Environment: above 10 Mbit/s", "Without a rate limit, 10 flows"]
    assert (above.published or "").endswith("which agrees")


@pytest.mark.slow
def test_a_planted_turn_of_the_numbers_turns_the_sentence() -> None:
    """No text is fixed: with the goodputs of BBR and CUBIC exchanged, sentences for BBR are against it."""

    def goodput(sentences: list[Sentence], kind: str) -> list[str]:
        found = [one.sentence for one in sentences if one.kind == kind and one.about == "BBR against CUBIC"]
        return [text for text in found if text.startswith("Without") and "goodput" in text]

    plain = recommend(_as_published())
    assert goodput(plain, "pro") and not goodput(plain, "contra")
    turned = recommend(
        _as_published(lambda name, column, value: 1 / value if column == "tcp_avg_bw_Mbps" and value else value)
    )
    assert goodput(turned, "contra") and not goodput(turned, "pro")


def test_what_was_measured_twice_counts_once() -> None:
    """The study's row with iperf3's UDP has the control, queue, path and flows of another: they are not
    alternatives."""
    pfifo, red = _pair([900, 910, 920], [90, 91, 92])
    again = replace(red, name="once more")
    sentences = recommend([pfifo, red, again])
    (left_out,) = _of(sentences, "left out")
    assert left_out.sentence == "once more has the factors of other (CUBIC with RED), which stands for both."
    assert [one for one in sentences if one is not left_out] == recommend([pfifo, red])

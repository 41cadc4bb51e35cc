"""The three-node study without running it: its scenario files, its published numbers, and claims about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from netwarp.flows.bulk import BulkFlow
from netwarp.flows.iperf3 import Iperf3Flow
from netwarp.flows.poisson import PoissonFlow
from netwarp.plan import Run, make_plan
from netwarp.scenario import load_scenario
from netwarp.store.errors import StoreError
from netwarp.store.findings import Finding, Holds
from netwarp.studies.three_node.claims import Claim, Place, load, load_note, published_column
from netwarp.studies.three_node.findings import check, write_table
from netwarp.studies.three_node.judgement import judge, judge_published
from netwarp.studies.three_node.published import published
from netwarp.studies.three_node.tables import Condition, Repetition
from netwarp.studies.three_node.traffic import Share, iperf3_shares

LAYOUTS = ("three-node", "three-node-published", "three-node-builtin")


PUBLISHED = published()


@cache
def _rows(name: str) -> dict[str, Run]:
    return {run.case: run for run in make_plan(load_scenario(name), seeds=[1]) if run.case in PUBLISHED}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_rows_are_the_published_ones_in_their_order(name: str) -> None:
    assert list(_rows(name)) == list(published())


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("row", sorted(PUBLISHED))
def test_a_row_is_what_its_name_says(name: str, row: str) -> None:
    scenario = _rows(name)[row].scenario
    tcp, udp, link = scenario.flows["tcp"], scenario.flows["udp"], scenario.links["far"]
    flows = 10 if "_10_" in row else 5 if "_5_" in row or "_multiflow_" in row else 1
    assert isinstance(tcp, BulkFlow | Iperf3Flow) and isinstance(udp, PoissonFlow)
    assert (tcp.args == ("-P", str(flows))) if isinstance(tcp, Iperf3Flow) else (tcp.count == flows)
    assert tcp.cc == ("bbr" if "bbr" in row.lower() else "cubic")
    assert (udp.count, udp.count * udp.rate) == (flows, scenario.links["near"].rate.forward)
    chain = " | ".join(link.raw.get("bottleneck", ()))
    limited = "rate 3mbit" in chain if chain else link.rate.forward == 3_000_000
    assert limited == row.startswith("bw3")
    impaired = "netem" in chain or link.loss.forward.model_dump().get("p", 0) > 0
    assert impaired == ("impairments" in row or "multiflow" in row)
    if name != "three-node-published":
        queue = re.split(r"\W", str(link.queue.forward))[0]
        assert queue == next(q for end, q in QUEUES.items() if end in row)


QUEUES = {"_fq": "fq_codel", "pfifo": "pfifo", "RED": "red"}


def test_both_kinds_of_generators_meet_the_same_network() -> None:
    real, builtin = _rows("three-node"), _rows("three-node-builtin")
    for row, run in real.items():
        assert run.scenario.links == builtin[row].scenario.links
        assert run.scenario.flows["udp"] == builtin[row].scenario.flows["udp"]


def test_the_published_numbers_are_as_they_were_printed() -> None:
    row = published()["bw3+impairments_10_bbr_fq"]
    assert row["tcp_avg_bw_Mbps"] == 0.253349132
    assert row["ss_avg_cwnd"] == 0.009199952, "packets / 1024, not packets"
    assert row["gap_avg_ms"] == 3.710368476, "of three captures, one of which has none"


CLAIMS, ADVICE = load()
CLAIM = {claim.id: claim for claim in CLAIMS}


@pytest.mark.slow
def test_every_claim_is_about_rows_and_columns_that_were_published() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) > 50
    for claim in CLAIMS:
        assert claim.source.startswith(("3.7", "4.")), claim.id
        if claim.unmeasured is None:
            assert claim.places and claim.rows, f"{claim.id} compares nothing"
            columns = set(map(published_column, claim.columns))
            assert all(columns <= published()[row].keys() for row in claim.rows), claim.id
            assert claim.above > -inf or claim.below < inf, f"{claim.id} cannot fail"
        else:
            assert not claim.places
    for one in ADVICE:
        assert set(one.grounds) <= CLAIM.keys()


def test_a_star_stands_for_the_same_in_both_rows() -> None:
    assert [place.rows for place in CLAIM["open-bbr-goodput"].places] == [
        ("bwNORMAL_multiflow_10_RED_BBR", "bwNORMAL_multiflow_10_RED"),
        ("bwNORMAL_multiflow_10_pfifo_BBR", "bwNORMAL_multiflow_10_pfifo"),
    ]
    assert len(CLAIM["pfifo-retransmits-least"].places) == 4
    assert len(CLAIM["gap-largest"].places) == 7
    assert [place.rows for place in CLAIM["red-rtt"].places] == [
        ("bw3Mbps_multiflow_10_RED",),
        ("bw3Mbps_multiflow_10_RED_BBR",),
        ("bw3Mbps_multiflow_RED",),
    ]


def _published(claim: Claim) -> Holds:
    judged = judge_published(claim, lambda row, column: published()[row][column] * (1024 if "cwnd" in column else 1))
    assert judged is not None
    return judged.holds


def test_which_claims_the_published_means_do_not_bear_out() -> None:
    """Their own numbers contradict five of their statements, and are better than three of their ranges."""
    judged = {claim.id: _published(claim) for claim in CLAIMS if claim.unmeasured is None}
    assert {id_: holds for id_, holds in judged.items() if holds not in (Holds.YES, Holds.WITHIN)} == {
        "cubic-fairer": Holds.NO,  # in 2 of 6 places
        "limited-bbr-unfair": Holds.NO,  # under pfifo BBR is the fairer
        "fq-udp-keeps": Holds.NO,  # 84 to 87 %
        "fq-jitter": Holds.WORSE,  # 13 to 16 ms
        "udp-rate": Holds.NO,  # one flow sends 41 Mbit/s
        "udp-loss": Holds.BETTER,  # one mean has two absent values in it
        "jitter-red": Holds.BETTER,  # one flow without a rate limit has 0.4 ms
    }


TOGETHER = Claim("x", "3.7", "gap and ACKs", "a_ms", "g_ms", (Place(("a", "b", "c")),), above=0.9)


def test_a_correlation_is_that_of_two_columns_over_the_rows_of_each_seed() -> None:
    gaps = {"a": 1.0, "b": 2.0, "c": 4.0}
    acks = {"a": {1: 2.0, 2: 2.0, 3: 2.0}, "b": {1: 4.0, 2: 4.1, 3: 4.2}, "c": {1: 8.0, 2: 8.0, 3: 8.0}}

    def read(row: str, column: str) -> dict[int, float]:
        return dict.fromkeys((1, 2, 3), gaps[row]) if column == "g_ms" else acks[row]

    judged = judge(TOGETHER, read)
    assert (judged.holds, judged.words) == (Holds.YES, "0.9998 [0.9993, 1]")  # 9.3 / √(4.667 × 18.54), by hand
    acks["c"] = {1: 1.0, 2: 1.0, 3: 1.0}
    assert judge(TOGETHER, read).holds is Holds.NO
    acks["b"] = acks["c"] = acks["a"]
    assert judge(TOGETHER, read).holds is Holds.INCONCLUSIVE, "a constant has no correlation"


PAIR = Claim("x", "3.7", "a is twice b", "tcp_avg_retrans", "", (Place(("a", "b")), Place(("c",))), above=2)
AGREES = {"a": {1: 6.0, 2: 7.0, 3: 8.0}, "b": {1: 2.0, 2: 2.0, 3: 2.0}, "c": {1: 3.0, 2: 4.0, 3: 5.0}}


RANGE = Claim("x", "3.7", "80 to 120", "ss_avg_rtt_ms", "", (Place(("a",)), Place(("b",))), 79.5, 120.5, "lower")
INSIDE, BELOW, ABOVE = {1: 80.0, 2: 100.0, 3: 120.0}, {1: 2.0, 2: 3.0, 3: 4.0}, {1: 121.0, 2: 300.0, 3: 999.0}


@pytest.mark.parametrize(
    ("a", "b", "lower", "higher"),
    [
        (INSIDE, INSIDE, Holds.WITHIN, Holds.WITHIN),
        (INSIDE, BELOW, Holds.BETTER, Holds.WORSE),
        (ABOVE, INSIDE, Holds.WORSE, Holds.BETTER),
        (BELOW, ABOVE, Holds.WORSE, Holds.WORSE),
        (BELOW, BELOW | INSIDE | {3: 1.0}, Holds.INCONCLUSIVE, Holds.WORSE),
        (INSIDE, {1: 2.0, 2: 100.0, 3: 100.0}, Holds.INCONCLUSIVE, Holds.INCONCLUSIVE),
        (INSIDE, {}, Holds.INCONCLUSIVE, Holds.INCONCLUSIVE),
        ({}, ABOVE, Holds.WORSE, Holds.INCONCLUSIVE),
        (INSIDE, {1: 2.0, 2: 2.0}, Holds.INCONCLUSIVE, Holds.INCONCLUSIVE),
    ],
)
def test_a_range_has_four_verdicts(a: dict[int, float], b: dict[int, float], lower: Holds, higher: Holds) -> None:
    """Better and worse are sides of it, and which is which depends on the quantity."""
    for better, expected in (("lower", lower), ("higher", higher)):
        judged = judge(replace(RANGE, better=better), lambda row, column: {"a": a, "b": b}[row])
        assert judged.holds is expected, judged
    neither = judge(replace(RANGE, better=None), lambda row, column: {"a": a, "b": b}[row]).holds
    assert (neither is Holds.NO) == (Holds.WORSE in (lower, higher))


def test_every_range_says_which_side_is_better_or_is_about_neither() -> None:
    assert {claim.better for claim in CLAIMS} == {None, "lower", "higher"}
    for claim in CLAIMS:
        if claim.better is not None:
            assert claim.above > -inf and claim.below < inf, f"{claim.id} is not a range"
            assert " to " in claim.text, claim.id


@pytest.mark.parametrize(
    ("changed", "holds", "words"),
    [
        ({}, Holds.YES, "3 to 5 ×"),
        ({"c": {1: 1.0, 2: 1.5, 3: 1.9}}, Holds.NO, "not in 1 of 2 places: 1.5 × [1, 1.9] (c)"),
        ({"c": {1: 1.0, 2: 3.0, 3: 3.0}}, Holds.INCONCLUSIVE, "seeds disagree: in 2 of 3 (c)"),
        ({"c": {}}, Holds.INCONCLUSIVE, "1 of 2 places not measured"),
        ({"c": {1: 3.0, 2: 3.0}}, Holds.INCONCLUSIVE, "2 of the 3 seeds that it takes"),
        ({"c": {1: 1.0, 2: 1.0}}, Holds.INCONCLUSIVE, "2 of the 3 seeds that it takes"),
        # Pairs are compared under the same seed, for seeds that both have.
        ({"b": {3: 2.0, 4: 2.0, 5: 2.0}}, Holds.INCONCLUSIVE, "1 of the 3 seeds that it takes"),
        # A refutation in one place does not depend on missing rows.
        ({"a": {}, "c": {1: 1.0, 2: 1.0, 3: 1.0}}, Holds.NO, "not in 1 of 2 places: 1 × [1, 1] (c)"),
        ({"a": {}, "b": {}, "c": {}}, Holds.INCONCLUSIVE, "its rows were not run"),
    ],
)
def test_the_rule(changed: dict[str, dict[int, float]], holds: Holds, words: str) -> None:
    judged = judge(PAIR, lambda row, column: (AGREES | changed)[row])
    assert (judged.holds, words in judged.words) == (holds, True), judged


def test_what_was_never_measured_cannot_be_told() -> None:
    judged = judge(CLAIM["udp-starves"], lambda row, column: {1: 1.0, 2: 1.0, 3: 1.0})
    assert judged.holds is Holds.INCONCLUSIVE
    assert "one after the other" in judged.words
    assert judge_published(CLAIM["udp-starves"], lambda row, column: 1.0) is None


def _conditions(values: Callable[[str, str], float], seeds: int = 3) -> list[Condition]:
    """Every published row with the same values under every seed."""
    columns = {claim.column for claim in CLAIMS}
    return [
        Condition(
            name,
            tuple(
                Repetition(seed, {column: values(name, column) for column in columns}, {}, pl.DataFrame())
                for seed in range(1, seeds + 1)
            ),
        )
        for name in PUBLISHED
    ]


def _as_published(name: str, column: str) -> float:
    factor = 1024 if column == "ss_avg_cwnd" else 1
    return PUBLISHED[name].get(column.removeprefix("scripts_"), 0.0) * factor


@cache
def _checked_as_published() -> list[Finding]:
    """The findings if our values were the published ones."""
    return list(check(_conditions(_as_published)))


def test_the_published_numbers_as_if_they_were_ours_give_the_published_verdicts() -> None:
    for found in _checked_as_published():
        if found.published is not None:
            other = found.judgement in (Holds.NO, Holds.WORSE, Holds.BETTER)
            assert other == found.published.startswith(f"{found.judgement}: "), found


def test_the_note_is_judged_beside_the_rows_as_they_were_run() -> None:
    """Eight rows of the study may be fq_codel's: if that was run, each claim about them has a second verdict."""
    note = load_note()
    assert set(note.instead) == {row for row in PUBLISHED if row.startswith("bwNORMAL_") and not row.endswith("_fq")}
    cases = {run.case: run for run in make_plan(load_scenario("three-node"), seeds=[1])}
    for row, instead in note.instead.items():
        before, after = cases[row].scenario, cases[instead].scenario
        assert str(after.links["far"].queue.forward) == "fq_codel"
        assert (before.flows, before.links["near"]) == (after.flows, after.links["near"]), "the queue alone differs"
        assert before.links["far"].delay == after.links["far"].delay

    without = _conditions(_as_published)
    slow = [replace(one, name=note.instead[one.name]) for one in without if one.name in note.instead]
    for one in slow:
        for each in one.repetitions:
            each.values["ss_avg_rtt_ms"] = 70.0
    found = check([*_conditions(_as_published), *{one.name: one for one in slow}.values()])
    by_note = {one.finding.removeprefix(f"{note.text}: "): one for one in found if one.source == note.source}
    about = {claim.text for claim in CLAIMS if not note.instead.keys().isdisjoint(claim.rows)}
    assert by_note.keys() == about
    rtt = by_note[CLAIM["open-rtt"].text]
    assert rtt.judgement is Holds.WORSE
    assert rtt.measured.endswith("without the note: within")
    assert by_note[CLAIM["open-oneflow"].text].measured.endswith("as without the note")
    assert [one for one in check(without) if one.source == note.source] == [], "those rows were not run"


def test_a_recommendation_is_as_good_as_its_grounds() -> None:
    by_text = {found.finding: found for found in _checked_as_published()}
    avoid = by_text["recommended – avoid pfifo altogether"]
    assert (avoid.judgement, avoid.source) == (Holds.YES, "4.5")
    latency = next(found for text, found in by_text.items() if "latency first" in text)
    assert latency.judgement is Holds.NO, "their jitter under fq_codel is 13 to 16 ms"
    assert "4 of its 5 grounds hold" in latency.measured
    assert "not measured: ECN" in latency.measured
    few = {found.finding: found for found in check(_conditions(_as_published, seeds=2))}
    assert few["recommended – avoid pfifo altogether"].judgement is Holds.INCONCLUSIVE


def test_the_table_of_findings_has_a_row_for_each(tmp_path: Path) -> None:
    findings = _checked_as_published()
    lines = write_table(tmp_path, findings).read_text().splitlines()
    rows = [line for line in lines if line.startswith(("| 3.7", "| 4."))]
    assert len(rows) == len(findings) == len(CLAIMS) + len(ADVICE)
    assert all(row.count(" | ") == 4 for row in rows)


TCP: dict[str, Any] = {"sender": {"bits_per_second": 9, "retransmits": 7}, "receiver": {"bits_per_second": 2.5e6}}
UDP: dict[str, Any] = {"udp": {"bits_per_second": 4e6, "lost_percent": 12.5, "jitter_ms": 0.25}}


def test_shares_in_the_words_of_iperf3() -> None:
    assert iperf3_shares({"end": {"streams": [TCP]}}, "x") == [("tcp", Share(2.5, retransmits=7))]
    assert iperf3_shares({"end": {"streams": [UDP]}}, "x") == [
        ("udp", Share(4.0, lost_pct=12.5, jitter_ms=0.25, final_jitter_ms=0.25))
    ]
    assert iperf3_shares({"end": {}}, "x") == []
    without = {"sender": {}, "receiver": {"bits_per_second": 1e6}}
    assert iperf3_shares({"end": {"streams": [without]}}, "x") == [("tcp", Share(1.0))], "absent, not 0"


@pytest.mark.parametrize("told", [{}, {"end": 3}, {"end": {"streams": [{}]}}, {"end": {"streams": [{"udp": []}]}}])
def test_what_iperf3_never_prints_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match=r"tcp\.json: it is not output of iperf3 -J"):
        iperf3_shares(told, "tcp.json")

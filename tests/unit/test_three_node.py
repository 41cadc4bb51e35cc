"""The three-node study without running it: its scenario files, its published numbers, and what is claimed of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from netwarp.plan import Run, make_plan
from netwarp.scenario import load_scenario
from netwarp.scenario.flows import BulkFlow, Iperf3Flow, PoissonFlow
from netwarp.store.errors import StoreError
from netwarp.store.findings import Holds
from netwarp.views.three_node.findings import CLAIMS
from netwarp.views.three_node.published import published
from netwarp.views.three_node.traffic import Share, iperf3_shares

LAYOUTS = ("three-node", "three-node-published", "three-node-builtin")


def _rows(name: str) -> dict[str, Run]:
    return {run.case: run for run in make_plan(load_scenario(name), seeds=[1]) if run.case in published()}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_rows_are_the_published_ones_in_their_order(name: str) -> None:
    assert list(_rows(name)) == list(published())


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("row", sorted(published()))
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


def test_the_published_numbers_are_in_our_units() -> None:
    row = published()["bw3+impairments_10_bbr_fq"]
    assert row["tcp_avg_bw_Mbps"] == 0.253349132
    assert row["ss_avg_cwnd"] == pytest.approx(9.42, abs=0.005), "packets, not packets / 1024"
    assert row["gap_avg_ms"] == pytest.approx(3.710368476 * 3 / 2), "of two captures, not of three"


def test_the_claims_are_those_of_the_published_means() -> None:
    judged = {
        claim.text.split(":")[0]: claim.held_against(lambda row, column: published()[row].get(column))[0]
        for claim in CLAIMS
    }
    assert judged["pfifo bloats"] is Holds.YES
    assert judged["RED holds the RTT at 3 Mbit/s to 80 to 120 ms"] is Holds.YES
    assert judged["there BBR pays with 10 times CUBIC's retransmissions or more"] is Holds.YES
    assert judged["CUBIC shares more fairly than BBR"] is Holds.NO, "it does in two of six places"
    assert judged["unlimited UDP loses more than 80 % at 3 Mbit/s"] is Holds.NO, "one mean has two absent values in it"


def test_what_was_not_run_is_not_checked() -> None:
    for claim in CLAIMS:
        assert claim.held_against(lambda row, column: None) == (Holds.UNCHECKED, "its rows were not run")


TCP: dict[str, Any] = {"sender": {"bits_per_second": 9, "retransmits": 7}, "receiver": {"bits_per_second": 2.5e6}}
UDP: dict[str, Any] = {"udp": {"bits_per_second": 4e6, "lost_percent": 12.5, "jitter_ms": 0.25}}


def test_shares_in_the_words_of_iperf3() -> None:
    assert iperf3_shares({"end": {"streams": [TCP]}}, "x") == [("tcp", Share(2.5, retransmits=7))]
    assert iperf3_shares({"end": {"streams": [UDP]}}, "x") == [("udp", Share(4.0, lost_pct=12.5, jitter_ms=0.25))]
    assert iperf3_shares({"end": {}}, "x") == []
    without = {"sender": {}, "receiver": {"bits_per_second": 1e6}}
    assert iperf3_shares({"end": {"streams": [without]}}, "x") == [("tcp", Share(1.0))], "absent, not 0"


@pytest.mark.parametrize("told", [{}, {"end": 3}, {"end": {"streams": [{}]}}, {"end": {"streams": [{"udp": []}]}}])
def test_what_iperf3_never_prints_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match=r"tcp\.json: it is not what iperf3 -J prints"):
        iperf3_shares(told, "tcp.json")

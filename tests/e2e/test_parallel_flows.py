"""Flows that connect ahead of their start, as iperf3 -P does, and BBR when one of them connects late."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs
from e2e_traffic import account, flow, pair, values
from netwarp.stats.fairness import jain_index
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus

START_NS = 2 * 10**9
AHEAD = 'connect_ahead = "1500ms"'
BBR = ('cc = "bbr"', 'duration = "15s"')


def test_a_connection_is_opened_ahead_and_silent_until_the_start(runs: Runs) -> None:
    """The handshake takes one round trip 1.5 s before; then nothing is sent before the start, and at once at it."""
    run = runs(pair(flow("a", "bulk", "count = 3", 'start = "2s"', AHEAD), duration="3s"))
    packets = run.scan("packets").filter(pl.col("packet_bytes") > 1000).collect()
    assert packets["enqueue_ns"].min() == pytest.approx(START_NS, abs=10_000)
    for name in ("a.0", "a.1", "a.2"):
        found = account(run, name)
        assert found["start_ns"] == START_NS
        assert found["connect_ns"] == pytest.approx(START_NS - 1_500_000_000 + 10_000_000, abs=500_000)


def _ten(late: str) -> str:
    """Ten BBR flows through a second of queue at 3 Mbit/s and 40 ms; one of them is called late."""
    nine = flow("many", "bulk", "count = 9", 'start = "2s"', AHEAD, *BBR)
    one = flow("late", "bulk", *BBR, late)
    return pair(nine + one, rate="3mbit", delay="20ms", queue="pfifo limit 250", duration="19s", router=True)


def test_bbr_takes_the_queue_it_connects_through_for_the_path(runs: Runs) -> None:
    """A flow that connects a second late, as after a lost SYN, has several times the share of the others; one that is
    connected and only sends late does not. The first one's shortest RTT has half a second of their queue in it."""
    shares, rtts = [], []
    for line in ('start = "3050ms"', 'start = "3050ms"\nconnect_ahead = "2550ms"'):
        run = runs(_ten(line))
        goodputs = [values(run, f"many.{number}")["goodput_mbps"] for number in range(9)]
        shares.append(values(run, "late")["goodput_mbps"] / (sum(goodputs) / 9))
        rtts.append(values(run, "late")["rtt_ms_min"])
    assert rtts[0] > 300 and rtts[1] == pytest.approx(40, abs=5)
    assert shares[0] > 2.5
    assert shares[1] < 1.5


def test_ten_bbr_flows_that_connect_ahead_share_alike_under_every_seed(runs: Runs) -> None:
    """With 1 % of loss in each direction a handshake is lost in every fifth run; here that does not matter."""
    lossy = 'jitter = "5ms normal"\nloss = "1%"'
    flows = flow("many", "bulk", "count = 10", 'start = "2s"', AHEAD, *BBR)
    text = pair(flows, rate="3mbit", delay="20ms", queue="pfifo limit 250", duration="18s", router=True, link=lossy)
    result = open_result(runs.result(text, "--seeds", "5"))
    for planned in result.planned:
        run = result.run(planned.id)
        assert run.status()["status"] == RunStatus.OK, run.status()
        goodputs = [values(run, f"many.{number}")["goodput_mbps"] for number in range(10)]
        fairness = jain_index(goodputs)
        assert fairness is not None and fairness > 0.9, (planned.seed, goodputs)

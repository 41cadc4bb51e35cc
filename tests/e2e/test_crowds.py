"""Many flows in one run: 100 and 1,000 at one bottleneck, measured each and together."""

from __future__ import annotations

import pytest
from e2e_runs import Runs
from e2e_traffic import flow, pair, unaccounted, values


@pytest.mark.parametrize("count", [100, 1000])
def test_a_crowd_shares_a_link(runs: Runs, count: int) -> None:
    text = pair(flow("bulk", "bulk", f"count = {count}"), rate="100mbit", delay="10ms", duration="4s", router=True)
    run = runs(text.replace('start_jitter = "0s"', 'start_jitter = "20ms"'))
    found = values(run, "bulk")
    assert found["goodput_mbps"] == pytest.approx(100 * 1448 / 1514, rel=0.25)
    assert found["drops"] == values(run, "wire:r1", "queue")["drops"]
    assert run.scan("flows").collect().height == count
    members = run.metrics().filter(scope="flow", metric="retransmits")
    assert members.filter(name="bulk")["value"][0] == members["value"].sum() / 2


def test_ten_sources_of_datagrams_are_accounted_for(runs: Runs) -> None:
    text = pair(flow("cbr", "cbr", "count = 10", 'rate = "20mbit"'), rate="190mbit", duration="2s")
    run = runs(text)
    assert unaccounted(run, [11]) == 0
    assert values(run, "cbr")["goodput_mbps"] == pytest.approx(190 * 1472 / 1514, rel=0.02)

"""One bulk flow fills any link: neither its generator nor its socket buffers limit it."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import FRAME_BYTES, SEGMENT_BYTES, dumbbell
from netwarp.store.rundir import RunDir

# Rate, bit/s, and virtual seconds: long enough for several of CUBIC's cycles, short enough to be cheap.
SCALES = {"1mbit": (10**6, 60), "10mbit": (10**7, 60), "100mbit": (10**8, 20), "1gbit": (10**9, 8)}
RTT_S = 0.02


def _run(runs: Runs, rate: str, control: str) -> RunDir:
    bps, seconds = SCALES[rate]
    packets = max(10, round(bps * RTT_S / 8 / FRAME_BYTES))
    flow = f'[flows.bulk]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncc = "{control}"\n'
    scenario = dumbbell(
        rate=rate, queue=f"pfifo limit {packets}", duration=f"{seconds}s", access="10gbit", exact=False, flows=flow
    )
    return runs(scenario)


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize("rate", SCALES)
def test_a_bulk_flow_reaches_the_rate_of_its_link(runs: Runs, rate: str, control: str) -> None:
    bps, seconds = SCALES[rate]
    run = _run(runs, rate, control)
    received = run.scan("sockets").filter(pl.col("node") == "h2").select("time_ns", "bytes_received")
    counts = dict(received.collect().iter_rows())
    half_bits = (counts[seconds * 10**9] - counts[seconds * 10**9 // 2]) * 8
    assert half_bits / (seconds / 2) >= 0.95 * bps * SEGMENT_BYTES / FRAME_BYTES


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize("rate", SCALES)
def test_neither_buffers_nor_generator_limit_it(runs: Runs, rate: str, control: str) -> None:
    (flow,) = _run(runs, rate, control).scan("flows").collect().iter_rows(named=True)
    assert flow["busy_us"] > 0.99 * SCALES[rate][1] * 1e6
    for limit in ("rwnd_limited_us", "sndbuf_limited_us"):
        assert flow[limit] <= 0.001 * flow["busy_us"], (limit, flow)

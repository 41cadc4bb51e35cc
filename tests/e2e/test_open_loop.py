"""`open_loop` on the real engine: transfers begin when they should, take the calculated time on an empty path, and
share a fair queue as processor sharing has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import FAIR, SEGMENT_BYTES
from e2e_traffic import account, flow, pair, values
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir
from netwarp.studies.queueing_theory.sharing import law, slowdowns

HEADERS = 14 + 20 + 32
"""Headers of a TCP segment with timestamps: Ethernet, IPv4, TCP."""
SYN_BYTES = HEADERS + 8
Z = 3.48
"""Quantile of the normal distribution for twenty tests with an error of 1 % together."""
EVERY = ('arrivals = "every 100ms"', 'size = "10kB"')
WEB = ('arrivals = "poisson 200/s"', 'size = "5kB exponential"')


def open_loop(*lines: str) -> str:
    return flow("web", "open_loop", *lines)


def transfers(run: RunDir) -> pl.DataFrame:
    return run.scan("transfers").sort("sequence").collect()


def ms(frame_bytes: int, rate_bps: float = 10e6) -> float:
    """The transmission time of a frame."""
    return frame_bytes * 8e3 / rate_bps


def test_alone_a_transfer_takes_the_handshake_and_its_frames(runs: Runs) -> None:
    run = runs(pair(open_loop(*EVERY)))
    rows = transfers(run)
    assert rows["start_ns"].to_list() == [number * 100_000_000 for number in range(20)]
    # 10 kB are 7 segments, within the initial window; the ACK of the SYN-ACK leaves before them.
    least = 3 * 5 + 2 * ms(SYN_BYTES) + ms(HEADERS) + ms(10_000 + 7 * HEADERS)
    assert ((rows["end_ns"] - rows["start_ns"]) / 1e6).to_list() == pytest.approx([least] * 20, abs=0.001)
    found = values(run, "web")
    assert found["slowdown_mean"] == pytest.approx(1, abs=1e-4)
    assert found["slowdown_max"] == pytest.approx(1, abs=1e-4)
    assert found["completion_to_10kb_ms_p50"] == pytest.approx(least, abs=0.001)
    assert (found["transfers"], found["transfers_incomplete"]) == (20, 0)
    assert found["offered_mbps"] == pytest.approx(0.8)
    assert found["offered_load_pct"] == pytest.approx(100 * (10_000 + 7 * HEADERS) * 8 * 10 / 10e6)


def test_every_byte_arrives_and_every_connection_is_the_flows(runs: Runs) -> None:
    run = runs(pair(open_loop(*EVERY)))
    rows, totals = transfers(run), account(run, "web")
    assert totals["sent_bytes"] == totals["received_bytes"] == rows["bytes"].sum() == 200_000
    tuples = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    assert len(tuples) == len(rows), "each has its own five-tuple"
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(list(tuples))).collect()
    assert arrived["new_bytes"].sum() == rows["bytes"].sum()
    assert set(run.metrics().filter(scope="flow")["name"]) == {"web"}, "one row, not one for each connection"
    assert values(run, "web")["drops"] == 0


def test_the_same_seed_gives_the_same_bytes(runs: Runs) -> None:
    text = pair(open_loop(*WEB))
    one, other = runs(text), runs(text + "# again\n")
    for table in ("transfers", "packets", "acks", "arrivals", "flows", "tuples"):
        assert (one.path / f"{table}.arrows").read_bytes() == (other.path / f"{table}.arrows").read_bytes()


def test_over_twenty_seeds_arrivals_and_sizes_are_in_their_intervals(runs: Runs) -> None:
    result = open_result(runs.result(pair(open_loop(*WEB), rate="100mbit"), "--seeds", "20"))
    starts = set()
    for planned in result.planned:
        rows = transfers(result.run(planned.id))
        # A Poisson process of 200/s over 2 s: mean and variance of the number are 400.
        assert abs(len(rows) - 400) < Z * 20
        gaps = np.diff(rows["start_ns"].to_numpy())
        # A share e^-1 of exponential intervals is longer than their mean.
        longer = float((gaps > 5e6).mean())
        assert abs(longer - np.exp(-1)) < Z * np.sqrt(np.exp(-1) * (1 - np.exp(-1)) / len(gaps))
        sizes = rows["bytes"].to_numpy()
        assert abs(sizes.mean() - 5000) < Z * 5000 / np.sqrt(len(sizes))
        starts.add(int(rows["start_ns"][0]))
    assert len(starts) == 20


def test_times_and_sizes_come_from_files(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("time\n0.1\n0.1\n0.7\n5\n")
    (tmp_path / "sizes.csv").write_text("bytes,share\n2000,0.5\n3000,1\n")
    run = runs(pair(open_loop(f'arrivals = "{tmp_path}/times.csv"', f'size = "{tmp_path}/sizes.csv"')))
    rows = transfers(run)
    assert rows["start_ns"].to_list() == [100_000_000, 100_000_000, 700_000_000], "the last is after the end"
    assert all(2000 <= size <= 3000 for size in rows["bytes"])


def test_what_is_not_complete_is_counted_and_never_taken_for_fast(runs: Runs) -> None:
    # Each of 4 MB takes 3.3 s alone, and the run 2 s.
    run = runs(pair(open_loop('arrivals = "every 400ms"', 'size = "4MB"'), queue="fq_codel"))
    rows, found = transfers(run), values(run, "web")
    assert rows["end_ns"].null_count() == len(rows) == 5
    assert (found["transfers"], found["transfers_incomplete"]) == (0, 5)
    assert found["transfers_incomplete_above_1mb"] == 5
    assert not any(name.startswith(("completion", "slowdown")) for name in found)
    assert found["offered_mbps"] == pytest.approx(80)


def test_more_transfers_at_once_than_the_receiver_has_threads(runs: Runs) -> None:
    """They begin in 0.4 s and need 3.5 s: the threads take the first, and one thread by epoll(7) the others."""
    run = runs(
        pair(open_loop('arrivals = "every 1ms"', 'size = "10kB"', 'duration = "400ms"'), queue=FAIR, duration="6s")
    )
    rows, totals = transfers(run), account(run, "web")
    at_once = max(((rows["start_ns"] <= at) & (rows["end_ns"] > at)).sum() for at in rows["start_ns"])
    assert at_once > 128
    assert rows["end_ns"].null_count() == 0
    assert totals["received_bytes"] == rows["bytes"].sum() == 4_000_000
    # The link is never idle. Over it go SYN, seven segments, and the ACKs of SYN-ACK and of the receiver's FIN.
    least = 400 * (ms(SYN_BYTES) + ms(10_000 + 7 * HEADERS) + ms(HEADERS))
    again = totals["sent_bytes"] - 4_000_000  # retransmitted while the others delay an ACK
    again += HEADERS * -(-again // SEGMENT_BYTES)
    assert 0 < max(rows["end_ns"].to_list()) / 1e6 - least - ms(again) < 60


def test_transfers_that_began_in_time_may_go_on_after_the_flow(runs: Runs) -> None:
    run = runs(pair(open_loop('arrivals = "every 400ms"', 'size = "250kB"', 'duration = "500ms"')))
    rows = transfers(run)
    assert rows["start_ns"].to_list() == [0, 400_000_000]
    assert rows["end_ns"].null_count() == 0
    assert rows["end_ns"][1] > 500_000_000
    assert values(run, "web")["transfers"] == 2
    assert values(run, "web")["offered_mbps"] == pytest.approx(2 * 250_000 * 8 / 0.5e6)


@pytest.mark.parametrize(("load", "seeds"), [(0.5, 4)])
def test_a_fair_queue_is_processor_sharing(runs: Runs, load: float, seeds: int) -> None:
    """M/G/1-PS has a mean slowdown of 1 / (1 − load), whatever the sizes (L. Kleinrock: Queueing Systems II, 4.4).

    Sizes are far above the bandwidth-delay product, of 250 bytes, and have a finite variance. Beside the law, the same
    arrivals go through an ideal server, which removes the chance of the sample.
    """
    text = pair(
        open_loop(
            'arrivals = "poisson"', f'load = "{100 * load:g}%"', 'size = "300kB lognormal 0.5"', 'duration = "55s"'
        ),
        rate="20mbit",
        delay="100us",
        queue=FAIR,
        duration="60s",
        router=True,
    )
    result = open_result(runs.result(text, "--seeds", str(seeds)))
    found = [one for run in result.planned if (one := slowdowns(result.run(run.id)))]
    assert len(found) == seeds, "all are complete"
    assert [one.measured for one in found] == pytest.approx([one.ideal for one in found], rel=0.05)
    measured = [one.measured for one in found]
    # The law holds within the interval that the seeds give: Student's t for 99 % with 3 degrees of freedom.
    half = 5.841 * float(np.std(measured, ddof=1)) / np.sqrt(seeds)
    assert abs(float(np.mean(measured)) - law(load)) < half

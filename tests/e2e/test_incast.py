"""`incast` on the real engine: rounds take the calculated time, until a queue is too short for all answers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_traffic import account, flow, pair, values
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

HEADERS = 14 + 20 + 32
"""Headers of a TCP segment with timestamps: Ethernet, IPv4, TCP."""
SENDERS = 20
SMALL = ("senders = 20", "response_size = 1000", 'think = "50ms"')
CA_LOSS = 4
"""TCP_CA_Loss, in which a retransmission timeout puts a sender (include/uapi/linux/tcp.h)."""
RTO_MIN_MS = 200
"""TCP_RTO_MIN (include/net/tcp.h)."""


def ms(frames_bytes: float, rate_bps: float = 10e6) -> float:
    """The transmission time of frames on a link."""
    return frames_bytes * 8 / rate_bps * 1e3


def rounds_ms(run: RunDir) -> list[float]:
    rows = run.scan("transfers").collect()
    return ((rows["end_ns"] - rows["start_ns"]).drop_nulls() / 1e6).to_list()


SMALL_MS = 2 * 5 + ms(100 + HEADERS) + SENDERS * ms(1000 + HEADERS)
"""The first request takes its own time and the path's; from then on answers leave one after the other."""


def test_a_round_takes_a_round_trip_and_the_time_of_its_answers(runs: Runs) -> None:
    run = runs(pair(flow("query", "incast", *SMALL)))
    times = rounds_ms(run)
    assert len(times) > 20
    assert times[1:] == pytest.approx([SMALL_MS] * (len(times) - 1), abs=0.001)
    # The first one follows the last ACK of each handshake; its first answer follows an ACK that is not delayed yet.
    assert times[0] == pytest.approx(SMALL_MS + (SENDERS + 1) * ms(HEADERS), abs=0.001)
    rows = run.scan("transfers").collect()
    assert set(rows["request_bytes"]) == {SENDERS * 100}
    assert set(rows["bytes"]) == {SENDERS * 1000}
    found = values(run, "query")
    assert found["completion_ms_p50"] == pytest.approx(SMALL_MS, abs=0.001)
    assert found["transfers"] == len(times)
    assert found["requests_per_s"] == pytest.approx(len(times) / 2, rel=0.01)
    assert found["goodput_mbps"] == pytest.approx(len(times) * SENDERS * 1000 * 8 / 2e6, rel=0.01)
    assert "share_pct" not in found, "it is alone"


def test_every_connection_is_the_flows(runs: Runs) -> None:
    run = runs(pair(flow("query", "incast", *SMALL)))
    tuples = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    assert len(tuples) == SENDERS
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(list(tuples))).collect()["new_bytes"].sum()
    assert arrived == run.scan("transfers").collect()["bytes"].sum() == account(run, "query")["received_bytes"]
    assert account(run, "query")["sent_bytes"] == arrived
    acks = run.scan("acks").filter(pl.col("tuple_id").is_in(list(tuples))).collect()
    found = values(run, "query")
    assert acks["snd_cwnd_pkts"].min() <= found["cwnd_pkts_mean"] <= acks["snd_cwnd_pkts"].max(), "a sender's, no sum"  # type: ignore[operator]
    assert found["rtt_ms_max"] == acks["rtt_us"].max() / 1e3  # type: ignore[operator]


def test_twenty_seeds_have_the_same_rounds_at_other_times(runs: Runs) -> None:
    text = pair(flow("query", "incast", *SMALL)).replace('start_jitter = "0s"', 'start_jitter = "20ms"')
    result = open_result(runs.result(text, "--seeds", "20"))
    assert len(result.planned) == 20
    starts = set()
    for planned in result.planned:
        run = result.run(planned.id)
        starts.add(run.scan("transfers").collect()["start_ns"][0])
        assert rounds_ms(run)[1:] == pytest.approx([SMALL_MS] * (len(rounds_ms(run)) - 1), abs=0.001)
    assert len(starts) == 20


def test_a_short_queue_costs_a_timeout_in_each_round(runs: Runs) -> None:
    """64 answers of 23 segments each, of which 64 packets fit: some sender loses all that it sent last."""
    senders, response = 64, 32_000
    text = pair(
        flow("query", "incast", f"senders = {senders}", f"response_size = {response}", ends=("h2", "h1"))
        + flow("ping", "ping", ends=("h2", "h1")),
        rate="100mbit",
        delay="100us",
        duration="5s",
        router=True,
    )
    long = runs(text.replace("pfifo limit 1000", "pfifo limit 4000"))
    segments = -(-response // 1448)
    whole_ms = ms(senders * (response + segments * HEADERS), 100e6)
    assert rounds_ms(long)[1:] == pytest.approx([whole_ms + 0.2] * (len(rounds_ms(long)) - 1), abs=0.2)
    assert values(long, "wire:r1", "queue")["drops"] == 0

    short = runs(text.replace("pfifo limit 1000", "pfifo limit 64"))
    assert min(rounds_ms(short)) > RTO_MIN_MS
    assert short.scan("acks").filter(ca_state=CA_LOSS).collect().height > 0
    collapsed, full = values(short, "query")["goodput_mbps"], values(long, "query")["goodput_mbps"]
    assert full == pytest.approx(100 * response / (response + segments * HEADERS), rel=0.01)
    assert collapsed < 0.7 * full
    assert values(short, "ping")["loaded_ms_p50"] > 0, "it is load"


def test_senders_have_sizes_of_their_own(runs: Runs) -> None:
    lines = ("senders = 5", 'response_size = "10kB exponential"', 'think = "10ms exponential"', "count = 2")
    run = runs(pair(flow("query", "incast", *lines), rate="100mbit", duration="5s"))
    rows = run.scan("transfers").collect()
    assert rows["bytes"].mean() == pytest.approx(5 * 10_000, rel=0.15)
    assert rows["bytes"].n_unique() > 0.9 * rows.height
    assert set(rows["flow_id"]) == {0, 1}


def test_show_says_who_asks_whom(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(pair(flow("query", "incast", *SMALL)))
    answer = netwarp("show", scenario)
    assert answer.code == 0, answer.err
    assert "query (incast, cubic) from 10.0.0.1 to 10.0.0.2:5001" in answer.out

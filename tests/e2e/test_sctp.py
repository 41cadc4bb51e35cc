"""Flows over SCTP: what they carry, how streams and order matter, and their ends, compared with calculated values."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, account, flow, packets_of, pair, values
from netwarp.store.rundir import RunDir

CHUNK = 1452
"""Payload of a full chunk in an IPv4 packet of 1500 bytes: headers of 20, 12 and 16 bytes (RFC 9260, 3.1, 3.3.1), and
whole words of 4 bytes."""
FRAME = 14 + 20 + 12 + 16 + CHUNK
LOSSY = 'loss = "1%"'


def arrivals(run: RunDir) -> pl.DataFrame:
    """Rows of payload of SCTP that arrived."""
    tuples = run.scan("tuples").filter(protocol=132).collect()["tuple_id"].to_list()
    return run.scan("arrivals").filter(pl.col("tuple_id").is_in(tuples)).collect()


@pytest.mark.parametrize(("rate", "mbps"), [("10mbit", 10), ("100mbit", 100)])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_full_chunks_take_the_links_rate_less_headers(runs: Runs, rate: str, mbps: int, family: str) -> None:
    chunk = CHUNK - (20 if family == "ipv6" else 0)
    one = flow("sctp", "sctp", f"message_size = {chunk}", f'family = "{family}"')
    run = runs('warmup = "2s"\n' + pair(one, rate=rate, duration="10s", router=True, queue="pfifo limit 200"))
    assert values(run, "sctp")["goodput_mbps"] == pytest.approx(mbps * chunk / FRAME, rel=0.001)
    sizes = packets_of(run, "sctp")["packet_bytes"].to_list()
    assert sizes.count(FRAME) > 0.99 * len(sizes), "else this says nothing of full chunks"


def test_its_receive_buffer_is_its_window(runs: Runs) -> None:
    """Linux announces half of the buffer (sctp_assoc_init()) and, as the program reads at once, all of that."""
    one = flow("sctp", "sctp", f"message_size = {CHUNK}", "receive_buffer = 50000")
    run = runs('warmup = "2s"\n' + pair(one, rate="100mbit", duration="10s", router=True, queue="pfifo limit 200"))
    window_bytes, rtt_us = 50_000, 10_000 + 8 * (FRAME + 60) // 100 + 8 * FRAME // 1000
    # In whole chunks, of which every second is acknowledged at once (RFC 9260, 6.2).
    full, used_bytes = window_bytes // CHUNK * CHUNK, values(run, "sctp")["goodput_mbps"] * rtt_us / 8
    assert full - 2.01 * CHUNK < used_bytes < full + 0.01 * CHUNK


def test_what_its_program_takes_is_what_the_kernel_saw_arrive(runs: Runs) -> None:
    run = runs(pair(flow("sctp", "sctp", 'duration = "3s"'), duration="5s", link=LOSSY, router=True))
    taken = account(run, "sctp")["received_bytes"]
    readable = int(arrivals(run)["in_order_bytes"].sum())
    assert taken == readable > 0
    assert account(run, "sctp")["retransmits"] > 0


def test_a_sized_flow_is_complete_to_the_byte_and_ends_by_itself(runs: Runs) -> None:
    run = runs(pair(flow("sctp", "sctp", "bytes = 1000001", "streams = 3"), duration="5s", link=LOSSY, router=True))
    (transfer,) = run.scan("transfers").collect().to_dicts()
    assert (transfer["bytes"], account(run, "sctp")["received_bytes"]) == (1_000_001, 1_000_001)
    assert transfer["end_ns"] == account(run, "sctp")["end_ns"]
    at_reader = arrivals(run).filter(pl.col("in_order_bytes").cum_sum() >= 1_000_001)["time_ns"].min()
    assert transfer["end_ns"] == at_reader
    last = packets_of(run, "sctp")["enqueue_ns"].max()
    assert isinstance(last, int) and last - transfer["end_ns"] < SECOND, "its association ends, and says nothing later"


def held_back(run: RunDir) -> float:
    """The mean number of bytes that have arrived and are not readable, over the instants of arrivals."""
    rows = arrivals(run).group_by("time_ns", maintain_order=True).sum()
    return float((rows["payload_bytes"] - rows["in_order_bytes"]).cum_sum().cast(float).to_numpy().mean())


def test_a_lost_packet_delays_only_its_own_stream(runs: Runs) -> None:
    def share(*lines: str) -> float:
        one = flow("sctp", "sctp", f"message_size = {CHUNK}", *lines)
        return held_back(runs(pair(one, duration="10s", link=LOSSY, router=True)))

    one, many, unordered = share(), share("streams = 16"), share("ordered = false")
    assert one > 10 * many > 0, "head-of-line blocking (RFC 9260, 1.5.2)"
    assert unordered == 0, "a message in one chunk never waits"


def test_its_windows_leave_tcp_about_half(runs: Runs) -> None:
    both = flow("sctp", "sctp", f"message_size = {CHUNK}") + flow("tcp", "bulk", 'cc = "reno"')
    run = runs('warmup = "10s"\n' + pair(both, duration="60s", router=True, queue="pfifo limit 50"))
    sctp, tcp = (values(run, name)["goodput_mbps"] for name in ("sctp", "tcp"))
    assert sctp + tcp > 9.3
    assert 0.25 < sctp / (sctp + tcp) < 0.75, "its congestion control is Reno's (RFC 9260, 7.2)"


def test_without_an_answer_it_says_so_and_ends(tmp_path: Path) -> None:
    scenario = tmp_path / "pair.toml"
    scenario.write_text(pair(flow("sctp", "sctp"), duration="2s", link='loss = "100%"'))
    answer = netwarp("run", scenario, "-o", tmp_path / "r", "--no-plots")
    assert answer.code == 0
    assert "flow sctp never connected: the network lost its packets" in answer.words
    assert values(only_run(tmp_path / "r"), "sctp")["goodput_mbps"] == 0


def test_two_runs_have_the_same_bytes(tmp_path: Path) -> None:
    scenario = tmp_path / "pair.toml"
    scenario.write_text(pair(flow("sctp", "sctp", "streams = 4"), duration="3s", link=LOSSY, router=True))
    digests = []
    for name in ("one", "two"):
        assert netwarp("run", scenario, "-o", tmp_path / name, "--no-plots").code == 0
        run = only_run(tmp_path / name)
        digests.append({path.name: path.read_bytes() for path in sorted(run.path.glob("*.arrows"))})
    assert digests[0] == digests[1]

"""Tuners on the real kernel: their settings apply before the flows start, and have the calculated effect."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_scenarios import FRAME_BYTES, SEGMENT_BYTES, dumbbell, packet_ns
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

RTT_NS = 2 * 150_000_000 + packet_ns(10**8) + packet_ns(10**9) + packet_ns(10**8, 66) + packet_ns(10**9, 66)
TRUE_BYTES = 2288
"""The kernel's charge to a socket for a full segment: skb->truesize of 1448 bytes with their headers and skb."""


def _tuned(tuner: str, *, queue: str = "fq_codel", delay: str = "150ms", duration: str = "20s") -> str:
    tail = f'[tuners.t]\n{tuner}\n[run]\ntuner = "t"\n'
    return dumbbell(rate="100mbit", delay=delay, queue=queue, duration=duration, tail=tail)


def _steady(run: RunDir) -> pl.DataFrame:
    """The ACKs of the second half."""
    return run.scan("acks").filter(pl.col("time_ns") > run.description.duration_ns // 2).collect()


def _goodput_bps(acks: pl.DataFrame) -> float:
    first, last = acks.row(0, named=True), acks.row(-1, named=True)
    return float((last["bytes_acked"] - first["bytes_acked"]) * 8e9 / (last["time_ns"] - first["time_ns"]))


@pytest.mark.parametrize("buffer_bytes", [262_144, 524_288, 1_048_576])
def test_a_receive_buffer_limits_a_long_fat_path_to_its_window_in_each_round_trip(
    runs: Runs, buffer_bytes: int
) -> None:
    """Linux 6.12: a window is the part of tcp_rmem[2] that is data in full segments, in 1/256 (tcp_win_from_space(),
    tcp_measure_rcv_mss()), less the segment that is in the buffer while its ACK is made."""
    run = runs(_tuned(f'sysctl = {{ "net.ipv4.tcp_rmem" = "4096 131072 {buffer_bytes}" }}'))
    acks = _steady(run)
    window = buffer_bytes * (256 * SEGMENT_BYTES // TRUE_BYTES) // 256 - SEGMENT_BYTES
    (announced,) = set(acks["snd_wnd_bytes"])
    assert window <= announced < window + 64, "rounded up to the window's scale"
    whole_segments = announced // SEGMENT_BYTES * SEGMENT_BYTES
    assert _goodput_bps(acks) == pytest.approx(whole_segments * 8e9 / RTT_NS, rel=0.01)


def test_a_send_buffer_limits_a_long_fat_path(runs: Runs) -> None:
    """A sender without room waits until a third of its buffer is free (sk_stream_is_writeable()), so that its data
    in flight are between two thirds of what fits and all of it."""
    size = 1_048_576
    acks = _steady(runs(_tuned(f'sysctl = {{ "net.ipv4.tcp_wmem" = "4096 16384 {size}" }}')))
    fits = size / TRUE_BYTES * SEGMENT_BYTES
    assert 2 / 3 * fits < _goodput_bps(acks) * RTT_NS / 8e9 < fits
    assert acks["in_flight_pkts"].max() == pytest.approx(size / TRUE_BYTES, rel=0.05)


def test_ecn_is_spoken_where_both_ends_are_tuned(runs: Runs) -> None:
    run = runs(_tuned('nodes = ["h1", "h2"]\nsysctl = { "net.ipv4.tcp_ecn" = 1 }', delay="10ms"))
    values = run.metrics().filter(scope="flow", name="bulk")
    found = dict(values.select("metric", "value").iter_rows())
    assert found["marks"] > 0
    assert found["retransmits"] == found["drops"] == 0
    one_sided = runs(_tuned('nodes = ["h1"]\nsysctl = { "net.ipv4.tcp_ecn" = 0 }', delay="10ms"))
    assert one_sided.metrics().filter(name="bulk", metric="marks")["value"].sum() == 0


def test_without_sack_there_is_none(runs: Runs) -> None:
    """Bit 2 of tcpi_options is SACK."""
    for sysctl, agreed in (("0", False), ("1", True)):
        run = runs(_tuned(f'sysctl = {{ "net.ipv4.tcp_sack" = {sysctl} }}', delay="10ms", duration="5s"))
        options = run.scan("sockets").filter(pl.col("options").is_not_null(), state=1).collect()["options"]
        assert len(options) > 0
        assert {bool(bits & 2) for bits in options} == {agreed}


def test_a_low_notsent_lowat_keeps_what_waits_small(runs: Runs) -> None:
    waiting: dict[int, int] = {}
    for lowat in (131_072, 4_294_967_295):
        run = runs(_tuned(f'sysctl = {{ "net.ipv4.tcp_notsent_lowat" = {lowat} }}', delay="10ms"))
        sent = run.scan("sockets").filter(pl.col("time_ns") > 2 * 10**9, node="h1", state=1).collect()
        waiting[lowat] = max(sent["notsent_bytes"].to_list())
        assert _goodput_bps(_steady(run)) > 93e6
    assert waiting[131_072] <= 131_072 + 64 * 1024
    assert waiting[4_294_967_295] > 4 * waiting[131_072]


def test_fq_at_the_sender_paces(runs: Runs) -> None:
    """CUBIC asks for no pacing; where fq stands at its node's link, slow start leaves at twice the window a round trip
    (tcp_update_pacing_rate()) instead of in bursts at the link's speed."""
    gaps = {}
    for queue in ("fq", "pfifo limit 1000"):
        run = runs(_tuned(f'nodes = ["h1"]\nqueue = "{queue}"', queue="pfifo limit 10000", duration="5s"))
        assert f"root handle 10: {queue}" in " ".join(_tc_of(run, "h1"))
        left = run.scan("packets").filter(packet_bytes=FRAME_BYTES, interface_index=11, fate=0).collect()
        early = left.filter(pl.col("dequeue_ns") < 2 * 10**9)["dequeue_ns"].sort().diff().drop_nulls()
        gaps[queue] = sum(early < 2 * packet_ns(10**9)) / len(early)
    assert gaps["pfifo limit 1000"] > 0.4, "ACKs free two segments or more, which leave back to back"
    assert gaps["fq"] < 0.1


def _tc_of(run: RunDir, node: str) -> list[str]:
    return [line for link in run.lab.links for end in link.ends if end.node == node for line in end.tc]


def test_a_tuner_that_the_kernel_refuses_fails_its_runs_alone(tmp_path: Path) -> None:
    tuners = """
[tuners.unknown]
nodes = ["h2"]
sysctl = { "net.ipv4.tcp_rnem" = "4096 131072 262144" }
[tuners.refused]
sysctl = { "net.ipv4.tcp_ecn" = 77 }
[sweep]
"run.tuner" = ["default", "unknown", "refused"]
"""
    (tmp_path / "s.toml").write_text(dumbbell(duration="1s", tail=tuners))
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 3, answer.err
    assert "Traceback" not in answer.err
    assert "node h2: this kernel has no sysctl net.ipv4.tcp_rnem that a node can set" in answer.words
    assert 'node h1: sysctl net.ipv4.tcp_ecn = "77" was refused' in answer.words
    result = open_result(tmp_path / "r")
    statuses = {run.point["run.tuner"]: result.run(run.id).status()["status"] for run in result.planned}
    assert statuses == {"default": "ok", "unknown": "failed", "refused": "failed"}


def test_what_a_tuner_sets_is_part_of_a_run(runs: Runs) -> None:
    """The same run with another tuner is a different run, and its lab says what was set where."""
    run = only_run(runs.result(_tuned('nodes = ["h2"]\nsysctl = { "net.ipv4.tcp_sack" = 0 }', duration="1s")))
    nodes = json.loads((run.path / "run.json").read_text())["lab"]["nodes"]
    assert {node["name"]: "net.ipv4.tcp_sack" in node["sysctl"] for node in nodes} == {
        "h1": False,
        "r1": False,
        "h2": True,
    }


def test_the_lab_of_tuners(tmp_path: Path) -> None:
    """The whole lab, with its expectations; the view compares each tuner with the default."""
    answer = netwarp("run", "tuners", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 0, answer.err + answer.out
    table = pl.read_csv(tmp_path / "r" / "tuners" / "tuners.csv")
    assert table.group_by("metric").len()["len"].to_list() == [14] * 4
    ratios = {(row["place"][-5:], row["tuner"], row["metric"]): row["ratio"] for row in table.iter_rows(named=True)}
    assert ratios["150ms", "default", "goodput_mbps"] == 1
    assert ratios["150ms", "small-buffers", "goodput_mbps"] < 0.3
    assert ratios["150ms", "large-buffers", "goodput_mbps"] > 1.5
    assert ratios["150ms", "low-notsent", "unsent_kb_mean"] < 0.3


def test_the_view_of_tuners_needs_tuners_to_compare(tmp_path: Path) -> None:
    text = dumbbell(duration="1s").replace('name = "e2e"', 'name = "e2e"\nviews = ["tuners"]')
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r")
    assert answer.code != 0
    assert "Traceback" not in answer.err
    assert 'sweep "run.tuner"' in answer.words

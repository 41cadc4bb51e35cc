"""`media` on the real engine: what arrives when, what is late, and how an adaptive stream follows a path."""

from __future__ import annotations

import json

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from e2e_runs import Runs
from e2e_traffic import SECOND, account, datagrams_of, flow, pair, values
from netwarp.stats.e_model import mean_opinion_score, rating
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES

HEADERS = 12 + 8 + 20 + 14
"""RTP, UDP, IPv4, Ethernet."""
SPEECH = ('codec = "g711"',)
VIDEO = ('control = "gcc"', 'interval = "33333us"')


def media(*lines: str, name: str = "media", ends: tuple[str, str] = ("h1", "h2")) -> str:
    return flow(name, "media", *lines, ends=ends)


def reports(run: RunDir) -> pl.DataFrame:
    return run.scan("rate_control").collect()


def test_speech_on_an_empty_path_has_the_delay_of_the_path_and_the_score_of_its_codec(runs: Runs) -> None:
    run = runs(pair(media(*SPEECH)))
    rows, totals = datagrams_of(run, "media"), account(run, "media")
    assert rows["sent_ns"].to_list() == [20_000_000 * number for number in range(100)]
    assert set(rows["payload_bytes"]) == {160 + 12}
    assert totals["sent_pkts"] == totals["received_pkts"] == 100
    frame_ms = (160 + HEADERS) * 8 / 10e3
    assert ((rows["received_ns"] - rows["sent_ns"]) / 1e6).to_list() == pytest.approx([5 + frame_ms] * 100, abs=1e-3)
    found = values(run, "media")
    assert (found["loss_pct"], found["late_pct"], found["media_loss_pct"]) == (0, 0, 0)
    # A frame of 20 ms, the path, and 40 ms of the buffer.
    assert found["mouth_to_ear_ms_mean"] == pytest.approx(20 + 5 + frame_ms + 40, abs=1e-3)
    assert found["r_factor"] == 93.2
    assert found["mos"] == pytest.approx(4.41, abs=0.005)
    assert run.state("rate_control").name == "MISSING"


def test_a_long_path_and_losses_give_the_rating_of_the_equations(runs: Runs) -> None:
    """Every tenth packet is lost: Ppl = 10 %, in bursts of one, so that BurstR is 0.9, below its range."""
    text = pair(media('codec = "g729"'), delay="200ms", duration="10s", link='wire = "device"\nloss = "every 10"')
    found = values(runs(text), "media")
    assert found["media_loss_pct"] == pytest.approx(10, abs=0.3)
    delay_ms = 20 + 5 + 200 + (20 + HEADERS) * 8 / 10e3 + 40
    assert found["mouth_to_ear_ms_mean"] == pytest.approx(delay_ms, abs=0.01)
    loss = found["media_loss_pct"]
    r = rating(delay_ms, 11 + 84 * loss / (loss + 19))
    assert found["r_factor"] == pytest.approx(r, abs=0.01)
    assert found["mos"] == pytest.approx(mean_opinion_score(r), abs=0.001)


def test_a_game_counts_what_misses_its_deadline(runs: Runs) -> None:
    """Frames of 100 bytes in each direction, on a path whose delay rises from 20 to 60 ms for the last half."""
    both = (
        media('rate = "40kbit"', 'deadline = "50ms"', name="up")
        + media('rate = "40kbit"', 'deadline = "50ms"', name="down", ends=("h2", "h1"))
        + '[[changes]]\nlink = "wire"\nat = "990ms"\ndelay = "60ms"\n'
    )
    run = runs(pair(both, delay="20ms"))
    for name in ("up", "down"):
        rows = datagrams_of(run, name)
        late = (rows["received_ns"] - rows["sent_ns"] > 50_000_000).sum()
        assert late == 47, "those sent from 1 s on whose arrival is before the end"
        assert values(run, name)["late_pct"] == pytest.approx(100 * 47 / 97)
        assert values(run, name)["mouth_to_ear_ms_mean"] == pytest.approx(20 + 50)


def test_an_adaptive_stream_alone_reaches_its_highest_rate_and_no_queue(runs: Runs) -> None:
    run = runs(pair(media(*VIDEO, 'rate = "1mbit"', 'max_rate = "2mbit"'), duration="20s"))
    rows = reports(run)
    assert rows["target_bps"][-1] == 2_000_000
    assert rows["target_bps"].is_sorted(), "nothing lowers it"
    # 8 % a second: the last step to the bound is at ln(2) / ln(1.08) = 9.0 s, after the first report and its way.
    reached_s = rows.filter(pl.col("target_bps") == 2_000_000)["time_ns"][0] / SECOND
    assert reached_s == pytest.approx(9.0 + 0.1, abs=0.15)
    found = values(run, "media")
    assert (found["loss_pct"], found["late_pct"]) == (0, 0)
    # The path, the seven packets of a frame at 2 Mbit/s, the report, and 1/1024 s of its units.
    longest_ms = 10 + 7 * (8333 / 7 + HEADERS) * 8 / 10e3 + (14 + 20 + 8 + 120) * 8 / 10e3 + 1
    assert (rows["rtt_ns"] < longest_ms * 1e6).all()
    sent = datagrams_of(run, "media").filter(pl.col("sent_ns") > 10 * SECOND)
    media_bits = (sent["payload_bytes"] - 12).sum() * 8
    assert media_bits / 10 == pytest.approx(2e6, rel=0.005), "the frames carry the rate"


def test_the_table_of_reports_is_as_the_page_of_records_says(runs: Runs) -> None:
    run = runs(pair(media(*VIDEO), duration="5s"))
    written = pa.ipc.open_stream(pa.memory_map(str(run.path / "rate_control.arrows"))).schema
    assert written.equals(TABLES["rate_control"].schema, check_metadata=True)


def test_reports_cross_the_network_and_have_every_arrival(runs: Runs) -> None:
    run = runs(pair(media(*VIDEO), duration="5s"))
    tuples = run.scan("tuples").filter(pl.col("destination_port") == 20000).collect()
    assert len(tuples) == 1, "the reports' own five-tuple, from the receiver to the sender"
    packets = run.scan("packets").filter(pl.col("tuple_id") == tuples["tuple_id"][0]).collect()
    assert len(packets) == pytest.approx(50, abs=1), "one each 100 ms"
    # Ethernet, IPv4, UDP, and 20 bytes of RTCP with 2 for each packet of the last two intervals.
    assert (packets["packet_bytes"] >= 14 + 20 + 8 + 20 + 2 * 2).all()
    assert set(reports(run)["lost"]) == {0.0}


def test_a_link_of_1_mbit_is_used_without_a_standing_queue(runs: Runs) -> None:
    text = pair(media(*VIDEO), rate="1mbit", delay="25ms", duration="60s", queue="pfifo limit 50", tail="")
    run = runs(text.replace('duration = "60s"', 'duration = "60s"\nwarmup = "30s"'))
    found = values(run, "media")
    assert 0.75 < found["media_rate_mbps_mean"] < 1.0
    assert found["loss_pct"] == 0
    frame_ms = 1254 * 8 / 1e3
    assert found["delay_ms_p50"] < 25 + 5 * frame_ms, "a frame's own packets, and little before them"
    assert found["delay_ms_p95"] < 150
    assert 1 in set(reports(run)["usage"]), "it finds the link's rate by over-use"


def test_losses_of_a_fifth_lower_the_rate_to_its_least(runs: Runs) -> None:
    """The loss-based controller alone: (1 − 0.5 × 0.2) at each report, from 1 Mbit/s to 100 kbit/s."""
    text = pair(
        media(*VIDEO, 'rate = "1mbit"'), duration="10s", rate="100mbit", link='wire = "device"\nloss = "every 5"'
    )
    rows = reports(runs(text))
    assert rows["lost"].mean() == pytest.approx(0.2, abs=0.05)
    assert rows["target_bps"][-1] < 120_000


def test_a_pause_ends_frames_and_reports_and_keeps_the_rate(runs: Runs) -> None:
    changes = "".join(
        f'[[changes]]\nflow = "media"\nat = "{at}s"\nactive = {active}\n' for at, active in ((4, 0), (8, 1))
    )
    run = runs(pair(media(*VIDEO) + changes, duration="12s"))
    sent, rows = datagrams_of(run, "media")["sent_ns"] / SECOND, reports(run)
    assert sent.is_between(4.0, 7.99).sum() == 0
    assert sent.filter(sent > 5).min() == pytest.approx(8.0, abs=0.034)
    assert rows.filter(pl.col("time_ns").is_between(int(4.3 * SECOND), 8 * SECOND)).is_empty()
    before = rows.filter(pl.col("time_ns") < 5 * SECOND)["target_bps"][-1]
    after = rows.filter(pl.col("time_ns") > 5 * SECOND)["target_bps"]
    assert before <= after[0] <= 1.1 * before
    assert after[-1] > 1.2 * before, "it goes on as before"


def test_the_same_seed_gives_the_same_bytes(runs: Runs) -> None:
    text = pair(media(*VIDEO) + flow("tcp", "bulk"), rate="2mbit", duration="6s")
    one, other = runs(text), runs(text + "# again\n")
    for table in ("rate_control", "datagrams", "packets", "flows", "tuples"):
        assert (one.path / f"{table}.arrows").read_bytes() == (other.path / f"{table}.arrows").read_bytes()


def test_a_call_that_loses_more_than_the_model_allows_says_so(runs: Runs) -> None:
    """Each third packet is lost; each sixth is within the range of the E-model."""
    run = runs(pair(media(*SPEECH), link='wire = "device"\nloss = "every 3"'))
    assert values(run, "media")["media_loss_pct"] == pytest.approx(100 / 3, abs=0.5)
    assert not {"mos", "r_factor"} & values(run, "media").keys()
    (note,) = json.loads((run.path / "status.json").read_text())["notes"]
    assert note.startswith("flow media has no R and MOS: 33.") and "up to 20 % (docs/media.md)" in note
    within = runs(pair(media(*SPEECH), link='wire = "device"\nloss = "every 6"'))
    assert 1 < values(within, "media")["mos"] < 4
    assert "notes" not in json.loads((within.path / "status.json").read_text())


def test_a_group_is_one_row_and_its_flows_share(runs: Runs) -> None:
    run = runs(pair(media(*SPEECH, "count = 3"), rate="1mbit"))
    names = set(run.metrics().filter(scope="flow", metric="mos")["name"])
    assert names == {"media", "media.0", "media.1", "media.2"}
    assert values(run, "media")["mos"] == pytest.approx(4.41, abs=0.005)


def test_the_index_of_media_is_that_of_what_adaptive_streams_delivered(runs: Runs) -> None:
    """Jain's formula on the datagrams of two streams; speech, which is constant, does not count."""
    streams = ("slow", "fast")
    rates = {"slow": "400kbit", "fast": "1200kbit"}
    flows = "".join(
        media(*VIDEO, f'rate = "{rates[name]}"', f'max_rate = "{rates[name]}"', name=name) for name in streams
    )
    run = runs(pair(flows + media(*SPEECH, name="speech"), duration="10s"))
    sums = [int(datagrams_of(run, name)["payload_bytes"].sum()) for name in streams]
    wanted = sum(sums) ** 2 / 2 / sum(one**2 for one in sums)
    assert wanted == pytest.approx((0.4 + 1.2) ** 2 / 2 / (0.4**2 + 1.2**2), rel=0.03)
    assert values(run, "", "run")["jain_media_index"] == pytest.approx(wanted, rel=1e-3)

"""The teaching labs: each whole scenario as it is shipped, and what its page claims, from the records."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import netwarp
from netwarp.analysis.monitor import METRICS
from netwarp.scenario import shipped_scenarios
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir
from netwarp.store.socket_columns import SOCKET_COLUMNS

PURGED = 91
"""skb drop reason `queue_purge`: a queue that was reset (docs/records.md)."""


def lab(name: str, place: Path, *arguments: str) -> ResultDir:
    """The whole shipped scenario; all that it expects must hold."""
    done = netwarp("run", name, "-o", place, "--no-plots", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return open_result(place)


def named(result: ResultDir, case: str) -> RunDir:
    return result.run(next(run.id for run in result.planned if run.point["case"] == case))


@pytest.fixture(scope="module")
def mitigate(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("mitigate", tmp_path_factory.mktemp("mitigate") / "r")


DISCIPLINES = ["tail drop", "RED", "CoDel", "PIE", "fq_codel", "CAKE"]
CHANGES = [(10, 10e6), (20, 1e6), (30, 50e6), (40, 1e6), (50, 100e6)]


@pytest.mark.parametrize("case", DISCIPLINES)
@pytest.mark.parametrize(("at_s", "rate_bps"), CHANGES)
def test_a_change_of_rate_leaves_the_queue_as_it_is(mitigate: ResultDir, case: str, at_s: int, rate_bps: float) -> None:
    """What waits at the change goes on waiting: nothing is purged, the length does not jump, the new pace holds."""
    run = named(mitigate, case)
    (bottleneck,) = (end for end in run.description.ends if end.name == "bottleneck:r1")
    packets = run.scan("packets").filter(interface_index=bottleneck.interface_index).collect()
    at = at_s * 10**9
    assert not (packets["drop_reason"] == PURGED).any()
    left = pl.min_horizontal("dequeue_ns", "drop_ns")
    waiting = packets.filter(pl.col("enqueue_ns") < at, left.is_null() | (left > at))
    # Nothing of it is lost at that moment: who is dropped is dropped later, when CoDel's law or PIE's has come to that.
    assert waiting.filter(pl.col("drop_ns") <= at + 10**6).height == 0
    lengths = packets.filter(pl.col("enqueue_ns") >= at).sort("enqueue_ns")
    first = lengths.row(0, named=True)
    gone = waiting.filter(left < first["enqueue_ns"]).height
    others = lengths.filter(pl.col("enqueue_ns") == first["enqueue_ns"]).height
    assert waiting.height - gone < first["length_pkts"] + others
    assert first["length_pkts"] <= waiting.height - gone + others
    if case == "tail drop":
        assert waiting["fate"].to_list() == [0] * waiting.height, "it drops on arrival alone, and keeps what it has"
        assert waiting.sort("enqueue_ns")["dequeue_ns"].is_sorted()
        sent = waiting.sort("dequeue_ns").filter(pl.col("packet_bytes") == 1514)["dequeue_ns"]
        gaps = sent.diff().drop_nulls()[1:20]
        assert gaps.len() > 10
        frame_ns = 1514 * 8e9 / rate_bps
        assert gaps.min() == pytest.approx(frame_ns, rel=1e-3), "the gap of a full frame at the new rate"


def test_what_tail_drop_costs_and_what_short_queues_cost(mitigate: ResultDir) -> None:
    """The page's numbers: nothing delivered for seconds; idle seconds after a rise."""
    metrics = mitigate.summary().filter(scope="flow", name="bulk", metric="goodput_mbps")
    goodput = dict(metrics.select("case", "value").iter_rows())
    assert goodput["tail drop"] > 1.15 * max(goodput[case] for case in DISCIPLINES[1:])
    acks = named(mitigate, "tail drop").scan("acks").select("time_ns", "bytes_acked").collect().sort("time_ns")
    grown = acks.with_columns(second=pl.col("time_ns") // 10**9).group_by("second").agg(pl.col("bytes_acked").max())
    stalled = grown.sort("second").with_columns(gain=pl.col("bytes_acked").diff()).filter(gain=0)
    assert stalled.height >= 2, "the retransmission waits behind 1000 packets"


@pytest.fixture(scope="module")
def fight(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("tcp-vs-udp", tmp_path_factory.mktemp("fight") / "r")


def test_tcp_alone_is_at_the_rate_in_its_third_second(fight: ResultDir) -> None:
    for run in (run for run in fight.planned if run.point["case"] == "TCP alone"):
        acks = fight.run(run.id).scan("acks").select("time_ns", "bytes_acked").collect().sort("time_ns")
        steady = acks.filter(pl.col("time_ns").is_between(3 * 10**9, 19 * 10**9))
        seconds = (steady["time_ns"][-1] - steady["time_ns"][0]) / 1e9
        assert (steady["bytes_acked"][-1] - steady["bytes_acked"][0]) * 8 / seconds / 1e6 == pytest.approx(
            9.56, rel=0.01
        )
        assert json.loads((fight.run(run.id).path / "run.json").read_text())["lab"]["flows"][-1]["name"] == "tcp"


def test_flow_queues_give_tcp_its_half_in_the_end(fight: ResultDir) -> None:
    """What TCP gets in the last five seconds: its half of the link with a queue for each flow, a scrap without."""
    shares = {}
    for run in (run for run in fight.planned if run.point["case"] == "TCP and UDP"):
        acks = fight.run(run.id).scan("acks").select("time_ns", "bytes_acked").collect().sort("time_ns")
        late = acks.filter(pl.col("time_ns") >= 15 * 10**9)["bytes_acked"]
        shares[run.point["links.bottleneck.queue"].split()[0]] = (late[-1] - late[0]) * 8 / 5 / 1e6
    for queue in ("fq_codel", "cake"):
        assert shares[queue] > 4
    for queue in ("pfifo", "red", "codel", "pie"):
        assert shares[queue] < 2.8


@pytest.fixture(scope="module")
def differential(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("differential", tmp_path_factory.mktemp("differential") / "r")


def test_the_monitor_against_the_baseline(differential: ResultDir) -> None:
    """The table agrees with what the ACKs' own records say, and with arithmetic."""
    table = pl.read_csv(differential.path / "connection-monitor" / "differences.csv")
    assert table.height == 13 * len(METRICS)
    assert set(table["status"]) == {"ok"}
    rtt = {row["case"]: row for row in table.filter(metric="rtt_us").iter_rows(named=True)}
    exact = differential.summary().filter(scope="flow", name="tcp", metric="srtt_ms_mean")
    for case, value in exact.select("case", "value").iter_rows():
        assert rtt[case]["value"] == pytest.approx(1000 * value, rel=0.02), "samples every 200 ms beside every ACK"
    assert rtt["baseline"]["difference_pct"] == 0
    usual = rtt["baseline"]["value"]
    assert rtt["delay-h1 200"]["baseline"] == usual
    assert rtt["delay-h1 200"]["difference_pct"] == pytest.approx(100 * (rtt["delay-h1 200"]["value"] / usual - 1))
    assert dict(table.select("metric", "unit").unique().iter_rows()) == {
        column.name: column.unit for column in SOCKET_COLUMNS if column.name in {m.column for m in METRICS}
    }
    sent = dict(table.filter(metric="bytes_sent").select("case", "value").iter_rows())
    accounts = named(differential, "bw-h1 5").scan("flows").filter(name="tcp").collect()
    assert sent["bw-h1 5"] == pytest.approx(accounts["sent_bytes"][0], rel=0.02)


def test_a_run_that_moved_no_data_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """The case that silently sent nothing, made on purpose: nothing gets through h1's link."""
    text = shipped_scenarios()["differential"].read_text()
    dead = text.replace('set = { "links.h1.rate" = "40mbit" }', 'set = { "links.h1.loss" = "100%" }')
    dead = dead.replace('name = "differential"', 'name = "dead"').replace('duration = "60s"', 'duration = "5s"')
    (tmp_path / "dead.toml").write_text(dead[: dead.index("[[expect]]")])
    cases = [word for case in ("baseline", "bw-h1 20", "bw-h1 40") for word in ("--case", case)]
    done = netwarp("run", tmp_path / "dead.toml", "-o", tmp_path / "r", *cases)
    assert done.returncode == 3
    assert "flow tcp" in done.stderr
    table = pl.read_csv(tmp_path / "r" / "connection-monitor" / "differences.csv")
    (row,) = table.filter(case="bw-h1 40").iter_rows(named=True)
    assert (row["status"], row["value"], row["baseline"]) == ("failed", None, None)
    assert "flow tcp" in row["reason"]
    stems = {path.stem for path in (tmp_path / "r" / "plots").glob("monitor-*.svg")}
    assert {stem.partition("--")[2] for stem in stems} == {"links.h1.rate"}, "the dead run had the other group alone"
    svg = (tmp_path / "r" / "plots" / "monitor-rtt-tcp--links.h1.rate.svg").read_text()
    for words in ("10mbit (baseline)", "20mbit", "smoothed RTT (ms)", "1 failed run left out", "sampled each 200 ms"):
        assert words in svg

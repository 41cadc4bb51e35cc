"""Metrics of whole synthetic runs compared with calculated values."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.flow.latency import Pings, ping_jitter_ms, ping_losses, pings_in
from netwarp.analysis.flow.loss_correlation import mean_correlation
from netwarp.analysis.queue.throughput import loss_pct, utilisation
from netwarp.analysis.run.metrics import analyse_run
from netwarp.analysis.run.series import cwnd, ping_rtts, queue_length, rtt, throughput, whole_run
from netwarp.analysis.run.validity import check_run
from netwarp.cli.tables import MAX_RUNS, metrics_table
from netwarp.stats.fairness import jain_index, largest_to_smallest
from netwarp.stats.weighting import Window, percentile
from netwarp.store.description import End
from netwarp.store.result import open_result
from netwarp.store.rundir import open_run
from rich.console import Console
from synthetic import (
    BASE_RTT_NS,
    MSS_BYTES,
    SECOND,
    SERVICE_NS,
    lab,
    write_description,
    write_result,
    write_run,
    write_table,
)


def values(frame: pl.DataFrame, scope: str, name: str) -> dict[str, float]:
    found = frame.filter(scope=scope, name=name)
    return dict(zip(found["metric"], found["value"], strict=True))


def test_an_exact_run(tmp_path: Path) -> None:
    trace = write_run(tmp_path, limit=40, seconds=5)
    frame = analyse_run(tmp_path)
    assert frame.columns == ["scope", "name", "metric", "value"]
    assert frame["value"].null_count() == 0
    flow, queue = values(frame, "flow", "bulk"), values(frame, "queue", "bottleneck:r1")
    last = trace.acks[-1]
    assert flow["goodput_mbps"] == pytest.approx(last["bytes_acked"] * 8 / 5 / 1e6)
    assert flow["retransmits"] == last["retransmits"] > 0
    assert flow["rtt_ms_max"] == max(a["rtt_us"] for a in trace.acks) / 1e3
    assert flow["rtt_ms_p50"] <= flow["rtt_ms_p95"] <= flow["rtt_ms_p99"] <= flow["rtt_ms_max"]
    assert {"loss_pct", "jitter_ms_mean"}.isdisjoint(flow)
    assert queue["length_pkts_max"] == 40
    assert queue["drops"] == sum(p["fate"] == 1 for p in trace.packets)
    assert queue["marks"] == 0
    sojourns = [p["dequeue_ns"] - p["enqueue_ns"] for p in trace.packets if p["fate"] == 0]
    assert queue["sojourn_ms_mean"] == pytest.approx(np.mean(sojourns) / 1e6)
    assert queue["sojourn_ms_p95"] == percentile(np.array(sojourns) / 1e6, 95)
    sent = len(sojourns) * 1514 * 8
    assert values(frame, "link", "bottleneck:r1") == {"utilisation": pytest.approx(sent / 5e7)}
    assert frame.filter(metric="jain_index").is_empty()


@pytest.mark.parametrize("limit", [40, 100])
@pytest.mark.slow
def test_the_valley_of_a_sawtooth(tmp_path: Path, limit: int) -> None:
    """A window that shrinks to 0.7 leaves 0.7 (B + P) − P in a queue of B packets on a path that holds P."""
    write_run(tmp_path, limit=limit, seconds=20, warmup_ns=5 * SECOND)
    frame = analyse_run(tmp_path)
    path_pkts = BASE_RTT_NS / SERVICE_NS
    valley = 0.7 * (limit + path_pkts) - path_pkts
    assert values(frame, "queue", "bottleneck:r1")["length_pkts_min"] == pytest.approx(valley, abs=2)
    assert values(frame, "queue", "bottleneck:r1")["length_pkts_max"] == limit


def test_littles_law(tmp_path: Path) -> None:
    """Mean length × time is the time that packets spent in the queue (J. Little, 1961), to the nanosecond."""
    trace = write_run(tmp_path, limit=40, seconds=5)
    spent = sum(
        (p["dequeue_ns"] if p["fate"] == 0 else 5 * SECOND) - p["enqueue_ns"] for p in trace.packets if p["fate"] != 1
    )
    mean = values(analyse_run(tmp_path), "queue", "bottleneck:r1")["length_pkts_mean"]
    assert mean * 5 * SECOND == pytest.approx(spent, rel=1e-9)


def test_the_window_leaves_out_the_warm_up(tmp_path: Path) -> None:
    trace = write_run(tmp_path, limit=40, seconds=5, warmup_ns=2 * SECOND)
    frame = analyse_run(tmp_path)
    before = [a for a in trace.acks if a["time_ns"] <= 2 * SECOND][-1]
    last = trace.acks[-1]
    flow = values(frame, "flow", "bulk")
    assert flow["goodput_mbps"] == pytest.approx((last["bytes_acked"] - before["bytes_acked"]) * 8 / 3 / 1e6)
    assert flow["retransmits"] == last["retransmits"] - before["retransmits"]
    dropped = sum(p["fate"] == 1 and p["drop_ns"] >= 2 * SECOND for p in trace.packets)
    assert values(frame, "queue", "bottleneck:r1")["drops"] == dropped


def test_several_flows(tmp_path: Path) -> None:
    write_run(tmp_path, seconds=5, flows=3)
    frame = analyse_run(tmp_path)
    each = [values(frame, "flow", f"bulk.{i}") for i in range(3)]
    together = values(frame, "flow", "bulk")
    assert together["goodput_mbps"] == pytest.approx(sum(e["goodput_mbps"] for e in each))
    assert together["retransmits"] == sum(e["retransmits"] for e in each)
    assert together["rtt_ms_max"] == max(e["rtt_ms_max"] for e in each)
    goodputs = [e["goodput_mbps"] for e in each]
    wanted = sum(goodputs) ** 2 / 3 / sum(g * g for g in goodputs)
    over = values(frame, "run", "")
    assert over["jain_index"] == pytest.approx(wanted)
    assert over["goodput_ratio"] == pytest.approx(max(goodputs) / min(goodputs))
    assert 1 / 3 <= over["jain_index_1s_p5"] <= over["jain_index_1s_mean"] <= 1
    assert sum(e["share_pct"] for e in each) == pytest.approx(100)


def test_without_exact_records(tmp_path: Path) -> None:
    exact, sampled = tmp_path / "exact", tmp_path / "sampled"
    write_run(exact, seconds=5)
    write_run(sampled, seconds=5, exact=False)
    truth, frame = analyse_run(exact), analyse_run(sampled)
    flow = values(frame, "flow", "bulk")
    assert set(flow) == {"goodput_mbps", "srtt_ms_mean", "retransmits", "cwnd_pkts_mean"}
    for metric, value in flow.items():
        assert value == pytest.approx(values(truth, "flow", "bulk")[metric], rel=0.05)
    queue = values(frame, "queue", "bottleneck:r1")
    assert set(queue) == {"length_pkts_min", "length_pkts_mean", "length_pkts_max", "drops"}
    assert queue["length_pkts_mean"] == pytest.approx(
        values(truth, "queue", "bottleneck:r1")["length_pkts_mean"], rel=0.05
    )
    assert values(frame, "link", "bottleneck:r1")["utilisation"] == pytest.approx(1, abs=0.05)


def test_a_run_without_records_says_nothing(tmp_path: Path) -> None:
    write_description(tmp_path, lab(5, 2))
    assert analyse_run(tmp_path).is_empty()


def test_pings(tmp_path: Path) -> None:
    sent = np.arange(5, dtype=np.int64) * 100_000_000
    pings = Pings(sent, np.array([10.0, np.nan, 14.0, 11.0, np.nan]))
    window = Window(0, 405_000_000)
    assert ping_losses(pings, window) == (1, 4), "the last request was cut off, not lost"
    assert ping_jitter_ms(pings) == pytest.approx((4 + 3) / 2)
    assert ping_losses(pings, Window(-2, -1)) == (0, 0)
    assert len(pings_in(pings, Window(100_000_000, 300_000_000)).sent_ns) == 3


def test_replies_of_the_last_longest_rtt_do_not_hide_losses() -> None:
    """Every second request is lost, and one reply took 300 ms: in the last 300 ms neither replies nor losses count."""
    sent = np.arange(10, dtype=np.int64) * 100_000_000
    rtts = np.where(np.arange(10) % 2 == 0, 10.0, np.nan)
    rtts[0] = 300.0
    assert ping_losses(Pings(sent, rtts), Window(0, 1_000_000_000)) == (4, 8)


def test_formulas() -> None:
    assert jain_index([1, 1, 1, 1]) == 1
    assert jain_index([1, 0, 0, 0]) == 0.25
    assert jain_index([5]) is None
    assert jain_index([0, 0]) is None
    assert largest_to_smallest([2, 8, 4]) == 4
    assert largest_to_smallest([5]) is None
    assert largest_to_smallest([5, 0]) is None
    assert loss_pct(200, 150) == 25
    assert loss_pct(0, 0) is None
    rates = ((-(2**62), 8_000_000), (SECOND, 80_000_000))
    assert utilisation(11_000_000, 1, End("l:a", "l", "a", 1, rates), Window(0, 2 * SECOND)) == 1.0


def test_a_datagram_flow_has_its_own_account(tmp_path: Path) -> None:
    flow = lab(10, 1)["flows"][0] | {"tool": "cbr", "name": "udp", "group": "udp"}
    write_description(tmp_path, lab(10, 1) | {"flows": [flow]})
    account = {"name": "udp", "tool": "cbr", "end_ns": 10 * SECOND, "sent_bytes": 2000, "received_bytes": 1_000_000}
    write_table(tmp_path, "flows", [account | {"sent_pkts": 4, "received_pkts": 3, "jitter_us": 1500.0}])
    wanted = {"goodput_mbps": 0.8, "loss_pct": 25.0, "jitter_ms_mean": 1.5}
    assert values(analyse_run(tmp_path), "flow", "udp") == wanted


def test_series(tmp_path: Path) -> None:
    trace = write_run(tmp_path, seconds=5)
    run = open_run(tmp_path)
    bulk, ping = load_flows(run)
    assert cwnd(bulk).height == rtt(bulk).height == len(trace.acks)
    assert rtt(ping).height == 50
    end = next(e for e in run.description.ends if e.name == "bottleneck:r1")
    assert queue_length(run, end)["length_pkts"].max() == 40
    per_second = throughput([bulk], whole_run(run))
    assert per_second["time_s"].to_list() == [0.5, 1.5, 2.5, 3.5, 4.5]
    total = float(per_second["throughput_mbps"].to_numpy().sum()) * 1e6 / 8 / MSS_BYTES
    assert total == pytest.approx(trace.acks[-1]["bytes_acked"] / MSS_BYTES)


def account(**facts: object) -> dict[str, object]:
    given = {"flow_id": 0, "name": "bulk", "tool": "bulk", "connect_ns": 1, "sent_bytes": 9, "received_bytes": 9}
    return given | {"busy_us": 1000, "rwnd_limited_us": 0, "sndbuf_limited_us": 0} | facts


@pytest.mark.parametrize(
    ("facts", "status", "reason"),
    [
        ({}, "ok", None),
        ({"received_bytes": 0}, "failed", "flow bulk delivered nothing"),
        ({"sent_bytes": 0}, "failed", "flow bulk sent nothing"),
        ({"connect_ns": None}, "failed", "flow bulk never connected"),
        ({"error": "connection refused"}, "failed", "flow bulk: connection refused"),
        ({"flow_id": 7}, "failed", "flow bulk left no record of its totals"),
        ({"rwnd_limited_us": 50}, "ok", None),
        (
            {"rwnd_limited_us": 60},
            "suspect",
            "flow bulk was limited by the receiver's window for 6% of its busy time, not by the network",
        ),
        (
            {"sndbuf_limited_us": 900},
            "suspect",
            "flow bulk was limited by the send buffer for 90% of its busy time, not by the network",
        ),
    ],
)
def test_validity(tmp_path: Path, facts: dict[str, object], status: str, reason: str | None) -> None:
    only_bulk = lab(5, 1) | {"flows": lab(5, 1)["flows"][:1]}
    write_description(tmp_path, only_bulk)
    write_table(tmp_path, "flows", [account(**facts)])
    verdict = check_run(tmp_path)
    assert (verdict.status, verdict.reason) == (status, reason)


def test_validity_of_pings_and_of_broken_tables(tmp_path: Path) -> None:
    write_run(tmp_path, seconds=1)
    assert check_run(tmp_path).status == "ok"
    write_table(tmp_path, "pings", [{"flow_id": 100}])
    assert check_run(tmp_path).reason == "flow ping got no reply"
    acks = tmp_path / "acks.arrows"
    acks.write_bytes(acks.read_bytes()[:-100])
    assert check_run(tmp_path).reasons[0] == "acks.arrows ends early: the run died while it was written"


def test_the_table_of_a_result(tmp_path: Path) -> None:
    write_result(tmp_path, (20, 100), seconds=2)
    result = open_result(tmp_path)
    console = Console(width=140)
    with console.capture() as capture:
        console.print(metrics_table(result.summary(), result.axes))
    text = capture.get()
    assert "bottleneck queue" in text
    assert text.index("pfifo limit 20") < text.index("pfifo limit 100")
    assert "goodput" in text


def test_a_table_ends_where_nobody_reads_on() -> None:
    rows = [{"run_id": f"{n:05}", "seed": 1, "status": "ok", "x": n, "scope": "flow", "name": "a"} for n in range(5000)]
    summary = pl.DataFrame(rows).with_columns(metric=pl.lit("goodput_mbps"), value=pl.lit(1.0))
    table = metrics_table(summary, ["x"])
    assert table.row_count == MAX_RUNS
    assert str(table.caption) == f"… and {5000 - MAX_RUNS} more runs: see summary.csv"


def _queue_rows(*values: tuple[str, str, str, float]) -> pl.DataFrame:
    """A summary of one run: scope, name, metric, value."""
    rows = [dict(zip(("scope", "name", "metric", "value"), row, strict=True)) for row in values]
    return pl.DataFrame(rows).with_columns(run_id=pl.lit("r"), seed=1, status=pl.lit("ok"))


LONG = (("queue", "access:h1", "length_pkts_mean", 900.0), ("queue", "access:h1", "drops", 0.0))
SHORT = ("queue", "bottleneck:r1", "length_pkts_mean", 0.5)


@pytest.mark.parametrize(
    ("rows", "queue"),
    [
        ((*LONG, SHORT, ("queue", "bottleneck:r1", "drops", 16.0)), "bottleneck:r1"),
        ((*LONG, SHORT, ("queue", "bottleneck:r1", "marks", 3.0)), "bottleneck:r1"),
        ((*LONG, SHORT, ("queue", "bottleneck:r1", "drops", 0.0)), "access:h1"),
    ],
)
def test_the_table_names_the_queue_that_drops_or_marks_else_the_longest(rows: Any, queue: str) -> None:
    table = metrics_table(_queue_rows(("flow", "bulk", "goodput_mbps", 9.5), *rows), [])
    assert str(table.caption) == f"queue mean packets, drops: at {queue}"
    (drops,) = ([str(cell) for cell in column.cells] for column in table.columns if column.header == "drops")
    wanted = {name: value for _, name, metric, value in rows if metric == "drops"}
    assert drops == [f"{wanted[queue]:.0f}" if queue in wanted else "–"]


def test_the_table_says_what_was_dropped_elsewhere() -> None:
    places = (("place", "h2 closed port", "drops", 4.0), ("place", "bottleneck:r1 egress filter", "drops", 301.0))
    table = metrics_table(_queue_rows(("flow", "bulk", "goodput_mbps", 9.5), *LONG, *places), [])
    assert [str(cell) for cell in table.columns[-1].cells] == ["301 bottleneck:r1 egress filter\n4 h2 closed port"]


def test_a_ping_stands_where_its_reply_came() -> None:
    """A rate falls at 10 s: a datagram sent at 9.9 s takes 8 s, and is not late before 17.9 s; the third was lost."""
    pings = Pings(np.array([9.8e9, 9.9e9, 10.0e9, 10.1e9]), np.array([20.0, 8000.0, np.nan, 8100.0]))
    found = ping_rtts(pings)
    assert found["time_s"].to_list() == pytest.approx([9.82, 17.9, 17.9, 18.2])
    assert found["rtt_ms"].to_list()[:2] == [20.0, 8000.0]
    assert math.isnan(found["rtt_ms"][2])
    swapped = ping_rtts(Pings(np.array([0.0, 1e9]), np.array([3000.0, 500.0])))
    assert swapped["time_s"].to_list() == pytest.approx([1.5, 3.0]), "in order of time"


def test_losses_together_and_apart() -> None:
    """The mean over pairs is that of numpy's correlation matrix; rows without variation have none."""
    drawn = np.random.default_rng(1).random((5, 4000)) < 0.2
    pairs = [float(np.corrcoef(drawn[a], drawn[b]).item(1)) for a in range(5) for b in range(a)]
    assert mean_correlation(drawn) == pytest.approx(np.mean(pairs))
    assert mean_correlation(np.repeat(drawn[:1], 4, axis=0)) == pytest.approx(1)
    assert mean_correlation(np.array([drawn[0], ~drawn[0]])) == pytest.approx(-1)
    assert mean_correlation(np.array([drawn[0], np.zeros(4000, dtype=np.bool_)])) is None

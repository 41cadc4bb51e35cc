"""Metrics of sharing, of load and of harm on flows and summaries with known answers."""

import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.flow.deliveries import Deliveries, of_sender
from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.flow.latency import Pings, increase_metrics, power
from netwarp.analysis.flow.latency_under_load import load_metrics, trimmed_mean
from netwarp.analysis.flow.senders import Sender
from netwarp.analysis.flow.sharing import flow_progress, jain_over_time, sharing_metrics
from netwarp.analysis.metric import Metric
from netwarp.analysis.queue.queue_transit import Transits
from netwarp.analysis.queue.queues import Packets, QueueTally
from netwarp.analysis.queue.throughput import capacity_bits, capacity_until
from netwarp.analysis.run.series import throughput
from netwarp.analysis.summary.harm import harm, with_harm
from netwarp.stats.weighting import TimeWeighted, Window
from netwarp.store.description import Description, End, Flow

SECOND = 10**9
PAYLOAD = 1448 / 1514
RATE_BPS = 10_000_000


def flow(number: int, name: str, tool: str = "bulk", start_s: float = 0, end_s: float = 20) -> Flow:
    start, length = round(start_s * SECOND), round((end_s - start_s) * SECOND)
    return Flow(number, name, name.split(".", maxsplit=1)[0], tool, "10.0.0.1", 1, "10.0.1.2", 2, start, length)


def sending(about: Flow, rates: list[tuple[float, float]], run_s: float = 20) -> FlowData:
    """A flow that has (from s, Mbit/s of payload) acknowledged, every 10 ms, through the queue of interface 13."""
    end = (about.start_ns + about.duration_ns) / SECOND
    times = np.arange(about.start_ns // 10**7, round(end * 100) + 1, dtype=np.int64) * 10**7
    starts, speeds = np.array([s for s, _ in rates]), np.array([r for _, r in rates])
    speed = speeds[np.searchsorted(starts, times[:-1] / SECOND + 1e-6, side="right") - 1]
    acked = np.concatenate([[0.0], np.cumsum(speed * 1e6 / 8 / 100)])
    zeros = np.zeros(len(times))
    sender = Sender(times, acked.astype(np.int64), zeros, zeros, zeros.astype(np.int64), times, zeros + 20, False, 1448)
    window = Window(about.start_ns, about.start_ns + about.duration_ns)
    transits = Transits(0, 0, {13: TimeWeighted(np.full(1, 5.0), np.ones(1, np.int64))})
    return FlowData(
        about,
        window,
        True,
        sender,
        None,
        {},
        transits=transits,
        run_end_ns=round(run_s * SECOND),
        deliveries=of_sender(sender),
    )


def described(flows: list[FlowData], rates: tuple[tuple[int, int], ...] = ((-(2**62), RATE_BPS),)) -> Description:
    ends = (End("bottleneck:r1", "bottleneck", "r1", 13, rates),)
    return Description("x", 1, "", {}, 0, 20 * SECOND, 0, tuple(data.flow for data in flows), ends)


def found(metrics: list[Metric], name: str) -> dict[str, float]:
    return {metric.metric: metric.value for metric in metrics if metric.name == name}


def sharing(flows: list[FlowData], rates: tuple[tuple[int, int], ...] = ((-(2**62), RATE_BPS),)) -> list[Metric]:
    return list(sharing_metrics(described(flows, rates), flows))


def test_fair_shares_follow_the_rate_and_who_is_there() -> None:
    """10 Mbit/s until 10 s, then 20; alone until 5 s, then two flows: the payload of each, by the second."""
    one = sending(flow(0, "one"), [(0, 1.0)])
    two = sending(flow(1, "two", start_s=5), [(5, 1.0)])
    progress = flow_progress(described([one, two], ((-(2**62), RATE_BPS), (10 * SECOND, 2 * RATE_BPS))), [one, two])
    fair = progress[0].fair_bytes[::50] * 8 / 1e6 / PAYLOAD
    assert fair[[5, 10, 20]] == pytest.approx([50, 75, 175])
    assert progress[1].fair_bytes[-1] * 8 / 1e6 / PAYLOAD == pytest.approx(125)
    assert progress[1].delivered_bytes[-1] * 8 / 1e6 == pytest.approx(15, rel=1e-3)


def test_start_up_and_convergence_of_a_ramp() -> None:
    """Half of its fair share for 3 s, 80 % for 2 s, then all: within 25 % from 3 s on, at 90 % from 5 s on."""
    full = 10 * PAYLOAD
    data = sending(flow(0, "bulk"), [(0, full / 2), (3, 0.8 * full), (5, full)])
    metrics = found(sharing([data]), "bulk")
    assert metrics["startup_ms"] == pytest.approx(4900, abs=30), "half of the first 200 ms that reach 90 % on average"
    assert metrics["converged"] == 1
    assert metrics["convergence_s"] == pytest.approx(3 - 1 / 6, abs=0.03), (
        "the second that has 75 % begins 1/6 s before"
    )
    assert "share_pct" not in metrics, "alone, everything is its own"


def test_a_flow_that_never_converges() -> None:
    full = 10 * PAYLOAD
    data = sending(flow(0, "bulk"), [(t, full * (0.5 if t % 4 else 1.0)) for t in range(0, 20, 2)])
    metrics = found(sharing([data]), "bulk")
    assert metrics["converged"] == 0
    assert "convergence_s" not in metrics
    short = sending(flow(0, "bulk", end_s=4), [(0, full)])
    assert "converged" not in found(sharing([short]), "bulk"), "4 s say nothing of 5"


def test_a_life_of_a_day_takes_little_memory() -> None:
    """4.3 million steps: half of its fair share for 3 h, then all; less than five columns of them are in memory."""
    steps, half = 86400 * 50, 3 * 3600 * 50
    times = np.arange(1, steps + 1, dtype=np.int64) * (SECOND // 50)
    full = RATE_BPS / 8 / 50 * PAYLOAD
    total = np.cumsum(np.where(np.arange(steps) < half, full / 2, full)).astype(np.int64)
    data = sending(flow(0, "bulk", end_s=1), [(0, 1.0)])
    data = replace(data, window=Window(0, 86400 * SECOND), deliveries=Deliveries(times, total))
    tracemalloc.start()
    try:
        metrics = found(sharing([data]), "bulk")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert metrics["startup_ms"] == pytest.approx(3 * 3600e3 - 40, abs=21)
    assert metrics["convergence_s"] == pytest.approx(3 * 3600 - 0.5, abs=0.021)
    assert metrics["stability_pct"] == pytest.approx(0, abs=0.2)
    assert peak_bytes < 5 * 8 * steps


def test_stability_is_the_spread_about_the_fair_share() -> None:
    full = 10 * PAYLOAD
    data = sending(flow(0, "bulk"), [(t, full * (0.9 if t % 2 else 1.1)) for t in range(20)])
    assert found(sharing([data]), "bulk")["stability_pct"] == pytest.approx(10, abs=0.2)


def test_shares_and_groups() -> None:
    flows = [sending(flow(i, f"bulk.{i}"), [(0, rate)]) for i, rate in enumerate((1.0, 2.0))]
    flows.append(sending(flow(2, "other"), [(0, 5.0)]))
    metrics = sharing(flows)
    assert found(metrics, "bulk.0")["share_pct"] == pytest.approx(12.5, rel=1e-3)
    assert found(metrics, "bulk")["share_pct"] == pytest.approx(37.5, rel=1e-3)
    assert found(metrics, "bulk")["converged"] == 0
    assert found(metrics, "other")["converged"] == 0
    jain = found(metrics, "")
    assert jain["jain_index_1s_mean"] == pytest.approx(64 / 3 / 30, rel=1e-3)


def test_jain_over_time_counts_who_is_active_throughout() -> None:
    one = sending(flow(0, "one"), [(0, 4.0), (10, 3.0)])
    two = sending(flow(1, "two", start_s=5, end_s=15), [(5, 4.0), (10, 1.0)])
    frame = jain_over_time([one, two])
    assert frame["time_s"].to_list() == [s + 0.5 for s in range(5, 15)]
    assert frame["jain_index"].to_list() == pytest.approx([1.0] * 5 + [16 / 20] * 5, rel=1e-3)
    assert jain_over_time([one]).is_empty()


def test_capacity_until_is_the_sum_of_its_parts() -> None:
    rates = ((-(2**62), 8_000_000), (SECOND, 80_000_000), (3 * SECOND, 0))
    times = np.array([0, SECOND // 2, SECOND, 2 * SECOND, 5 * SECOND])
    end = End("l:a", "l", "a", 1, rates)
    capacity = capacity_until(end, times)
    assert capacity is not None
    assert capacity.tolist() == [capacity_bits(end, Window(0, int(at))) for at in times]


def pinging(sent_s: list[float], rtts_ms: list[float]) -> FlowData:
    about = flow(9, "ping", "ping")
    pings = Pings((np.array(sent_s) * SECOND).astype(np.int64), np.array(rtts_ms))
    return FlowData(about, Window(0, 20 * SECOND), True, None, pings, {}, run_end_ns=20 * SECOND)


def test_latency_under_load() -> None:
    """Load from 5 to 15 s: requests that began in it are loaded; idle ones touch neither it nor the second before."""
    bulk = sending(flow(0, "bulk", start_s=5, end_s=15), [(5, 1.0)])
    ping = pinging([0, 1, 4.999, 6, 7, 8, 9, 15.5, 17, 18], [20, 21, 99, 100, 110, 120, 500, 400, 22, np.nan])
    metrics = found(list(load_metrics([bulk, ping])), "ping")
    assert metrics["idle_ms_p50"] == 21
    assert metrics["loaded_ms_p50"] == 110
    assert metrics["load_increase_ms_p50"] == 89
    assert metrics["loaded_ms_p95"] == 500
    assert metrics["rpm"] == pytest.approx(60_000 / ((100 + 110 + 120 + 0.8 * 500) / 3.8)), "95 % of 4 are 3.8"
    always = replace(bulk, flow=flow(0, "bulk"), window=Window(0, 20 * SECOND))
    assert {"idle_ms_p50", "load_increase_ms_p50"}.isdisjoint(found(list(load_metrics([always, ping])), "ping"))
    assert set(found(list(load_metrics([ping])), "ping")) == {"idle_ms_p50"}


def test_formulas() -> None:
    assert trimmed_mean(np.arange(1.0, 101)) == 48
    assert trimmed_mean(np.array([7.0])) == 7
    ten = np.array([1.0] * 9 + [11.0])
    assert trimmed_mean(ten) == pytest.approx((9 * 1 + 0.5 * 11) / 9.5), "95 % of ten values are nine and a half"
    assert power(9.0, 50.0) == 180
    assert power(None, 50.0) is power(9.0, None) is None
    rtts = {"rtt_ms_mean": 30.0, "rtt_ms_p95": 50.0}
    assert increase_metrics(rtts, [22.0, 20.0]) == {
        "rtt_ms_min": 20,
        "rtt_increase_ms_mean": 10,
        "rtt_increase_ms_p95": 30,
    }
    assert increase_metrics(rtts, [22.0, None])["rtt_ms_min"] is None


def test_drop_and_mark_rates() -> None:
    """Ten came in the window and four were dropped; six left, three of them with a mark that they had on arrival."""
    enqueue = np.arange(10, dtype=np.int64)
    fate = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], np.uint8)
    never = np.full(10, np.iinfo(np.int64).min)
    packets = Packets(
        enqueue,
        np.where(fate == 0, enqueue + 5, never),
        np.where(fate == 1, enqueue, never),
        enqueue.astype(np.int32),
        enqueue.astype(np.int32),
        fate,
        np.array([2, 2, 2, 2, 2, 2, 2, 3, 3, 3], np.uint8),
        np.array([-1, -1, -1, -1, 3, 3, 3, 3, 3, 3], np.int8),
        np.ones(10, np.int32),
        np.full(10, 1500, np.int32),
        np.full(10, 2, np.int32),
    )
    inside, outside = QueueTally(Window(0, 100)), QueueTally(Window(50, 100))
    for tally in (inside, outside):
        tally.add(packets)
    assert (inside.sent_bytes, inside.by_reason, outside.sent_bytes, outside.by_reason) == (9000, {2: 4}, 0, {})
    assert [inside.metrics()[name] for name in ("drop_pct", "mark_pct")] == [40, 50]
    assert [outside.metrics()[name] for name in ("drop_pct", "mark_pct")] == [None, None]


def test_retransmissions_are_a_share_of_what_was_sent() -> None:
    data = sending(flow(0, "bulk"), [(0, 1.448)])
    assert data.sender is not None
    again = np.minimum(np.arange(len(data.sender.times_ns)), 100).astype(np.int64)
    sent = replace(data, sender=replace(data.sender, retransmits=again)).segments()
    assert sent is not None
    assert sent[0] == 100
    assert sent[1] == pytest.approx(100 + 20 * 1.448e6 / 8 / 1448, rel=1e-3)


CASES = ("both", "cubic alone", "bbr alone")


def results(*rows: tuple[str, int, str, str, float], queue: str = "q") -> pl.DataFrame:
    """A summary of (case, seed, flow, metric, value)."""
    names = ["case", "seed", "name", "metric", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.select(
        pl.format("{}-{}", "case", "seed").alias("run_id"),
        "seed",
        pl.lit("ok").alias("status"),
        "case",
        pl.lit(queue).alias("links.b.queue"),
        pl.lit("flow").alias("scope"),
        "name",
        "metric",
        "value",
    )


def test_harm() -> None:
    assert harm("goodput_mbps", 10, 4) == pytest.approx(0.6)
    assert harm("rtt_ms_p95", 20, 80) == pytest.approx(0.75)
    assert harm("rtt_ms_p95", 80, 40) == -1, "a gain"
    assert harm("goodput_mbps", 0, 4) is None


def test_harm_takes_the_run_of_the_same_seed_in_which_the_flow_is_alone() -> None:
    axes = ["case", "links.b.queue"]
    alone = [("cubic alone", seed, "cubic", "goodput_mbps", 10.0 * seed) for seed in (1, 2)]
    alone += [("bbr alone", 1, "bbr", "goodput_mbps", 8.0), ("bbr alone", 1, "ping", "rtt_ms_p95", 9.0)]
    both = [("both", seed, name, "goodput_mbps", 4.0) for seed in (1, 2) for name in ("cubic", "bbr")]
    rows = with_harm(results(*alone, *both), axes).filter(metric="harm_goodput")
    assert rows.select("case", "seed", "name", "value").rows() == [
        ("both", 1, "cubic", pytest.approx(0.6)),
        ("both", 1, "bbr", pytest.approx(0.5)),
        ("both", 2, "cubic", pytest.approx(0.8)),
    ]
    other = pl.concat([results(*alone, queue="p"), results(*both)])
    assert with_harm(other, axes).equals(other), "alone in another queue says nothing"
    without = other.drop("case")
    assert with_harm(without, axes[1:]) is without, "nothing but cases and counts can leave a flow alone"


def test_what_sockets_hold_at_a_flows_end_is_no_peak_of_goodput() -> None:
    """3 Mbit/s until 5 s, sampled; what is still in flight then is acknowledged until 6 s, after a warm-up of 1 s."""
    known = sending(flow(0, "a", end_s=6), [(0, 3)])
    assert known.deliveries is not None
    total = int(known.deliveries.total_bytes[-1])
    data = replace(
        known,
        window=Window(SECOND, 5 * SECOND),
        account={"received_bytes": total},
        deliveries=replace(known.deliveries, sampled=True),
    )
    rates = throughput([data], Window(0, 20 * SECOND), SECOND // 2)["throughput_mbps"].to_numpy()
    assert rates[:12] == pytest.approx([3] * 12, rel=0.01)
    assert rates[13:].max() == 0
    assert rates.sum() / 2 == pytest.approx(total * 8 / 1e6, rel=1e-6)


@pytest.mark.slow
def test_active_flows_are_counted_as_a_comparison_of_each_with_each_counts_them() -> None:
    """Sixty flows at random times, some of which end before they begin and count at no time."""
    random = np.random.default_rng(1)
    flows = []
    for number in range(60):
        start, end = random.integers(0, 20, 2)
        data = sending(flow(number, f"f{number}"), [(0, 1.0)])
        flows.append(replace(data, born_ns=int(start) * SECOND, window=Window(int(start) * SECOND, int(end) * SECOND)))
    progress = flow_progress(described(flows), flows)
    for data in flows:
        if data.flow.id not in progress:
            assert data.window.length_ns == 0
            continue
        found = progress[data.flow.id]
        middles = (found.edges_ns[:-1] + found.edges_ns[1:]) // 2
        active = [sum(other.start_ns <= at < other.window.end_ns for other in flows) for at in middles.tolist()]
        share = RATE_BPS / 8 * 0.02 * PAYLOAD / np.array(active)
        assert np.diff(found.fair_bytes) == pytest.approx(share)

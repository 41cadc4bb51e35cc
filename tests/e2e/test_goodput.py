"""Goodputs on the real engine: by closed forms, by another program's count, and never above the link's capacity."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_traffic import FORWARD, SECOND, account, flow, pair, values
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.run.series import throughput, whole_run
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.rundir import RunDir

MSS = 1448
FRAME = 1514
TWO_PATHS = "h1 = {}\nh2 = {}\nh3 = {}\nh4 = {}"
OTHER_PATH = """
[links.other]
ends = ["h3", "h4"]
rate = "10mbit"
delay = "10ms"
queue = "pfifo limit 1000"
"""


def rounds(payload: int) -> int:
    """Round trips of data by slow start from ten segments, doubling (RFC 6928, RFC 5681)."""
    count, window, left = 0, 10, -(-payload // MSS)
    while left > 0:
        count, left, window = count + 1, left - window, 2 * window
    return count


@pytest.mark.parametrize("payload", [1448, 14480, 14481, 43440, 43441])
def test_a_sized_flows_goodput_is_its_bytes_over_its_completion_time(runs: Runs, payload: int) -> None:
    """A handshake, the rounds but the last one whole, and half a round trip for that."""
    run = runs(pair(flow("bulk", "bulk", f"bytes = {payload}"), rate="10gbit", delay="50ms"))
    seconds = (1 + rounds(payload) - 0.5) * 0.1
    found = values(run, "bulk")
    assert found["goodput_mbps"] == pytest.approx(payload * 8 / seconds / 1e6, rel=1e-3)
    assert found["completion_ms_p50"] == pytest.approx(seconds * 1e3, rel=1e-3)
    assert found["power"] == pytest.approx(found["goodput_mbps"] / (found["rtt_ms_mean"] / 1e3))


def test_shares_and_fairness_of_sized_flows_follow(runs: Runs) -> None:
    flows = flow("short", "bulk", "bytes = 14480") + flow("long", "bulk", "bytes = 43440")
    run = runs(pair(flows, rate="10gbit", delay="50ms"))
    short, long = 14480 / 0.15, 43440 / 0.25
    assert values(run, "short")["share_pct"] == pytest.approx(100 * short / (short + long), rel=1e-3)
    jain = (short + long) ** 2 / (2 * (short**2 + long**2))
    assert values(run, "", "run")["jain_index"] == pytest.approx(jain, rel=1e-3)


def test_a_warm_up_leaves_a_transfer_whole_or_out(runs: Runs) -> None:
    """One ends in it, one reaches out of it, and one has not ended with the run."""
    flows = (
        flow("before", "bulk", "bytes = 14480")
        + flow("across", "bulk", "bytes = 14481")
        + flow("endless", "bulk", "bytes = 1_000_000_000")
    )
    text = pair(flows, rate="100mbit", delay="50ms", duration="3s")
    run = runs(text.replace("[run]", 'warmup = "200ms"\n[run]'))
    before, across, endless = (values(run, name) for name in ("before", "across", "endless"))
    assert "goodput_mbps" not in before
    assert before["transfers"] == before["transfers_incomplete"] == 0
    assert across["goodput_mbps"] == pytest.approx(14481 * 8 / 0.25 / 1e6, rel=0.02)
    assert (across["transfers"], across["transfers_incomplete"]) == (1, 0)
    assert (endless["transfers"], endless["transfers_incomplete"]) == (0, 1)
    assert not [name for name in endless if name.startswith("completion_ms")], "longer than all that is known"
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(_tuples(run, "endless"))).collect()
    inside = int(arrived.filter(pl.col("time_ns").is_between(SECOND // 5, 3 * SECOND))["new_bytes"].sum())
    assert endless["goodput_mbps"] == pytest.approx(inside * 8 / 2.8 / 1e6, rel=1e-4)


def test_bulk_and_iperf3_on_equal_paths_agree(runs: Runs) -> None:
    """iperf3 waits for two round trips more, for its test to be agreed on: 40 ms of 4 s."""
    flows = flow("ours", "bulk") + flow("theirs", "iperf3", 'duration = "4s"', ends=("h3", "h4"))
    run = runs(pair(flows, delay="10ms", duration="5s", nodes=TWO_PATHS, link=OTHER_PATH))
    ours, theirs = values(run, "ours")["goodput_mbps"], values(run, "theirs")["goodput_mbps"]
    assert theirs == pytest.approx(ours, rel=0.01)
    told = json.loads((run.path / "iperf3-theirs.json").read_text())["end"]["sum_received"]
    assert theirs == pytest.approx(told["bits_per_second"] / 1e6, rel=0.01)
    assert account(run, "theirs")["received_in_ns"] == pytest.approx(told["seconds"] * 1e9)
    cookie = 37
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(_tuples(run, "theirs"))).collect()
    assert arrived["new_bytes"].sum() == pytest.approx(told["bytes"] + cookie, abs=MSS)


def test_a_deep_queue_makes_no_iperf3_faster_than_its_link(runs: Runs) -> None:
    """Two megabytes wait at the end of the test, and arrive long after it."""
    text = pair(
        flow("real", "iperf3"), rate="3mbit", delay="20ms", queue="pfifo limit 2000", duration="12s", router=True
    )
    run = runs(text.replace("[flows.real]", '[flows.real]\nduration = "4s"'))
    most = 3 * MSS / FRAME
    assert 0.9 * most < values(run, "real")["goodput_mbps"] < most


@pytest.mark.parametrize("exact", [True, False])
def test_a_warm_up_leaves_iperf3s_udp_its_metrics(runs: Runs, exact: bool) -> None:
    flows = flow("tcp", "bulk") + flow("udp", "iperf3", 'protocol = "udp"', 'rate = "4mbit"')
    text = pair(flows, queue="pfifo limit 50", duration="6s", tail=f"[record]\nexact = {str(exact).lower()}\n")
    run = runs(text.replace("[run]", 'warmup = "2s"\n[run]'))
    found = values(run, "udp")
    assert found["goodput_mbps"] == pytest.approx(4, rel=0.03)
    assert found["loss_pct"] >= 0
    assert found["jitter_ms_mean"] > 0
    assert found["share_pct"] + values(run, "tcp")["share_pct"] == pytest.approx(100)
    assert found["share_pct"] == pytest.approx(100 * 4 / (10 * MSS / FRAME), rel=0.1)


def test_losses_of_iperf3s_udp_are_those_of_its_window(runs: Runs) -> None:
    """Too fast for its link only from 3 s on, which is after the warm-up; then a quarter is lost."""
    change = '[[changes]]\nat = "3s"\nlink = "wire"\nrate = "3mbit"\n'
    flows = flow("udp", "iperf3", 'protocol = "udp"', 'rate = "4mbit"')
    text = pair(flows, queue="pfifo limit 20", duration="9s", tail=change)
    window = runs(text.replace("[run]", 'warmup = "4s"\n[run]'))
    arriving = 3 * MSS / (MSS + 42)
    assert values(window, "udp")["goodput_mbps"] == pytest.approx(arriving, rel=0.02)
    assert values(window, "udp")["loss_pct"] == pytest.approx(100 * (1 - arriving / 4), rel=0.05)


def test_datagrams_that_come_twice_take_losses_of_iperf3_back(runs: Runs) -> None:
    """If an interval has one more of them than losses, iperf3 3.12 prints 2^64 - 1 losses, which means -1."""
    flows = flow("udp", "iperf3", 'protocol = "udp"', 'rate = "4mbit"')
    run = runs(pair(flows, duration="5s").replace('delay = "5ms"', 'delay = "5ms"\nloss = "4%"\nduplicate = "2%"'))
    told = json.loads((run.path / "iperf3-udp-server.json").read_text())
    assert max(one["sum"]["lost_packets"] for one in told["intervals"]) > 2**63
    total = told["end"]["sum"]
    assert 0 < total["lost_packets"] < total["packets"] / 10
    # But for the last interval or two of 50, which end after the run: of their some 70 datagrams no more than 12 are
    # lost or come twice (6 % each: in 999 of 1000 samples).
    lost_pct = 100 * total["lost_packets"] / total["packets"]
    assert values(run, "udp")["loss_pct"] == pytest.approx(lost_pct, abs=100 * 12 / total["packets"])


def test_what_arrives_is_drawn_when_it_arrives(runs: Runs) -> None:
    """Behind a short queue, segments arrive beyond gaps: ACKs report them late and all at once, arrivals do not. The
    curve shows what the application could read: all at once as well."""
    run = runs(
        pair(flow("bulk", "bulk", 'cc = "reno"'), queue="pfifo limit 30", delay="40ms", duration="12s", router=True)
    )
    (data,) = load_flows(run)
    assert data.deliveries is not None and data.sender is not None
    interval_ns = SECOND // 10
    most = 10 * MSS / FRAME + FRAME * 8e3 / interval_ns
    arrived = data.deliveries.per_interval(whole_run(run), interval_ns)[1]
    assert arrived.max() <= most
    drawn = throughput([data], whole_run(run), interval_ns)["throughput_mbps"].to_numpy()
    assert drawn.max() > 1.5 * most
    assert (np.cumsum(drawn) <= np.cumsum(arrived) + 1e-6).all(), "nothing can be read before it has arrived"
    acked = np.diff(data.sender.bytes_acked.astype(np.int64), prepend=0)
    steps = np.bincount(data.sender.times_ns // interval_ns, weights=acked)
    assert steps.max() * 8e3 / interval_ns > 1.5 * most, "there was a large repair"
    assert data.deliveries.total_bytes[-1] == account(run, "bulk")["received_bytes"]
    # Nothing is lost on the last wire: a segment arrives with its last bit, and the new bytes add up.
    left = run.scan("packets").filter(pl.col("tuple_id").is_in(_tuples(run, "bulk")), fate=0, interface_index=FORWARD)
    due = np.sort(left.collect()["dequeue_ns"].to_numpy()) + 40_000_000 + FRAME * 8 * 100
    arrivals = run.scan("arrivals").filter(payload_bytes=MSS).collect()["time_ns"].to_numpy()
    behind = arrivals - due[np.searchsorted(due, arrivals + 1000, side="right") - 1]
    assert np.abs(behind).max() < 1000
    assert len(arrivals) >= len(due) - 200, "few were sent in vain or are on their way"


def _tuples(run: RunDir, name: str) -> list[int]:
    flows = tuple(one for one in run.description.flows if one.name == name)
    return list(flow_of_tuples(run.scan("tuples").collect(), flows))


def test_iperf3s_udp_the_other_way_and_of_a_given_size(runs: Runs) -> None:
    """With -R the client counts the arrivals; with -n a life ends with its last byte."""
    flows = flow("back", "iperf3", 'protocol = "udp"', 'rate = "2mbit"', 'args = ["-R"]')
    flows += flow("sized", "iperf3", "bytes = 1_000_000", 'start = "1s"', ends=("h3", "h4"))
    text = pair(flows, duration="5s", nodes=TWO_PATHS, link=OTHER_PATH)
    run = runs(text.replace("[run]", 'warmup = "1s"\n[run]'))
    back = values(run, "back")
    assert back["goodput_mbps"] == pytest.approx(2, rel=0.03)
    assert back["loss_pct"] == 0
    assert back["jitter_ms_mean"] >= 0
    told = json.loads((run.path / "iperf3-sized.json").read_text())["end"]["sum_received"]
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(_tuples(run, "sized"))).collect()
    cookie = 37
    assert arrived["new_bytes"].sum() == told["bytes"] + cookie
    # iperf3's own time begins some round trips later and ends with its counting.
    assert values(run, "sized")["goodput_mbps"] == pytest.approx(told["bits_per_second"] / 1e6, rel=0.1)


def test_flows_that_follow_each_other_are_no_faster_together_than_their_link(runs: Runs) -> None:
    """The first to end have had their shares while the others waited: the sum of their rates exceeds the link's."""
    run = runs(
        pair(flow("mice", "bulk", "bytes = 200_000", "count = 20"), queue="pfifo limit 60", duration="8s", router=True)
    )
    members = [values(run, f"mice.{number}")["goodput_mbps"] for number in range(20)]
    most = 10 * MSS / FRAME
    together = values(run, "mice")
    assert together["transfers"] == 20
    assert sum(members) > most, "else this says nothing"
    assert together["goodput_mbps"] == pytest.approx(20 * 200_000 * 8e-3 / together["completion_ms_max"])
    assert together["goodput_mbps"] < most


def test_a_link_whose_packets_take_no_whole_nanoseconds_is_full(runs: Runs) -> None:
    """At 10 Gbit/s a frame takes 1211.2 ns and is given 1211, so the link is slightly faster than its rate."""
    run = runs(pair(flow("bulk", "bulk"), rate="10gbit", delay="100us", duration="1s"))
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(_tuples(run, "bulk"))).collect()
    times = arrived["time_ns"].to_numpy()
    late = times > SECOND // 2
    mbps = arrived["new_bytes"].to_numpy()[late][1:].sum() * 8e3 / np.ptp(times[late])
    assert 10_000 * MSS / FRAME < mbps <= MSS * 8e3 / (FRAME * 8 // 10) * (1 + 1e-6)


def test_what_iperf3_waits_for_before_its_test_is_not_its_life(runs: Runs) -> None:
    """On a long path negotiating the test takes more than a second, in which it has sent a cookie of 37 bytes."""
    run = runs(pair(flow("real", "iperf3", 'duration = "4s"'), delay="300ms", duration="8s", router=True))
    ids = _tuples(run, "real")
    sent = run.scan("packets").filter(pl.col("tuple_id").is_in(ids)).collect().sort("enqueue_ns")
    begun = sent.filter(pl.col("packet_bytes") > 200)["enqueue_ns"][0]
    assert begun - sent["enqueue_ns"][0] > SECOND, "else this says nothing"
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(ids), pl.col("time_ns") > begun).collect()
    seconds = max((arrived["time_ns"].to_numpy().max() - begun) / SECOND, 4)
    mbps = arrived["new_bytes"].to_numpy().sum() * 8e-6 / seconds
    assert values(run, "real")["goodput_mbps"] == pytest.approx(mbps, rel=1e-6)

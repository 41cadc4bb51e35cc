"""The teaching labs: each whole scenario as it is shipped, and its page's claims, from the records."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.run.series import throughput, whole_run
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.scenario import shipped_scenarios
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir
from netwarp.store.socket_columns import SOCKET_COLUMNS
from netwarp.store.summary import PlannedRun
from netwarp.studies.connection_monitor.analysis import METRICS

RECOVERY = 3
"""ca_state TCP_CA_Recovery; 4 is TCP_CA_Loss."""
PURGED = "queue_purge"
"""The reason of drops when a queue is reset (docs/records.md)."""


def lab(name: str, place: Path, *arguments: str) -> ResultDir:
    """The whole shipped scenario; all of its expectations must hold."""
    done = netwarp("run", name, "-o", place, "--no-plots", *arguments)
    assert done.code == 0, done.out + done.err
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
    """Packets that wait at the change go on waiting: nothing is purged, the length does not jump, the new pace
    holds."""
    run = named(mitigate, case)
    (bottleneck,) = (end for end in run.description.ends if end.name == "bottleneck:r1")
    packets = run.scan("packets").filter(interface_index=bottleneck.interface_index).collect()
    at = at_s * 10**9
    purged = run.description.drop_reasons.index(PURGED)
    assert not (packets["drop_reason"] == purged).any()
    left = pl.min_horizontal("dequeue_ns", "drop_ns")
    waiting = packets.filter(pl.col("enqueue_ns") < at, left.is_null() | (left > at))
    # Nothing is lost at that moment: packets are dropped later, by CoDel's or PIE's law.
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


def test_seconds_without_any_transfer_are_0_in_the_figure_and_arrivals_go_on(mitigate: ResultDir) -> None:
    """Data that arrive behind the gap are useless to the application: seconds 25 to 29 of tail drop."""
    run = named(mitigate, "tail drop")
    bulk = next(data for data in load_flows(run, transits=False) if data.flow.name == "bulk")
    assert bulk.deliveries is not None
    window = whole_run(run)
    shown = throughput([bulk], window)["throughput_mbps"].to_numpy()
    _, arrived = bulk.deliveries.per_interval(window, 10**9)
    assert shown[25:29].tolist() == [0.0] * 4
    assert arrived[25:29] == pytest.approx([0.956] * 4, rel=0.02), "the link is busy all the while"


@pytest.fixture(scope="module")
def bufferbloat(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("bufferbloat", tmp_path_factory.mktemp("bufferbloat") / "r")


FRAME_MS = 1514 * 8 / 10e6 * 1e3
PATH_PKTS = (20 + FRAME_MS * (1 + 66 / 1514) + FRAME_MS / 100) / FRAME_MS
"""P: both delays, a frame and its ACK on the bottleneck, and the frame on the access link of 1 Gbit/s, in frames."""


@pytest.mark.parametrize("limit", [20, 40, 60, 80, 100])
@pytest.mark.parametrize(("cc", "beta"), [("cubic", 0.7), ("reno", 0.5)])
def test_valleys_and_first_peaks_are_what_beta_and_slow_start_say(
    bufferbloat: ResultDir, cc: str, beta: float, limit: int
) -> None:
    """Metrics compared with closed forms, and with a separate count from the records."""
    (run,) = (
        bufferbloat.run(run.id)
        for run in bufferbloat.planned
        if run.point == {"flows.bulk.cc": cc, "links.bottleneck.queue": f"pfifo limit {limit}"}
    )
    metrics = bufferbloat.summary().filter(run_id=run.path.name)
    valley = metrics.filter(scope="queue", name="bottleneck:r1", metric="length_pkts_min")["value"].item()
    assert -4 <= valley - max(beta * (PATH_PKTS + limit) - PATH_PKTS, 0) <= 1
    (bottleneck,) = (end for end in run.description.ends if end.name == "bottleneck:r1")
    packets = run.scan("packets").filter(interface_index=bottleneck.interface_index).collect()
    assert packets.filter(pl.col("dequeue_ns") > 2_500_000_000)["length_after_pkts"].min() == valley

    peak = metrics.filter(scope="flow", name="bulk", metric="cwnd_pkts_first_peak")["value"].item()
    if cc == "reno":
        assert peak == pytest.approx(2 * (PATH_PKTS + limit), abs=4)
    else:
        assert 0 <= peak - (PATH_PKTS + limit) <= 0.1 * (PATH_PKTS + limit)
    acks = run.scan("acks").sort("time_ns").select("snd_cwnd_pkts", "ca_state").collect()
    recovery = (acks["ca_state"] >= RECOVERY).arg_max() or 0
    assert acks["snd_cwnd_pkts"][:recovery].max() == peak


def test_with_segmentation_offloads_the_first_peak_is_six_times_the_limit(tmp_path: Path) -> None:
    """A place in the queue holds what the sender's interface passed on in one piece, the window counts segments."""
    offloads = ("--set", "links.access.offload=true", "--set", "links.bottleneck.offload=true")
    rest = ("--set", "flows.bulk.cc=reno", "--set", "links.bottleneck.queue=pfifo limit 50", "--set", "duration=20s")
    done = netwarp("run", "bufferbloat", *offloads, *rest, "--no-plots", "-o", tmp_path / "r")
    assert done.code in (0, 1), done.err
    found = open_result(tmp_path / "r").summary().filter(name="bulk", metric="cwnd_pkts_first_peak")["value"].item()
    assert 5 < found / 50 < 8


@pytest.fixture(scope="module")
def fight(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("tcp-vs-udp", tmp_path_factory.mktemp("fight") / "r")


def acknowledged_mbps(run: RunDir, start_s: int, end_s: int) -> float:
    """TCP payload acknowledged between two moments, by the last ACK of each."""
    acks = run.scan("acks").select("time_ns", "bytes_acked").collect()
    by = [int(acks.filter(pl.col("time_ns") <= at * 10**9)["bytes_acked"].to_numpy().max()) for at in (start_s, end_s)]
    return (by[1] - by[0]) * 8 / (end_s - start_s) / 1e6


def delivered_mbps(run: RunDir, start_s: int, end_s: int) -> float:
    """UDP payload that arrived between two moments."""
    arrived = run.scan("datagrams").filter(pl.col("received_ns").is_between(start_s * 10**9, end_s * 10**9))
    return float(arrived.select(pl.sum("payload_bytes")).collect().item()) * 8 / (end_s - start_s) / 1e6


def discipline(run: PlannedRun) -> str:
    return str(run.point["links.bottleneck.queue"]).split()[0]


def of_case(result: ResultDir, case: str) -> dict[str, RunDir]:
    return {discipline(run): result.run(run.id) for run in result.planned if run.point["case"] == case}


def test_tcp_alone_is_at_the_rate_in_its_third_second(fight: ResultDir) -> None:
    """Until UDP joins it is alone in both cases."""
    for case in ("TCP alone", "TCP and UDP"):
        run = of_case(fight, case)["pfifo"]
        assert acknowledged_mbps(run, 2, 10) == pytest.approx(10 * 1448 / 1514, rel=0.01)
        assert [flow.name for flow in run.description.flows] == ["tcp", "udp"][: 1 if case == "TCP alone" else 2]


def test_the_curve_of_the_assignment_is_that_of_udp_which_joins_after_seven_seconds(fight: ResultDir) -> None:
    """9.6 Mbit/s until then, and a third of that in the remaining seconds: 6.5, 2.2 and 1.2."""
    run = of_case(fight, "UDP from 7 s on")["pfifo"]
    flows = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    mine = [number for number, flow_id in flows.items() if run.description.flows[flow_id].name == "tcp"]
    arrived = run.scan("arrivals").filter(pl.col("tuple_id").is_in(mine)).collect()
    of_second = (pl.col("time_ns") // 10**9).alias("second")
    by_second = dict(arrived.group_by(of_second).agg(pl.sum("new_bytes") * 8 / 1e6).iter_rows())
    assert [by_second[second] for second in range(2, 7)] == pytest.approx([9.56] * 5, rel=0.01)
    assert 5 < by_second[7] < 9
    assert 1.6 < by_second[8] < 3.5
    assert 0.8 < by_second[9] < 1.6


def test_a_queue_for_each_leaves_tcp_two_thirds_of_its_half(fight: ResultDir) -> None:
    shares = fight.summary().filter(case="TCP and UDP", name="tcp", metric="goodput_mbps")
    own = shares.filter(pl.col("links.bottleneck.queue").str.contains("^(fq_codel|cake)"))["value"].to_list()
    assert len(own) == 2
    assert min(own) > 9.56 / 2 * 2 / 3


@pytest.mark.parametrize("queue", ["pfifo", "red", "codel", "pie", "fq_codel", "cake"])
def test_tcp_and_udp_share_what_the_link_carries(fight: ResultDir, queue: str) -> None:
    """After UDP has joined, the frames of both are all that the link sent, nearly its 10 Mbit/s; UDP loses the rest."""
    run = of_case(fight, "TCP and UDP")[queue]
    tcp, udp = acknowledged_mbps(run, 20, 60), delivered_mbps(run, 20, 60)
    metrics = fight.summary().filter(run_id=run.path.name)
    used = metrics.filter(scope="link", name="bottleneck:r1", metric="utilisation")["value"].item()
    assert tcp * 1514 / 1448 + udp * 1514 / 1472 == pytest.approx(10 * used, rel=0.01)
    assert used > 0.95
    own = run.scan("flows").filter(name="udp").collect()
    offered = own["sent_pkts"][0] * 1514 * 8 / (own["end_ns"][0] - own["start_ns"][0]) * 1e3
    assert offered == pytest.approx(10, rel=0.02), "on average the link's rate"
    found = metrics.filter(scope="flow", name="udp", metric="loss_pct")["value"].item()
    assert found == pytest.approx(100 * (1 - udp * 1514 / 1472 / offered), abs=1.5)


@pytest.fixture(scope="module")
def differential(tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    return lab("differential", tmp_path_factory.mktemp("differential") / "r")


def test_the_monitor_against_the_baseline(differential: ResultDir) -> None:
    """The table agrees with the ACKs' own records, and with calculation."""
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
    """The case that silently sent nothing, made on purpose: the router's kernel does not forward."""
    text = shipped_scenarios()["differential"].read_text()
    dead = text.replace('"links.h1.rate" = "40mbit"', '"nodes.r1.sysctl" = { "net.ipv4.ip_forward" = 0 }')
    dead = dead.replace('name = "differential"', 'name = "dead"').replace('duration = "60s"', 'duration = "5s"')
    (tmp_path / "dead.toml").write_text(dead[: dead.index("[[expect]]")])
    cases = [word for case in ("baseline", "bw-h1 20", "bw-h1 40") for word in ("--case", case)]
    done = netwarp("run", tmp_path / "dead.toml", "-o", tmp_path / "r", *cases)
    assert done.code == 3
    assert "flow tcp" in done.err
    table = pl.read_csv(tmp_path / "r" / "connection-monitor" / "differences.csv")
    (row,) = table.filter(case="bw-h1 40").iter_rows(named=True)
    assert (row["status"], row["value"], row["baseline"]) == ("failed", None, None)
    assert "flow tcp" in row["reason"]
    stems = {path.stem for path in (tmp_path / "r" / "plots").glob("monitor-*.svg")}
    assert {stem.partition("--")[2] for stem in stems} == {"links.h1.rate"}, "the dead run had the other group alone"
    svg = (tmp_path / "r" / "plots" / "monitor-rtt-tcp--links.h1.rate.svg").read_text()
    for words in ("10mbit (baseline)", "20mbit", "smoothed RTT (ms)", "1 failed run left out", "sampled each 200 ms"):
        assert words in svg

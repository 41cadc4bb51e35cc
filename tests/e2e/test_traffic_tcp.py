"""TCP generators on the real engine: transfers take the calculated time, and every control is the named one."""

from __future__ import annotations

import polars as pl
import pytest
from e2e_runs import Runs
from e2e_traffic import BACK, FORWARD, account, flow, pair, values
from netwarp.store.rundir import RunDir

HEADERS = 14 + 20 + 32
"""Headers of a TCP segment with timestamps: Ethernet, IPv4, TCP."""
CONTROLS = sorted(
    {"bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable", "vegas"}
    | {"veno", "westwood", "yeah", "bbr"}
)


def _transfers_ms(run: RunDir, name: str) -> list[float]:
    rows = run.scan("transfers").filter(flow_id=account(run, name)["flow_id"]).collect()
    return ((rows["end_ns"] - rows["start_ns"]) / 1e6).to_list()


def test_a_small_request_takes_one_round_trip(runs: Runs) -> None:
    lines = ("request_size = 100", "response_size = 200", 'think = "50ms"')
    run = runs(pair(flow("rpc", "request", *lines)))
    wire_ms = (100 + HEADERS + 200 + HEADERS) * 8 / 10e6 * 1e3
    times = _transfers_ms(run, "rpc")
    assert len(times) > 25
    assert times[1:] == pytest.approx([2 * 5 + wire_ms] * (len(times) - 1), abs=0.001)
    # The first one follows the handshake's last ACK, and its response follows an ACK that is not delayed yet.
    assert times[0] == pytest.approx(2 * 5 + wire_ms + 2 * HEADERS * 8 / 10e6 * 1e3, abs=0.001)
    found = values(run, "rpc")
    assert found["transfers"] == len(times)
    assert found["requests_per_s"] == pytest.approx(len(times) / 2, rel=0.01)
    assert found["completion_ms_p50"] == pytest.approx(2 * 5 + wire_ms, abs=0.001)
    # The responses are measured.
    assert found["goodput_mbps"] == pytest.approx(len(times) * 200 * 8 / 2e6, rel=0.05)


def test_a_page_takes_the_round_trips_of_slow_start(runs: Runs) -> None:
    """100 segments from a window of 10: 10, 20, 40 and 30 of them, each round begun by the last one's first ACK."""
    text = pair(
        flow("page", "request", f"response_size = {100 * 1448}", 'duration = "1s"', 'think = "2s"'),
        rate="1gbit",
        delay="50ms",
    )
    (time,) = _transfers_ms(runs(text), "page")
    assert time == pytest.approx(400, rel=0.02)


def test_pages_have_sizes_of_a_heavy_tail(runs: Runs) -> None:
    text = pair(flow("page", "request", 'response_size = "12kB pareto"'), duration="20s", rate="100mbit")
    run = runs(text)
    sizes = run.scan("transfers").collect()["bytes"]
    assert sizes.min() == pytest.approx(2000, rel=0.05), "the least of a Pareto of shape 1.2 is a sixth of the mean"
    # P(X > x) = (least / x)^1.2
    share = (sizes > 20_000).mean()
    assert share == pytest.approx(0.1**1.2, rel=0.3)


def test_a_sized_flow_ends_when_its_bytes_have_arrived(runs: Runs) -> None:
    run = runs(pair(flow("sized", "bulk", "bytes = 1_000_000")))
    (time,) = _transfers_ms(run, "sized")
    assert account(run, "sized")["received_bytes"] == 1_000_000
    # 691 segments at the link's rate, a handshake, the way there, and a slow start that cannot fill the link at once.
    frames = 1_000_000 / 1448 * 1514 * 8 / 10e6 * 1e3
    assert frames + 15 < time < frames + 60
    assert account(run, "sized")["end_ns"] / 1e6 == pytest.approx(time, abs=1)


def test_many_small_transfers_are_measured_together(runs: Runs) -> None:
    run = runs(pair(flow("mice", "bulk", "bytes = 20_000", "count = 20")))
    found = values(run, "mice")
    assert found["transfers"] == 20
    assert found["completion_ms_p50"] <= found["completion_ms_p95"] <= found["completion_ms_max"]
    longest = max(max(_transfers_ms(run, f"mice.{number}")) for number in range(20))
    assert found["completion_ms_max"] == pytest.approx(longest)


def test_every_control_of_the_kernel_competes_in_one_run(runs: Runs) -> None:
    flows = "".join(flow(f"cc_{name}", "bulk", f'cc = "{name}"') for name in CONTROLS)
    run = runs(pair(flows, rate="50mbit", delay="10ms", queue="pfifo limit 200", duration="10s", router=True))
    sockets = run.scan("sockets").filter(pl.col("node") == "h1").select("destination_port", "congestion_control")
    used = dict(sockets.unique().collect().iter_rows())
    for described in run.description.flows:
        assert used[described.destination_port] == described.name.removeprefix("cc_")
    goodputs = {name: values(run, f"cc_{name}")["goodput_mbps"] for name in CONTROLS}
    assert min(goodputs.values()) > 0.05, goodputs
    assert sum(goodputs.values()) == pytest.approx(50 * 1448 / 1514, rel=0.05)
    phases = {key: value for key, value in values(run, "cc_bbr").items() if key.startswith("bbr_")}
    assert sum(phases.values()) == pytest.approx(100)
    assert phases["bbr_probe_bw_pct"] > 50
    assert not any(key.startswith("bbr_") for key in values(run, "cc_cubic"))


def test_a_loss_based_and_a_model_based_control_differ_in_delay(runs: Runs) -> None:
    queue = {}
    for control in ("cubic", "bbr"):
        text = pair(
            flow("bulk", "bulk", f'cc = "{control}"'),
            delay="10ms",
            queue="pfifo limit 100",
            duration="10s",
            router=True,
        )
        found = values(runs(text), "bulk")
        assert found["goodput_mbps"] > 9
        queue[control] = found["queue_ms_mean"]
    assert queue["bbr"] < queue["cubic"] / 2


@pytest.mark.parametrize("queue", ["fq_codel", "red limit 150000 min 15000 max 45000 avpkt 1000 burst 20 ecn"])
def test_with_ecn_a_queue_marks_instead_of_dropping(runs: Runs, queue: str) -> None:
    on = '{ sysctl = { "net.ipv4.tcp_ecn" = 1 } }'
    marked = runs(pair(flow("bulk", "bulk"), queue=queue, duration="5s", nodes=f"h1 = {on}\nh2 = {on}", router=True))
    plain = runs(pair(flow("bulk", "bulk"), queue=queue, duration="5s", router=True))
    with_ecn, without = values(marked, "wire:r1", "queue"), values(plain, "wire:r1", "queue")
    assert with_ecn["marks"] > 0
    assert with_ecn["drops"] == 0
    assert without["marks"] == 0
    assert without["drops"] > 0
    assert values(marked, "bulk")["marks"] == with_ecn["marks"]
    assert values(marked, "bulk")["retransmits"] == 0
    # A receiver echoes a mark until the sender has answered it (RFC 3168): a round trip of ACKs.
    assert (marked.scan("acks").collect()["delivered_ce_pkts"] >= with_ecn["marks"]).any()


def test_every_drop_belongs_to_a_flow(runs: Runs) -> None:
    flows = flow("a", "bulk", "count = 2") + flow("b", "cbr", 'rate = "2mbit"')
    run = runs(pair(flows, queue="pfifo limit 30", duration="5s", router=True))
    of_queue = values(run, "wire:r1", "queue")
    assert of_queue["drops"] == of_queue["drops_qdisc_drop"] > 0
    assert values(run, "a")["drops"] + values(run, "b")["drops"] == of_queue["drops"]
    assert values(run, "a")["drops"] == values(run, "a.0")["drops"] + values(run, "a.1")["drops"]
    assert values(run, "a")["retransmits"] >= values(run, "a")["drops"] - 30
    assert 0 < values(run, "b")["queue_ms_mean"] < 30 * 1.2112


def test_wires_and_interfaces_agree(runs: Runs) -> None:
    run = runs(pair(flow("a", "bulk"), link='loss = "0.5%"', duration="5s"))
    wires = run.scan("wires").collect()
    sums = wires["delivered_pkts"] + wires["lost_pkts"] + wires["queued_pkts"]
    assert sums.to_list() == wires["sent_pkts"].to_list()
    for interface in (FORWARD, BACK):
        left = run.scan("packets").filter(interface_index=interface, fate=0).collect().height
        sent = wires.filter(interface_index=interface)["sent_pkts"][0]
        assert left == pytest.approx(sent, abs=5), "except for the kernel's own packets before the start"


def test_flows_that_draw_their_size_complete_to_their_own_byte(runs: Runs) -> None:
    lines = ("count = 30", 'bytes = "20kB pareto 2"', 'start = "500ms exponential"')
    run = runs(pair(flow("many", "bulk", *lines), rate="100mbit", duration="10s"))
    rows = run.scan("transfers").collect()
    own = {f.id: f.payload_bytes for f in run.description.flows}
    assert dict(rows.select("flow_id", "bytes").iter_rows()) == own
    assert len(set(own.values())) > 25 and rows["end_ns"].null_count() == 0
    accounts = run.scan("flows").collect()
    assert (accounts["received_bytes"] == accounts["flow_id"].replace_strict(own)).all()
    assert accounts["start_ns"].n_unique() == 30

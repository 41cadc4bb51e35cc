"""Metrics of datagrams, transfers, connections, queues by flow; sums that must match. From hand-made records."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from netwarp.analysis.run.metrics import analyse_run
from netwarp.analysis.run.validity import check_run
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.description import describe
from netwarp.store.documents import RunDocument, checked
from netwarp.store.rundir import open_run
from synthetic import BOTTLENECK, lab, write_description, write_table

MS = 10**6
SECOND = 10**9


def _lab(tool: str, **more: Any) -> dict[str, Any]:
    made = lab(10, 1)
    return made | {"flows": [made["flows"][0] | {"tool": tool, "name": "x", "group": "x"} | more]}


def _account(run: Path, tool: str, **columns: Any) -> None:
    end = {"end_ns": 10 * SECOND, "connect_ns": 0, "sent_bytes": 1, "received_bytes": 1}
    write_table(run, "flows", [end | {"name": "x", "tool": tool} | columns])


def _metrics(run: Path, name: str = "x", scope: str = "flow") -> dict[str, float]:
    return dict(analyse_run(run).filter(scope=scope, name=name).select("metric", "value").iter_rows())


def _datagram(sequence: int, delay_ms: float) -> dict[str, Any]:
    sent = sequence * SECOND
    return {"sequence": sequence, "sent_ns": sent, "received_ns": sent + round(delay_ms * MS), "payload_bytes": 1000}


def test_datagrams_that_arrive_late_twice_or_never(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("cbr"))
    # Ten were sent, one a second: 3 never came, 2 was overtaken by 4, 5 came twice, 9 was cut off by the end.
    arrived = [_datagram(n, d) for n, d in ((0, 10), (1, 20), (4, 10), (2, 2500), (5, 10), (5, 30), (6, 10), (7, 10))]
    write_table(tmp_path, "datagrams", arrived)
    _account(tmp_path, "cbr", sent_pkts=10)
    found = _metrics(tmp_path)
    assert found["loss_pct"] == pytest.approx(100 * 1 / 8), "8 and 9 may still be under way: the longest took 2.5 s"
    assert found["duplicates"] == 1
    assert found["reordered_pct"] == pytest.approx(100 / 7)
    assert found["delay_ms_max"] == 2500
    assert found["delay_ms_p50"] == 10
    assert found["goodput_mbps"] == pytest.approx(7 * 8000 / 10 / 1e6)
    jumps = [10, 10, 2490, 2490, 0, 0]
    assert found["jitter_ms_mean"] == pytest.approx(sum(jumps) / len(jumps))


def test_arrivals_within_the_last_longest_delay_do_not_hide_losses(tmp_path: Path) -> None:
    """Every second datagram is lost, and one took 4 s: datagrams sent in the last 4 s do not count."""
    write_description(tmp_path, _lab("cbr"))
    write_table(tmp_path, "datagrams", [_datagram(n, 4000 if n == 0 else 10) for n in (0, 2, 4, 6, 8)])
    _account(tmp_path, "cbr", sent_pkts=10)
    assert _metrics(tmp_path)["loss_pct"] == pytest.approx(100 * 3 / 7), "of 0 to 6: 1, 3 and 5"


def test_datagrams_are_windowed_by_when_they_were_sent(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("cbr"), warmup_ns=5 * SECOND)
    write_table(tmp_path, "datagrams", [_datagram(n, 10) for n in (0, 5, 6, 8)])
    _account(tmp_path, "cbr", sent_pkts=10)
    # Of 5 to 9 two never came: 7, and 9, which by its neighbours was sent at about 9 s.
    assert _metrics(tmp_path)["loss_pct"] == pytest.approx(40)


def test_transfers_count_when_they_end(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("request"), warmup_ns=5 * SECOND)
    ends = ((1, 2), (4, 6), (7, 8))
    write_table(tmp_path, "transfers", [{"start_ns": a * SECOND, "end_ns": b * SECOND} for a, b in ends])
    _account(tmp_path, "request")
    found = _metrics(tmp_path)
    assert (found["transfers"], found["completion_ms_mean"], found["completion_ms_max"]) == (2, 1500, 2000)
    assert found["requests_per_s"] == pytest.approx(2 / 5)


def test_transfers_that_are_not_complete_are_longer_than_what_is_known(tmp_path: Path) -> None:
    """Two of four end in the window; one is under way at the end, and one ends after the run."""
    write_description(tmp_path, _lab("request"))
    rows = ((1, 2), (3, 6), (7, None), (8, 11))
    table = [{"start_ns": a * SECOND, "end_ns": b and b * SECOND, "bytes": 1000} for a, b in rows]
    write_table(tmp_path, "transfers", table)
    _account(tmp_path, "request")
    found = _metrics(tmp_path)
    assert (found["transfers"], found["transfers_incomplete"]) == (2, 2)
    assert found["requests_per_s"] == pytest.approx(0.2)
    # 1 s; beyond 2 s; beyond 3 s; 3 s: at 1 s a quarter has ended, at 3 s half of the three quarters that are left.
    assert found["completion_ms_p50"] == 3000
    for name in ("p95", "p99", "max", "mean"):
        assert f"completion_ms_{name}" not in found, "it lies among those that did not end"


def test_a_sized_flow_counts_whole_in_the_window_that_it_ends_in(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("bulk", bytes=1_000_000), warmup_ns=5 * SECOND)
    write_table(tmp_path, "transfers", [{"start_ns": 0, "end_ns": 8 * SECOND, "bytes": 1_000_000}])
    _account(tmp_path, "bulk", end_ns=8 * SECOND)
    assert _metrics(tmp_path)["goodput_mbps"] == pytest.approx(1)


def _tuple(number: int, source_port: int, destination_port: int, *, back: bool = False) -> dict[str, Any]:
    source, destination = ("10.0.1.2", "10.0.0.1") if back else ("10.0.0.1", "10.0.1.2")
    return {
        "tuple_id": number,
        "protocol": 6,
        "source": source,
        "source_port": source_port,
        "destination": destination,
        "destination_port": destination_port,
    }


def _data_of(run: Path, made: dict[str, Any], tuples: list[dict[str, Any]]) -> list[int]:
    write_description(run, made)
    flows = open_run(run).description.flows
    return sorted(flow_of_tuples(pl.DataFrame(tuples), flows))


def test_data_of_iperf3_is_all_but_its_first_connection(tmp_path: Path) -> None:
    there = [_tuple(n, 40000 + n, 5001) for n in (0, 2, 3)]
    back = [_tuple(n + 10, 5001, 40000 + n, back=True) for n in (0, 2, 3)]
    assert _data_of(tmp_path, _lab("iperf3"), there + back) == [2, 3]
    assert _data_of(tmp_path, _lab("iperf3", args=["-R"]), there + back) == [12, 13]


def test_data_of_requests_is_what_the_server_sends(tmp_path: Path) -> None:
    both = [_tuple(0, 20000, 5001), _tuple(1, 5001, 20000, back=True)]
    assert _data_of(tmp_path, _lab("request"), both) == [1]
    assert _data_of(tmp_path, _lab("bulk"), both) == [0]


def test_connections_of_one_flow_add_up_in_bytes_and_have_a_state_each(tmp_path: Path) -> None:
    """The window and the RTT are means over the connections, as over the flows of a group, however many ACKs they get.

    The first connection is iperf3's own, the second has an RTT of 10 ms, the third of 100 ms.
    """
    write_description(tmp_path, _lab("iperf3"))
    write_table(tmp_path, "tuples", [_tuple(n, 40000 + n, 5001) for n in range(3)])
    acks = [
        {"time_ns": t * SECOND, "tuple_id": n, "bytes_acked": t * 125_000 * n, "snd_cwnd_pkts": 10 * n, "srtt_us": 1000}
        | {"rtt_us": 10_000 if n == 1 else 100_000}
        for t in range(1, 11)
        for n in (1, 2)
    ]
    write_table(tmp_path, "acks", acks)
    _account(tmp_path, "iperf3")
    found = _metrics(tmp_path)
    assert found["goodput_mbps"] == pytest.approx(3)
    assert found["cwnd_pkts_mean"] == pytest.approx(15)
    assert found["rtt_ms_mean"] == pytest.approx(55)
    assert (found["rtt_ms_p50"], found["rtt_ms_p95"]) == (10, 100)


def _packet(at: int, fate: int = 0, sojourn_ms: int = 1, **more: Any) -> dict[str, Any]:
    row = {"interface_index": BOTTLENECK, "tuple_id": 0, "enqueue_ns": at * SECOND, "fate": fate, "packet_bytes": 1000}
    left = at * SECOND + sojourn_ms * MS
    times = {0: {"dequeue_ns": left, "ecn_out": 0}, 1: {"drop_ns": left}, 2: {}}[fate]
    return row | times | more


def test_drops_marks_and_sojourns_by_flow_and_reason(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("bulk"))
    write_table(tmp_path, "tuples", [_tuple(0, 20000, 5001), _tuple(1, 1, 2)])
    rows = [
        _packet(1, sojourn_ms=3),
        _packet(2, sojourn_ms=5, ecn_in=2, ecn_out=3),
        _packet(3, fate=1, drop_reason=57),
        _packet(4, fate=1, drop_reason=2),
        _packet(5, fate=1),
        _packet(6, fate=1, drop_reason=57, tuple_id=1),
        _packet(7, sojourn_ms=1, interface_index=11),
    ]
    write_table(tmp_path, "packets", rows)
    _account(tmp_path, "bulk")
    found = _metrics(tmp_path)
    assert (found["drops"], found["marks"]) == (3, 1)
    assert (found["queue_ms_mean"], found["queue_ms_max"]) == (4, 5), "at the queue where it waited longest"
    queue = _metrics(tmp_path, "bottleneck:r1", "queue")
    assert queue["drops"] == 4
    reasons = {key: value for key, value in queue.items() if key.startswith("drops_")}
    assert reasons == {"drops_unknown": 1, "drops_not_specified": 1, "drops_qdisc_drop": 2}


def test_reasons_have_the_kernels_names() -> None:
    kernel = {"drop_reasons": ["not_dropped", "consumed", "qdisc_drop"]}
    lab = {"seed": 1, "duration_ns": 1, "flows": [], "links": []}
    run = describe(checked({"id": "x", "kernel": kernel, "lab": lab}, RunDocument, "run.json"))
    assert [run.drop_reason(n) for n in (None, 0, 2, 3)] == ["unknown", "not_dropped", "qdisc_drop", "reason_3"]


def _wire(sent: int, delivered: int, lost: int = 0, queued: int = 0) -> dict[str, int]:
    counts = {"sent_pkts": sent, "delivered_pkts": delivered, "lost_pkts": lost, "queued_pkts": queued}
    return {"interface_index": BOTTLENECK} | counts


@pytest.mark.parametrize(
    ("wire", "duplicate", "status"),
    [
        (_wire(100, 90, 8, 2), 0.0, "ok"),
        (_wire(100, 90, 8, 1), 0.0, "suspect"),
        (_wire(100, 104, 8, 2), 0.0, "suspect"),
        (_wire(100, 104, 8, 2), 0.1, "ok"),
        (_wire(100, 200, 8, 2), 0.1, "suspect"),
    ],
)
def test_a_wire_must_not_lose_unheard(tmp_path: Path, wire: dict[str, int], duplicate: float, status: str) -> None:
    made = _lab("bulk")
    made["links"][1]["ends"][0]["wire"]["duplicate"] = duplicate
    write_description(tmp_path, made)
    write_table(tmp_path, "wires", [wire])
    _account(tmp_path, "bulk")
    assert check_run(tmp_path).status == status


@pytest.mark.parametrize(("counted", "status"), [(3, "ok"), (4, "suspect"), (2, "suspect")])
def test_an_interface_sends_what_leaves_its_queue(tmp_path: Path, counted: int, status: str) -> None:
    write_description(tmp_path, _lab("bulk"))
    write_table(tmp_path, "packets", [_packet(at) for at in (1, 2, 3)])
    samples = [(0, 7), (10 * SECOND, 7 + counted)]
    rows = [{"time_ns": t, "interface_index": BOTTLENECK, "tx_packets": n} for t, n in samples]
    write_table(tmp_path, "links", rows)
    _account(tmp_path, "bulk")
    assert check_run(tmp_path).status == status


@pytest.mark.parametrize(("sent", "lost", "status"), [(4, 1, "ok"), (5, 1, "suspect"), (2, 1, "suspect"), (3, 1, "ok")])
def test_datagrams_must_be_accounted_for(tmp_path: Path, sent: int, lost: int, status: str) -> None:
    """Two arrived and one was dropped: the others must be lost on the wire."""
    write_description(tmp_path, _lab("cbr"))
    write_table(tmp_path, "tuples", [_tuple(0, 20000, 5001) | {"protocol": 17}])
    write_table(tmp_path, "packets", [_packet(1), _packet(2), _packet(3, fate=1)])
    write_table(tmp_path, "datagrams", [_datagram(0, 1), _datagram(1, 1)])
    write_table(tmp_path, "wires", [_wire(2 + lost, 2, lost)])
    _account(tmp_path, "cbr", sent_pkts=sent, connect_ns=None)
    verdict = check_run(tmp_path)
    assert verdict.status == status, verdict
    assert status == "ok" or "datagrams" in str(verdict.reason)


def _counts(index: int, **sums: int) -> dict[str, int]:
    return {"interface_index": index} | sums


@pytest.mark.parametrize(
    ("arrived", "on_wire", "duplicate", "status"),
    [
        (9000, 400, 0.0, "ok"),
        (9000, 399, 0.0, "suspect"),
        (9001, 400, 0.0, "suspect"),
        (9500, 400, 0.1, "ok"),
        (8000, 400, 0.1, "suspect"),
    ],
)
def test_bytes_between_two_recorded_points_add_up(
    tmp_path: Path, arrived: int, on_wire: int, duplicate: float, status: str
) -> None:
    made = _lab("bulk")
    made["links"][1]["ends"][0]["wire"]["duplicate"] = duplicate
    write_description(tmp_path, made)
    near = _counts(BOTTLENECK, sent_bytes=10_000, sent_pkts=10, lost_bytes=600)
    write_table(tmp_path, "interfaces", [near, _counts(BOTTLENECK + 1, arrived_bytes=arrived)])
    write_table(tmp_path, "wires", [{"interface_index": BOTTLENECK, "queued_bytes": on_wire}])
    _account(tmp_path, "bulk")
    verdict = check_run(tmp_path)
    assert verdict.status == status, verdict
    assert status == "ok" or "bytes from bottleneck:r1 to bottleneck:h2 do not add up: 10000 left" in str(
        verdict.reason
    )


@pytest.mark.parametrize(("dropped", "status"), [(3, "ok"), (2, "suspect"), (4, "suspect")])
def test_what_comes_to_a_node_must_go_somewhere(tmp_path: Path, dropped: int, status: str) -> None:
    write_description(tmp_path, _lab("bulk"))
    came = _counts(12, received_pkts=10, delivered_pkts=2, forwarded_pkts=4, dropped_pkts=dropped)
    write_table(tmp_path, "interfaces", [came, _counts(BOTTLENECK, received_pkts=1, elsewhere_pkts=2)])
    _account(tmp_path, "bulk")
    verdict = check_run(tmp_path)
    assert verdict.status == status, verdict
    assert status == "ok" or str(verdict.reason).startswith("packets at r1 do not add up: 11 came, 2 were delivered")


def test_drops_outside_of_queues_have_a_place_and_count_for_their_flow(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("bulk"))
    write_table(tmp_path, "tuples", [_tuple(0, 20000, 5001), _tuple(1, 1, 2)])
    write_table(tmp_path, "packets", [_packet(1), _packet(2, fate=1, drop_reason=57, segments=3)])
    rows: list[dict[str, Any]] = [
        {"interface_index": BOTTLENECK, "place": 1, "drop_reason": 55, "segments": 40},
        {"interface_index": 12, "place": 4, "drop_reason": 63},
        {"interface_index": 12, "place": 4, "drop_reason": 79},
        {"interface_index": BOTTLENECK + 1, "place": 5, "drop_reason": 3},
        {"interface_index": 11, "place": 0, "drop_reason": 48},
        {"interface_index": None, "place": 0, "drop_reason": 48, "tuple_id": 1},
        {"interface_index": BOTTLENECK, "place": 3, "drop_reason": 57},
        {"interface_index": BOTTLENECK + 1, "place": 5, "drop_reason": 32},
        {"interface_index": 12, "place": 4, "drop_reason": 63, "time_ns": 11 * SECOND},
    ]
    write_table(tmp_path, "drops", [{"time_ns": SECOND, "segments": 1} | row for row in rows])
    _account(tmp_path, "bulk")
    found = analyse_run(tmp_path).filter(scope="place", metric="drops")
    assert dict(found.select("name", "value").iter_rows()) == {
        "bottleneck:r1 egress filter": 40,
        "access:r1 ingress filter": 1,
        "access:r1 input": 1,
        "h2 closed port": 1,
        "h1 output": 1,
        "unknown node output": 1,
    }
    assert _metrics(tmp_path, "access:r1 input", "place") == {"drops": 1, "drops_ip_innoroutes": 1}
    assert _metrics(tmp_path)["drops"] == 3 + 40 + 1 + 1 + 1 + 1
    assert _metrics(tmp_path, "bottleneck:r1", "queue")["drops"] == 3


def test_a_flow_starved_by_a_queue_is_a_result(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("bulk"))
    write_table(tmp_path, "tuples", [_tuple(0, 20000, 5001)])
    _account(tmp_path, "bulk", received_bytes=0)
    assert check_run(tmp_path).status == "failed"
    write_table(tmp_path, "packets", [_packet(1, fate=1)])
    assert check_run(tmp_path).status == "ok"


def test_bbrs_time_is_shared_among_its_phases(tmp_path: Path) -> None:
    write_description(tmp_path, _lab("bulk"))
    write_table(tmp_path, "tuples", [_tuple(0, 20000, 5001)])
    gains = ((0, 739, 739), (1, 88, 739), (2, 320, 512), (3, 256, 512), (8, 256, 256), (9, 256, 512))
    acks = [
        {"time_ns": t * SECOND, "tuple_id": 0, "bbr_pacing_gain": p, "bbr_cwnd_gain": c, "bbr_bw_bps": 1}
        for t, p, c in gains
    ]
    write_table(tmp_path, "acks", acks)
    _account(tmp_path, "bulk")
    found = {key: value for key, value in _metrics(tmp_path).items() if key.startswith("bbr_")}
    wanted = {"bbr_startup_pct": 10, "bbr_drain_pct": 10, "bbr_probe_bw_pct": 70, "bbr_probe_rtt_pct": 10}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("reboot: Power down", "ok"),
        ("WARNING: a program of the lab says this", "ok"),
        ("WARNING: CPU: 0 PID: 0 at net/ipv4/tcp_input.c:3018 tcp_fastretrans_alert+0x4/0x9", "suspect"),
        ("WARNING: net/ipv4/tcp_input.c:3018 at tcp_fastretrans_alert+0x4/0x9, CPU#0: swapper/0", "suspect"),
        ("<4>BUG: sleeping function called from invalid context", "suspect"),
        ("BUG: KASAN: slab-use-after-free in mine_main+0x31/0x40 [tcp_mine]", "suspect"),
        ("UBSAN: shift-out-of-bounds in net/ipv4/tcp_cubic.c:200:3", "suspect"),
        ("WARNING: possible circular locking dependency detected", "suspect"),
        ("WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected", "suspect"),
        ("WARNING: inconsistent lock state", "suspect"),
        ("WARNING: bad unlock balance detected!", "suspect"),
        ("WARNING: bad contention detected!", "suspect"),
        ("WARNING: suspicious RCU usage", "suspect"),
        ("WARNING: iperf3/212 still has locks held!", "suspect"),
        ("WARNING: lock held when returning to user space!", "suspect"),
        ("INFO: trying to register non-static key.", "suspect"),
    ],
)
@pytest.mark.slow
def test_a_warning_of_the_kernel_makes_its_run_suspect(tmp_path: Path, line: str, status: str) -> None:
    write_description(tmp_path, _lab("bulk"))
    _account(tmp_path, "bulk")
    (tmp_path / "console.log").write_text(f"first\n{line}\nlast\n")
    verdict = check_run(tmp_path)
    assert verdict.status == status, verdict
    assert (line.removeprefix("<4>") in str(verdict.reason)) == (status == "suspect")

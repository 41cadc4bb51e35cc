"""`quic` on the real engine: goodput and handshakes by closed forms, the controls' answers, failed connections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import SECOND, account, flow, packets_of, pair, values
from netwarp.store.codes import QuicEvent
from netwarp.store.digests import read_digests
from netwarp.store.rundir import RunDir

FULL = 1472
"""UDP payload of a full packet over IPv4 and Ethernet."""
OUTER = 8 + 20 + 14
"""UDP, IPv4, Ethernet."""
INNER = 1 + 8 + 1 + 1 + 1 + 4 + 16
"""Flags, connection ID, packet number, frame type, stream ID, offset, tag: the rest of a full packet is data."""
FRAME = FULL + OUTER
ACCESS = 13
"""Index of h1's interface, if there is a router."""
MS = 10**6


def quic(*lines: str, name: str = "quic") -> str:
    return flow(name, "quic", *lines)


def acks(run: RunDir, name: str = "quic") -> pl.DataFrame:
    return run.scan("quic_acks").filter(flow_id=account(run, name)["flow_id"]).collect()


def arrivals(run: RunDir, name: str = "quic") -> pl.DataFrame:
    return run.scan("quic_arrivals").filter(flow_id=account(run, name)["flow_id"]).collect()


def ms(frame_bytes: int, mbps: int = 10) -> float:
    """The transmission time of a frame."""
    return frame_bytes * 8 / (mbps * 1e3)


def alone(cc: str, mbps: int = 10, limit: int = 50) -> str:
    """A flow through a queue that keeps the link busy through each answer to a loss."""
    text = pair(
        quic(f'cc = "{cc}"'),
        rate=f"{mbps}mbit",
        delay="10ms",
        queue=f"pfifo limit {limit}",
        duration="10s",
        router=True,
    )
    return text.replace("[run]", 'warmup = "2s"\n[run]')


@pytest.mark.parametrize(("mbps", "limit"), [(10, 50), (100, 300)])
@pytest.mark.parametrize("cc", ["cubic", "newreno", "bbr"])
def test_alone_it_has_the_links_payload_rate(runs: Runs, cc: str, mbps: int, limit: int) -> None:
    run = runs(alone(cc, mbps, limit))
    payload = mbps * (FULL - INNER) / (FULL + OUTER)
    assert values(run, "quic")["goodput_mbps"] == pytest.approx(payload, rel=0.02)


@pytest.mark.parametrize(("cc", "factor"), [("newreno", 0.5), ("cubic", 0.7)])
def test_a_congestion_event_multiplies_the_window(runs: Runs, cc: str, factor: float) -> None:
    rows = acks(runs(alone(cc))).with_columns(before=pl.col("cwnd_bytes").shift(1), then=pl.col("time_ns").shift(1))
    events = rows.filter(event=QuicEvent.CONGESTION)
    assert events.height >= 3
    assert (events["time_ns"] == events["then"]).all(), "the acknowledgement that shows the loss has a row before"
    ratios = (events["cwnd_bytes"] / events["before"]).to_list()
    assert ratios == pytest.approx([factor] * len(ratios), abs=1e-4)
    assert (events["cwnd_bytes"] == events["ssthresh_bytes"]).all()
    grows = rows.filter(pl.col("event") != QuicEvent.CONGESTION).drop_nulls("before")
    assert (grows["cwnd_bytes"] >= grows["before"]).all(), "nothing else lowers it"


def test_records_agree_with_the_queue_and_the_socket(runs: Runs) -> None:
    run = runs(alone("cubic"))
    rows, found, totals = acks(run), values(run, "quic"), account(run, "quic")
    packets = packets_of(run, "quic")
    dropped = packets.filter(fate=1).height
    assert dropped > 0
    assert totals["retransmits"] == rows["lost_pkts"][-1]
    assert 0 <= dropped - rows["lost_pkts"][-1] <= 3, "the last ones may be unknown to the sender at the end"
    assert totals["sent_pkts"] == packets_of(run, "quic", interface=ACCESS).height
    assert rows["acked_bytes"].is_sorted()
    assert rows["sent_pkts"].is_sorted()
    new, readable = arrivals(run)["new_bytes"], arrivals(run)["in_order_bytes"]
    assert totals["received_bytes"] == new.sum()
    assert 0 <= int(new.sum()) - int(readable.sum()) < 60 * FULL, "what waits behind a gap at the end"
    assert (readable > new).any()
    window = (2 * SECOND, 10 * SECOND)
    lowered = rows.filter(event=QuicEvent.CONGESTION).filter(pl.col("time_ns").is_between(*window)).height
    assert found["congestion_events"] == lowered
    # The smoothed RTT is between the path's own and that with a full queue.
    assert 20 < found["srtt_ms_mean"] < 20 + 51 * ms(FRAME) + 3
    assert found["cwnd_pkts_mean"] == pytest.approx(50, abs=20)


@pytest.mark.parametrize(("mbps", "delay"), [(10, 5), (10, 50), (1000, 20)])
def test_a_handshake_takes_one_round_trip(runs: Runs, mbps: int, delay: int) -> None:
    """A full datagram in each direction; then the first data leaves."""
    run = runs(pair(quic(), rate=f"{mbps}mbit", delay=f"{delay}ms", duration="1s"))
    found = values(run, "quic")
    trip = 2 * (delay + ms(FRAME, mbps))
    assert found["handshake_ms_mean"] == pytest.approx(trip, abs=0.01)
    assert found["handshake_rtts_mean"] == pytest.approx(trip / (2 * delay), abs=0.01)
    assert found["first_data_ms_mean"] == pytest.approx(trip + delay + ms(FRAME, mbps), abs=0.01)


@pytest.mark.parametrize("delay", [5, 50])
def test_a_resumed_connection_sends_data_in_its_first_flight(runs: Runs, delay: int) -> None:
    text = pair(quic("zero_rtt = true", 'start = "1s"'), delay=f"{delay}ms")
    run = runs(text)
    found = values(run, "quic")
    assert found["first_data_ms_mean"] == pytest.approx(delay + ms(FRAME), abs=0.01)
    flight = packets_of(run, "quic").filter(pl.col("enqueue_ns") == SECOND)
    assert flight.height >= 8, "an initial window of 12,000 bytes"
    before = packets_of(run, "quic").filter(pl.col("enqueue_ns") < SECOND)
    assert before["enqueue_ns"][0] == 0
    assert before.height < 10, "the connection that fetches the ticket has no data"


def test_a_ticket_that_comes_too_late_is_an_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = pair(quic("zero_rtt = true", 'start = "1s"', 'resume_ahead = "150ms"'), delay="50ms")
    status = _status(text, tmp_path_factory)
    assert status["status"] == "failed"
    assert "had no session ticket when the flow began" in str(status["reason"])


def test_streams_share_a_size_and_end_with_it(runs: Runs) -> None:
    run = runs(pair(quic("bytes = 1_000_001", "streams = 7")))
    totals, found = account(run, "quic"), values(run, "quic")
    assert totals["received_bytes"] == arrivals(run)["in_order_bytes"].sum() == 1_000_001
    assert (found["transfers"], found["transfers_incomplete"]) == (1, 0)
    assert totals["end_ns"] == arrivals(run)["time_ns"][-1]
    last = packets_of(run, "quic")["enqueue_ns"][-1]
    assert last < totals["end_ns"] + 15 * MS, "the connection is closed when all has been acknowledged"


def test_a_flow_ends_with_its_duration(runs: Runs) -> None:
    run = runs(pair(quic('duration = "1s"'), queue="pfifo limit 50"))
    sent = packets_of(run, "quic")
    assert SECOND - 3 * MS < sent["enqueue_ns"][-1] <= SECOND
    queued = arrivals(run).filter(pl.col("time_ns") > SECOND)
    assert queued["new_bytes"].sum() > 20 * (FULL - INNER), "what was in the queue arrives"


def test_segments_are_one_entry_of_the_queue(runs: Runs) -> None:
    sent = packets_of(runs(pair(quic("gso = true"), rate="100mbit")), "quic")
    assert 8 <= max(sent["segments"].to_list()) <= 10
    assert packets_of(runs(pair(quic(), rate="100mbit")), "quic")["segments"].max() == 1


def test_a_smaller_datagram_is_the_size_of_every_full_packet(runs: Runs) -> None:
    sent = packets_of(runs(pair(quic("datagram_size = 1300"))), "quic")
    assert sent["packet_bytes"].max() == 1300 + OUTER
    assert sent.filter(packet_bytes=1300 + OUTER).height > 0.95 * sent.height


def test_it_answers_marks_as_losses_if_it_asks_for_ecn(runs: Runs) -> None:
    queue = "fq_codel limit 1000 ecn"
    marked = runs(pair(quic("ecn = true", 'dscp = "AF41"'), queue=queue, duration="6s", router=True))
    rows = packets_of(marked, "quic")
    assert set(rows["ecn_in"]) == {2}
    assert (rows["ecn_out"] == 3).any()
    assert values(marked, "quic")["congestion_events"] >= 1
    assert account(marked, "quic")["retransmits"] == 0
    plain = runs(pair(quic(), queue=queue, duration="6s", router=True))
    assert set(packets_of(plain, "quic")["ecn_in"]) == {0}


def test_over_ipv6_packets_are_as_long(runs: Runs) -> None:
    sent = packets_of(runs(pair(quic('family = "ipv6"'))), "quic")
    assert sent["packet_bytes"].max() == FULL + OUTER


def test_two_runs_have_the_same_bytes(runs: Runs) -> None:
    text = pair(
        quic("streams = 3") + quic("zero_rtt = true", 'start = "1s"', 'cc = "bbr"', name="again") + flow("tcp", "bulk"),
        queue="pfifo limit 40",
        router=True,
    )
    digests = [read_digests(only_run(runs.result(text, *more)).path) for more in ((), ("--seeds", "1"))]
    assert {"quic_acks.arrows", "quic_arrivals.arrows", "packets.arrows"} <= digests[0].keys()
    assert digests[0] == digests[1]


def _status(text: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    place = tmp_path_factory.mktemp("failing")
    (place / "scenario.toml").write_text(text)
    answer = netwarp("run", place / "scenario.toml", "--no-plots", "-o", place / "result")
    assert answer.code != 0
    return dict(only_run(place / "result").status())


def test_a_destination_that_refuses_fails_the_run_with_the_reason(tmp_path_factory: pytest.TempPathFactory) -> None:
    """r1 answers with ICMP that it may not forward to h2 (type 3, code 13)."""
    text = pair(quic(), router=True, tail=REFUSING).replace("[run]", '[run]\ntuner = "refusing"')
    status = _status(text, tmp_path_factory)
    assert status["status"] == "failed"
    assert "cannot connect to 10.0.0.2:5001" in str(status["reason"])
    assert "(ICMP)" in str(status["reason"])


REFUSING = """
[tuners.refusing]
nodes = ["r1"]
program = ["sh", "-c", "ip route replace prohibit 10.0.0.2/32; exec sleep 100"]
"""


def test_a_destination_that_never_answers_ends_with_the_run(runs: Runs) -> None:
    run = runs(pair(quic(), link="loss = '100%'"))
    assert "never connected: the network lost its packets" in str(run.status())
    sent = packets_of(run, "quic")["enqueue_ns"].to_list()
    # A first timeout of three initial round trips of 333 ms (RFC 9002, section 6.2.2), then twice that.
    assert sent[0] == 0
    assert min(at for at in sent if at) == pytest.approx(999 * MS, abs=MS)


DATAGRAM = 1 + 8 + 1 + 1 + 2 + 16
"""Flags, connection ID, packet number, frame type, length, tag: the rest of a packet is a datagram's data."""


def datagrams(*lines: str) -> str:
    return flow("media", "quic_datagrams", *lines)


def received(run: RunDir) -> pl.DataFrame:
    return run.scan("datagrams").filter(flow_id=account(run, "media")["flow_id"]).collect()


def test_datagrams_leave_at_even_intervals_and_arrive_after_the_paths_delay(runs: Runs) -> None:
    """800 bits every millisecond, from the handshake on, on a link that is otherwise empty."""
    run = runs(pair(datagrams('rate = "800kbit"', "message_size = 100"), rate="10mbit", delay="10ms"))
    rows, totals, found = received(run), account(run, "media"), values(run, "media")
    assert rows["sequence"].to_list() == list(range(rows.height))
    assert set(rows["sent_ns"].diff().drop_nulls()) == {MS}
    assert rows["sent_ns"][0] == totals["connect_ns"]
    assert set(rows["payload_bytes"]) == {100}
    delays = ((rows["received_ns"] - rows["sent_ns"]) / MS)[10:].to_numpy()
    assert delays.min() == np.median(delays) == pytest.approx(10 + ms(100 + DATAGRAM + OUTER), abs=1e-5)
    assert delays.max() < delays.min() + 0.02, "some packets have an acknowledgement as well"
    sent = (2 * SECOND - totals["connect_ns"]) // MS
    assert totals["sent_pkts"] == pytest.approx(sent, abs=1)
    assert totals["sent_bytes"] == 100 * totals["sent_pkts"]
    assert totals["received_pkts"] == rows.height
    assert found["loss_pct"] == 0
    assert found["delay_ms_p50"] == pytest.approx(10 + ms(100 + DATAGRAM + OUTER), abs=0.001)
    assert "retransmits" not in found


@pytest.mark.parametrize("cc", ["cubic", "newreno", "bbr"])
def test_without_a_rate_datagrams_fill_the_link(runs: Runs, cc: str) -> None:
    text = alone(cc).replace(quic(f'cc = "{cc}"'), datagrams(f'cc = "{cc}"'))
    run = runs(text)
    size = FULL - 38
    payload = 10 * size / (size + DATAGRAM + OUTER)
    assert values(run, "media")["goodput_mbps"] == pytest.approx(payload, rel=0.02)
    assert account(run, "media")["unsent_pkts"] == 0


@pytest.mark.parametrize("rate", ["20mbit", "1gbit", "20gbit"])
def test_a_rate_above_the_paths_is_carried_as_far_as_the_path_can(runs: Runs, rate: str) -> None:
    """Datagrams leave when the path lets them, however many are due: the backlog drops those that are too many."""
    text = pair(datagrams(f'rate = "{rate}"', 'backlog = "50kB"'), delay="10ms", queue="pfifo limit 200", router=True)
    run = runs(text)
    totals, rows = account(run, "media"), received(run)
    size = FULL - 38
    payload = 10 * size / (size + DATAGRAM + OUTER)
    assert values(run, "media")["goodput_mbps"] == pytest.approx(payload, rel=0.05)
    interval_ns = size * 8 * SECOND / RATES[rate]
    due = (2 * SECOND - totals["connect_ns"]) / interval_ns
    waiting = 50_000 // size
    assert totals["sent_pkts"] == pytest.approx(due, abs=waiting + 2)
    left = totals["sent_pkts"] - totals["unsent_pkts"]
    assert left - rows.height == pytest.approx(packets_of(run, "media").filter(fate=1).height, abs=220)
    numbers = rows["sequence"].to_numpy()
    due_ns = totals["connect_ns"] + np.floor(numbers * interval_ns)
    assert np.abs(rows["sent_ns"].to_numpy() - due_ns).max() <= 1, "each has the instant at which it was due"


RATES = {"20mbit": 20e6, "1gbit": 1e9, "20gbit": 20e9}


def test_datagrams_under_way_at_the_end_are_not_lost(runs: Runs) -> None:
    """The queue grows until the run's end, and drops nothing."""
    run = runs(pair(datagrams(), queue="pfifo limit 10000", delay="20ms", router=True))
    assert packets_of(run, "media").filter(fate=1).is_empty()
    assert values(run, "media")["loss_pct"] == 0


def test_a_flow_that_is_shorter_than_its_handshake_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    status = _status(pair(datagrams('duration = "30ms"'), delay="20ms", duration="1s"), tmp_path_factory)
    assert (
        "flow media ended 30ms after its start, before its handshake could: this takes at least a round trip, and the "
        "delays of its path alone are 40ms"
    ) in str(status["reason"])


def test_lost_datagrams_are_those_that_the_queue_dropped(runs: Runs) -> None:
    """Each packet has one datagram, and none is sent again."""
    run = runs(alone("cubic").replace(quic('cc = "cubic"'), datagrams()))
    rows, totals = received(run), account(run, "media")
    packets = packets_of(run, "media")
    dropped = packets.filter(fate=1).height
    assert dropped > 0
    there = packets.filter(fate=0).height
    missing = set(range(rows["sequence"].to_list()[-1] + 1)) - set(rows["sequence"])
    assert 0 <= dropped - len(missing) <= 3, "the last ones were sent after the last that arrived"
    assert 0 <= totals["sent_pkts"] - rows.height - dropped <= 60, "what was on its way at the end"
    assert 0 <= there - rows.height <= 60
    losses = values(run, "media")["loss_pct"]
    window = packets.filter(pl.col("enqueue_ns") > 2 * SECOND)
    assert losses == pytest.approx(100 * window.filter(fate=1).height / window.height, abs=0.05)


def test_a_backlog_drops_the_oldest(runs: Runs) -> None:
    """Twice what the link carries: the wait is that of a full backlog, and half of the datagrams are lost."""
    size = 1000
    lines = ('rate = "19mbit"', f"message_size = {size}", f"backlog = {20 * size}")
    run = runs(pair(datagrams(*lines), queue="pfifo limit 100", duration="10s", router=True))
    rows, totals = received(run), account(run, "media")
    assert rows["sequence"].is_sorted(), "they leave in order"
    carried = 10e6 / (8 * (size + DATAGRAM + OUTER))
    assert totals["received_pkts"] / (10 - totals["connect_ns"] / 1e9) == pytest.approx(carried, rel=0.03)
    lost = 100 * (1 - carried * size * 8 / 19e6)
    assert values(run, "media")["loss_pct"] == pytest.approx(lost, abs=1)
    late = rows.filter(pl.col("sent_ns") > 5 * SECOND)
    waits = (late["received_ns"] - late["sent_ns"]).max()
    # 20 datagrams of the backlog, 100 in the queue, and the path.
    assert isinstance(waits, int)
    assert waits / MS < 5 + 1 + 121 * ms(size + DATAGRAM + OUTER) + 20 * ms(size + DATAGRAM + OUTER) * 1.5


def test_figures_that_cannot_be_drawn_are_named(tmp_path: Path) -> None:
    text = pair(quic(), duration="1s").replace("[run]", 'figures = [{ metric = "flow.mos" }, "nothing"]\n[run]', 1)
    (tmp_path / "scenario.toml").write_text(text)
    answer = netwarp("run", tmp_path / "scenario.toml", "-o", tmp_path / "result")
    assert answer.code == 0
    assert "a figure was not drawn: no run that counts has flow.mos note:" in answer.words
    assert "a figure was not drawn: there is no figure nothing" in answer.words

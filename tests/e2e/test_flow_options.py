"""Options of flows, each against an observation that does not come from the sockets: the bytes of a capture, the time
that packets take, what a queue does with them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_headers import ICMP, TCP, UDP, octets, seen
from e2e_runs import Runs
from e2e_traffic import FORWARD, flow, packets_of, pair, values

SCTP = 132
CAPTURE = '[record]\ncaptures = [{ at = "wire:h1" }]\n'
SYN, PSH, ACK, ECE, CWR = 0x02, 0x08, 0x10, 0x40, 0x80
EF, ECT_0, ECN_BITS = 46, 2, 3
UNFRAGMENTED = ('rate = "1mbit"', "packet_size = 1000")
"""The default size is that of IPv4; over IPv6 such a datagram is two fragments, of which one has no ports."""


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_dscp_is_in_every_packet_of_both_directions(runs: Runs, family: str) -> None:
    lines = ('dscp = "EF"', f'family = "{family}"')
    flows = flow("tcp", "bulk", *lines) + flow("udp", "cbr", *UNFRAGMENTED, 'dscp = "AF41"', lines[1])
    packets = seen(runs(pair(flows + flow("other", "cbr", *UNFRAGMENTED), tail=CAPTURE)))
    assert octets(packets, TCP) == {EF << 2}
    assert sum(packet.protocol == TCP and packet.source_port == 5001 for packet in packets) > 100
    assert {p.octet for p in packets if p.destination_port == 5002 and p.protocol == UDP} == {34 << 2}
    assert {p.octet for p in packets if p.destination_port == 5003 and p.protocol == UDP} == {0}


def test_servers_and_new_connections_have_it_as_well(runs: Runs) -> None:
    flows = (
        flow("page", "request", "response_size = 30000", 'think = "50ms"', "dscp = 10")
        + flow("many", "incast", "senders = 3", "response_size = 5000", 'think = "50ms"', "dscp = 10")
        + flow("open", "open_loop", 'arrivals = "every 100ms"', "size = 20000", "dscp = 10")
    )
    packets = seen(runs(pair(flows, tail=CAPTURE)))
    for port in (5001, 5002, 5003):
        assert {p.octet for p in packets if port in (p.source_port, p.destination_port)} == {10 << 2}


def test_a_call_and_its_reports_have_its_dscp(runs: Runs) -> None:
    call = flow("call", "media", 'control = "gcc"', 'dscp = "AF41"', "ecn = true")
    packets = seen(runs(pair(call + flow("other", "media", 'codec = "g711"'), tail=CAPTURE)))
    media = {p.octet for p in packets if p.destination_port == 5001}
    reports = {p.octet for p in packets if p.source_port == 5001}
    assert media == reports == {34 << 2 | 2}
    assert {p.octet for p in packets if p.destination_port == 5002} == {0}


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_an_association_and_its_acknowledgements_have_its_dscp(runs: Runs, family: str) -> None:
    packets = seen(runs(pair(flow("sctp", "sctp", 'dscp = "AF41"', f'family = "{family}"'), tail=CAPTURE)))
    ends = {(p.source_port, p.destination_port): p.octet >> 2 for p in packets if p.protocol == SCTP}
    assert set(ends.values()) == {34} and len(ends) == 2


def test_an_echo_is_answered_with_its_dscp(runs: Runs) -> None:
    packets = seen(runs(pair(flow("ping", "ping", 'dscp = "CS5"') + flow("bulk", "bulk"), tail=CAPTURE)))
    assert octets(packets, ICMP) == {40 << 2}
    assert octets(packets, TCP) == {0}


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_one_connection_asks_for_ecn_beside_another_that_does_not(runs: Runs, family: str) -> None:
    flows = flow("with", "bulk", "ecn = true", f'family = "{family}"') + flow("without", "bulk", f'family = "{family}"')
    run = runs(pair(flows, queue="codel ecn", duration="5s", router=True, tail=CAPTURE.replace("wire:h1", "wire:r1")))
    packets = seen(run, "wire-r1")
    of = {
        name: [p for p in packets if port in (p.source_port, p.destination_port)]
        for name, port in (("with", 5001), ("without", 5002))
    }
    requested = {name: {p.flags for p in found if p.flags & SYN} for name, found in of.items()}
    assert requested == {"with": {SYN | ECE | CWR, SYN | ACK | ECE}, "without": {SYN, SYN | ACK}}
    carried = {name: {p.octet & ECN_BITS for p in found if p.payload_bytes} for name, found in of.items()}
    assert carried == {"with": {ECT_0, 3}, "without": {0}}
    assert values(run, "with")["drops"] == 0 < values(run, "with")["marks"]
    assert values(run, "without")["drops"] > 0 == values(run, "without")["marks"]


def test_datagrams_that_ecn_may_mark_are_not_dropped(runs: Runs) -> None:
    flows = flow("load", "bulk", "count = 4") + "".join(
        flow(name, "cbr", 'rate = "1mbit"', f"ecn = {name == 'marked'}".lower()) for name in ("marked", "dropped")
    )
    run = runs(pair(flows, queue="codel ecn", duration="10s", router=True))
    marked, dropped = values(run, "marked"), values(run, "dropped")
    assert marked["drops"] == 0 < marked["marks"]
    assert dropped["marks"] == 0 < dropped["drops"]


def test_a_priority_goes_first_in_the_queue_of_its_node(runs: Runs) -> None:
    """Two sources of 8 Mbit/s for 10: the first band of `prio` has what it sends, the second what is left."""
    flows = flow("first", "cbr", 'rate = "8mbit"', "priority = 6") + flow("second", "cbr", 'rate = "8mbit"')
    run = runs(pair(flows, queue="prio", duration="5s"))
    assert values(run, "first")["goodput_mbps"] == pytest.approx(8 * 1472 / 1514, rel=0.002)
    assert values(run, "second")["goodput_mbps"] == pytest.approx(2 * 1472 / 1514, rel=0.01)


def test_a_priority_may_be_a_class(runs: Runs) -> None:
    """Both directions: an accepted connection has it as well, so the answers are in the class of the server's node."""
    tree = """
raw.h1 = [
  "qdisc add dev {dev} root handle 1: htb default 20",
  "class add dev {dev} parent 1: classid 1:10 htb rate 3mbit ceil 3mbit quantum 1514",
  "class add dev {dev} parent 1: classid 1:20 htb rate 1mbit ceil 1mbit quantum 1514",
]
raw.h2 = [
  "qdisc add dev {dev} root handle 1: htb default 20",
  "class add dev {dev} parent 1: classid 1:10 htb rate 2mbit ceil 2mbit quantum 1514",
  "class add dev {dev} parent 1: classid 1:20 htb rate 1mbit ceil 1mbit quantum 1514",
]
"""
    flows = flow("up", "bulk", 'priority = "1:10"') + flow("rest", "bulk")
    flows += flow("down", "request", "response_size = 50000", 'priority = "1:10"')
    text = pair(flows, duration="10s", link=tree).replace('queue = "pfifo limit 1000"', "")
    run = runs(text)
    payload = 1448 / 1514
    assert values(run, "rest")["goodput_mbps"] == pytest.approx(1 * payload, rel=0.03)
    down = values(run, "down")["goodput_mbps"]
    assert 1.2 < down < 2 * payload, "the default class has 1 Mbit/s"
    assert 2.6 < values(run, "up")["goodput_mbps"] < 3 * payload, "beside the requests"


@pytest.mark.parametrize("segments", [4, 32])
def test_an_initial_window_is_the_first_rounds_packets(runs: Runs, segments: int) -> None:
    lines = (f"initial_window = {segments}",)
    flows = flow("up", "bulk", "bytes = 100_000", *lines) + flow(
        "down", "request", "response_size = 100_000", 'think = "10s"', *lines
    )
    run = runs(pair(flows, rate="100mbit", delay="50ms", duration="1s", tail=CAPTURE))
    for port, is_source in ((5001, False), (5002, True)):
        data = [
            p.time_ns
            for p in seen(run)
            if p.payload_bytes > 1000 and (p.source_port if is_source else p.destination_port) == port
        ]
        assert sum(time < data[0] + 90_000_000 for time in data) == segments


def test_a_paced_flow_sends_its_payload_at_its_cap(runs: Runs) -> None:
    run = runs(pair(flow("bulk", "bulk", 'pacing_rate = "4mbit"'), duration="5s"))
    assert values(run, "bulk")["goodput_mbps"] == pytest.approx(4, rel=0.005)
    gaps = packets_of(run, "bulk")["enqueue_ns"].diff().drop_nulls()
    assert gaps.slice(20).median() == pytest.approx(1448 * 8 / 4e6 * 1e9, abs=2)
    assert run.scan("sockets").select(pl.col("max_pacing_rate_bps").max()).collect().item() == 4_000_000


def test_an_mss_is_announced_by_both_ends_and_kept(runs: Runs) -> None:
    packets = seen(runs(pair(flow("bulk", "bulk", "mss = 536") + flow("other", "bulk"), tail=CAPTURE)))
    announced = {
        (5002 in (p.source_port, p.destination_port), bool(p.flags & ACK)): p.option(2)
        for p in packets
        if p.flags & SYN
    }
    small, usual = (536).to_bytes(2, "big"), (1460).to_bytes(2, "big")
    assert announced == {(False, False): small, (False, True): small, (True, False): usual, (True, True): usual}
    assert max(p.payload_bytes for p in packets if p.destination_port == 5001) == 536 - 12, "without the timestamps"
    assert max(p.payload_bytes for p in packets if p.destination_port == 5002) == 1448


def test_a_receive_buffer_bounds_the_window_and_so_the_rate(runs: Runs) -> None:
    run = runs(
        pair(
            flow("bulk", "bulk", 'receive_buffer = "32kB"'), rate="100mbit", delay="50ms", duration="10s", tail=CAPTURE
        )
    )
    answers = [p for p in seen(run) if p.source_port == 5001]
    (scale,) = {option[0] for p in answers if p.flags & SYN and (option := p.option(3))}
    window = max(p.window << scale for p in answers if not p.flags & SYN)
    assert 16_000 < window <= 64_000, "the kernel doubles the buffer, and keeps a part for its overhead"
    assert values(run, "bulk")["goodput_mbps"] == pytest.approx(window * 8 / 0.1 / 1e6, rel=0.1)
    assert not values(run, "bulk").get("drops")


def test_a_send_buffer_bounds_the_rate(runs: Runs) -> None:
    """With half the buffer, half as many segments are in flight; none beyond the kernel's doubled size."""
    goodputs = []
    for size in (32_000, 64_000):
        run = runs(pair(flow("bulk", "bulk", f"send_buffer = {size}"), rate="100mbit", delay="50ms", duration="10s"))
        flying = run.scan("acks").select(pl.col("in_flight_pkts").max()).collect().item()
        assert 0.25 * size < flying * 1448 < 2 * size
        goodputs.append(values(run, "bulk")["goodput_mbps"])
        assert goodputs[-1] < 2 * size * 8 / 0.1 / 1e6
    assert goodputs[1] / goodputs[0] == pytest.approx(2, rel=0.1)


def test_few_bytes_wait_unsent(runs: Runs) -> None:
    waiting = {}
    for name, lines in (("usual", ()), ("bounded", ('notsent_lowat = "16kB"',))):
        text = pair(flow("bulk", "bulk", *lines), duration="5s", tail='[record]\nsample = "10ms"\n')
        sockets = runs(text).scan("sockets").filter(pl.col("node") == "h1", pl.col("time_ns") > 10**9)
        waiting[name] = sockets.select(pl.col("notsent_bytes").max()).collect().item()
        assert values(runs(text), "bulk")["goodput_mbps"] == pytest.approx(10 * 1448 / 1514, rel=0.02)
    assert waiting["bounded"] <= 16_000 + 1448 < waiting["usual"], waiting


@pytest.mark.parametrize(("given", "per_ack"), [("", 2), ("delayed_acks = false", 1)])
def test_without_delayed_acks_every_segment_is_acknowledged(runs: Runs, given: str, per_ack: int) -> None:
    packets = seen(runs(pair(flow("bulk", "bulk", given), duration="5s", tail=CAPTURE)))
    later = [p for p in packets if p.time_ns > 2 * 10**9]
    data = sum(p.payload_bytes > 0 for p in later)
    answers = sum(p.source_port == 5001 for p in later)
    # A segment with PSH is acknowledged at once if the program has read all in front of it (tcp_cleanup_rbuf()).
    pushed = sum(p.payload_bytes > 0 and bool(p.flags & PSH) for p in later)
    assert pushed < data / 10
    assert data / per_ack - 2 <= answers <= data / per_ack + (pushed if per_ack == 2 else 0) + 2


def test_any_other_option_is_passed_on(runs: Runs) -> None:
    """IP_TOS by its number."""
    packets = seen(runs(pair(flow("bulk", "bulk", 'setsockopt = ["0 1 184"]'), tail=CAPTURE)))
    assert octets(packets, TCP) == {184}


def test_an_option_that_the_kernel_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(pair(flow("bulk", "bulk", 'setsockopt = ["6 2 1"]')))
    answer = netwarp("run", tmp_path / "bad.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code != 0
    assert "flow bulk: option 2 of level 6 1: Invalid argument" in answer.out + answer.err


def test_groups_of_flows_have_one_route_together(runs: Runs) -> None:
    """The routes lead by a router, which has its own."""
    flows = flow("first", "bulk", "count = 3", "initial_window = 4") + flow("second", "bulk", "count = 2")
    run = runs(pair(flows, rate="100mbit", delay="50ms", duration="1s", router=True))
    for name, segments in (("first", 4), ("second", 10)):
        for number in range({"first": 3, "second": 2}[name]):
            times = packets_of(run, f"{name}.{number}", FORWARD).filter(packet_bytes=1514)["enqueue_ns"]
            assert (times < times[0] + 90_000_000).sum() == segments

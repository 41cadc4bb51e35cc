"""Mahimahi's traces compared with mm-link, ported from its source: every departure and every drop, to the
nanosecond."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import datagrams_of, flow, packets_of, values
from netwarp.store.rundir import RunDir

MS = 10**6
S = 10**9
FORWARD, BACK = 13, 14
"""Interfaces of the traced link: r1's and h2's."""
DELAY_NS = 10 * MS
LIMITS = {FORWARD: 30, BACK: 20}
PACKET_SIZE = 1504


class LinkQueue:
    """mm-link's LinkQueue with a DropTailPacketQueue (link_queue.cc, drop_tail_packet_queue.hh), line by line.

    mm-link reads IP and four bytes from its TUN device, and its clock has milliseconds.
    """

    def __init__(self, schedule: list[int], limit: int) -> None:
        self.schedule = schedule
        self.limit = limit
        self.next_delivery = 0
        self.base_ms = 0
        self.queue: deque[tuple[int, int]] = deque()
        self.in_transit = -1
        self.bytes_left = 0
        self.departures_ms: dict[int, int] = {}
        self.dropped: set[int] = set()

    def next_delivery_time(self) -> int:
        return self.schedule[self.next_delivery] + self.base_ms

    def read_packet(self, number: int, arrival_ns: int, frame_bytes: int) -> None:
        self.rationalize(arrival_ns // MS)
        if len(self.queue) + 1 <= self.limit:
            self.queue.append((number, frame_bytes - 14 + 4))
        else:
            self.dropped.add(number)

    def rationalize(self, now_ms: int) -> None:
        while self.next_delivery_time() <= now_ms:
            this_delivery_ms = self.next_delivery_time()
            bytes_left_in_this_delivery = PACKET_SIZE
            self.next_delivery = (self.next_delivery + 1) % len(self.schedule)
            if self.next_delivery == 0:
                self.base_ms += self.schedule[-1]
            while bytes_left_in_this_delivery > 0:
                if not self.bytes_left:
                    if not self.queue:
                        break
                    self.in_transit, self.bytes_left = self.queue.popleft()
                amount = min(bytes_left_in_this_delivery, self.bytes_left)
                self.bytes_left -= amount
                bytes_left_in_this_delivery -= amount
                if self.bytes_left == 0:
                    self.departures_ms[self.in_transit] = this_delivery_ms


def lines(times: list[int]) -> str:
    return "".join(f"{at}\n" for at in times)


def radio(seed: int, period_ms: int, outage: tuple[int, int]) -> list[int]:
    """Opportunities at random, in bursts of up to twenty, with an outage; the last one is at the period."""
    draw = random.Random(seed)
    starts = [draw.randrange(period_ms) for _ in range(period_ms // 6)]
    found = [at for at in starts if not outage[0] <= at < outage[1] for _ in range(draw.choice((1, 1, 1, 2, 20)))]
    return sorted([*found, period_ms])


TRACES = {
    "radio": {FORWARD: radio(1, 997, (300, 650)), BACK: radio(2, 331, (100, 180))},
    "bursts": {FORWARD: [50] * 50 + [100] * 50, BACK: [0, 0, 1, 7]},
    "even": {FORWARD: [1], BACK: [1, 3, 1000, 1001, 1002]},
}
FLOWS = (
    flow("four", "bulk")
    + flow("six", "bulk", 'family = "ipv6"', 'cc = "bbr"')
    + flow("small", "poisson", 'rate = "2mbit"', "packet_size = 200")
    + flow("six_small", "poisson", 'rate = "500kbit"', "packet_size = 90", 'family = "ipv6"')
    + flow("down", "poisson", 'rate = "1mbit"', "packet_size = 700", ends=("h2", "h1"))
)


def scenario(folder: Path, name: str, duration: str = "5s", flows: str = FLOWS) -> str:
    for interface, way in ((FORWARD, "up"), (BACK, "down")):
        (folder / f"{name}.{way}").write_text(lines(TRACES[name][interface]))
    return f"""
name = "mahimahi"
duration = "{duration}"
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.radio]
ends = ["r1", "h2"]
trace = {{ forward = "{folder}/{name}.up", reverse = "{folder}/{name}.down" }}
delay = "10ms"
queue = {{ forward = "pfifo limit {LIMITS[FORWARD]}", reverse = "pfifo limit {LIMITS[BACK]}" }}
{flows}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def packets_at(run: RunDir, interface: int) -> pl.DataFrame:
    """Every packet that came to a queue, in order; of those of one instant, first the one that left first."""
    rows = run.scan("packets").filter(pl.col("interface_index") == interface).collect()
    return rows.sort("enqueue_ns", "dequeue_ns", nulls_last=True, maintain_order=True)


@pytest.mark.parametrize("interface", [FORWARD, BACK])
@pytest.mark.parametrize("name", TRACES)
def test_every_departure_and_every_drop_is_mm_links(runs: Runs, folder: Path, name: str, interface: int) -> None:
    run = runs(scenario(folder, name))
    packets = packets_at(run, interface)
    link = LinkQueue(TRACES[name][interface], LIMITS[interface])
    for number, (arrival_ns, size) in enumerate(packets.select("enqueue_ns", "packet_bytes").iter_rows()):
        link.read_packet(number, arrival_ns, size)
    link.rationalize(5000)
    departures = [link.departures_ms.get(number) for number in range(packets.height)]
    expected = [None if at is None else at * MS for at in departures]
    assert packets["dequeue_ns"].to_list() == expected
    assert set(packets.with_row_index().filter(fate=1)["index"]) == link.dropped
    assert packets.height > 400 and (interface == BACK or link.dropped), "all of it happened"
    assert packets.filter(pl.col("packet_bytes") < 1000).height > 100


@pytest.mark.parametrize("name", TRACES)
def test_the_wire_adds_its_delay_and_nothing_else(runs: Runs, folder: Path, name: str) -> None:
    run = runs(scenario(folder, name))
    for sender, interface in (("small", FORWARD), ("down", BACK)):
        left = packets_of(run, sender, interface).drop_nulls("dequeue_ns").sort("dequeue_ns")
        if interface == FORWARD:  # on the way back the access link follows
            came = datagrams_of(run, sender).sort("received_ns")["received_ns"].to_list()
            assert came == (left["dequeue_ns"] + DELAY_NS).to_list()[: len(came)] and len(came) > left.height - 50
        assert left.height > 30


@pytest.mark.parametrize("name", TRACES)
def test_utilisation_is_the_part_of_the_opportunities_that_was_used(runs: Runs, folder: Path, name: str) -> None:
    run = runs(scenario(folder, name))
    for interface, end in ((FORWARD, "radio:r1"), (BACK, "radio:h2")):
        trace = TRACES[name][interface]
        rounds = 5000 // trace[-1] + 1
        there = sum(round_ * trace[-1] + at <= 5000 for round_ in range(rounds) for at in trace)
        sent = packets_at(run, interface).filter(fate=0)
        used = (sent["packet_bytes"].cast(pl.Int64) - 10).sum() / (there * PACKET_SIZE)
        assert values(run, end, "link")["utilisation"] == pytest.approx(used, rel=1e-9)
        assert used <= 1


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_aggregates_use_what_their_packets_would(runs: Runs, folder: Path, family: str) -> None:
    text = scenario(folder, "bursts", flows=flow("bulk", "bulk", f'family = "{family}"'))
    run = runs(text.replace("[links.radio]", "offload = true\n[links.radio]"))
    sent = packets_at(run, FORWARD).filter(fate=0)
    segments = sent["segments"].to_numpy()
    assert segments.max() > 1
    used = sent["packet_bytes"].to_numpy().sum() - 10 * segments.sum()
    there = 50 * 5000 // 50
    assert values(run, "radio:r1", "link")["utilisation"] == pytest.approx(used / (there * PACKET_SIZE), rel=1e-9)


def test_packets_that_gro_makes_one_of_are_not_lost(runs: Runs, folder: Path) -> None:
    """Fifty opportunities at once let that many packets arrive together; `runs` checks that all sums match."""
    text = scenario(folder, "bursts", flows=flow("bulk", "bulk"))
    run = runs(text.replace("delay =", "offload = true\ndelay ="))
    came = run.scan("arrivals").filter(pl.col("new_bytes") > PACKET_SIZE).collect()
    assert not came.is_empty(), "else none was merged, and this says nothing"
    assert run.scan("drops").filter(pl.col("function") == "skb_release_data").collect().is_empty()


def test_a_full_link_uses_every_opportunity(runs: Runs, folder: Path) -> None:
    """One opportunity a millisecond, and datagrams of 1500 bytes of IP, which count as its 1504 bytes."""
    full = flow("full", "cbr", 'rate = "20mbit"') + '[run]\nstart_jitter = "0s"\n'
    run = runs(scenario(folder, "even", flows=full))
    left = packets_at(run, FORWARD).drop_nulls("dequeue_ns")["dequeue_ns"].to_list()
    assert left[:4999] == [at * MS for at in range(1, 5000)]
    assert values(run, "radio:r1", "link")["utilisation"] == pytest.approx(len(left) / 5000, rel=1e-9)


def test_nothing_passes_an_outage(runs: Runs, folder: Path) -> None:
    """A second with an opportunity each millisecond, a second without any."""
    TRACES["onoff"] = {FORWARD: [*range(1, 1001), 2000], BACK: [1]}
    run = runs(scenario(folder, "onoff", duration="6s"))
    left = packets_at(run, FORWARD).drop_nulls("dequeue_ns")["dequeue_ns"]
    assert left.filter((left > S) & (left < 2 * S)).is_empty()
    assert left.filter((left > 3 * S) & (left < 4 * S)).is_empty()
    assert left.filter((left >= 2 * S) & (left <= 3 * S)).len() > 900


def test_two_runs_are_the_same_bytes(runs: Runs, folder: Path) -> None:
    text = scenario(folder, "radio")
    one, other = (only_run(runs.result(text, *arguments)).path for arguments in ((), ("--jobs", "1")))
    assert one != other
    assert (one / "digests.json").read_bytes() == (other / "digests.json").read_bytes()


@pytest.mark.parametrize("queue", ["fq_codel", "codel", "fq", "cake bandwidth 1gbit", "red limit 90000 avpkt 1514"])
def test_any_queue_stands_under_it(runs: Runs, folder: Path, queue: str) -> None:
    """Packets leave at instants of the trace, no more bytes than it lets through, and are all accounted for."""
    text = scenario(folder, "radio").replace(f"pfifo limit {LIMITS[FORWARD]}", queue)
    run = runs(text)  # its status is ok, so packets are conserved
    sent = packets_at(run, FORWARD).filter(fate=0)
    trace = TRACES["radio"][FORWARD]
    counts = {at: trace.count(at) for at in trace}
    assert sent.height > 1000
    for (left_ns,), packets in sent.group_by("dequeue_ns"):
        assert left_ns % MS == 0
        round_, at = divmod(left_ns // MS, trace[-1])
        there = counts.get(at, 0) + (counts[trace[-1]] if at == 0 and round_ else 0)
        # A packet that began in an earlier one may end in this one.
        assert (packets["packet_bytes"].cast(pl.Int64) - 10).sum() < (there + 1) * PACKET_SIZE
        assert there


def test_other_things_change_while_the_trace_goes_on(runs: Runs, folder: Path) -> None:
    """A change of the delay and of the queue leaves the opportunities as they are."""
    change = '[[changes]]\nat = "2s"\nlink = "radio"\ndelay = "30ms"\n'
    change += '[[changes]]\nat = "3s"\nlink = "radio"\nqueue = { forward = "fq_codel" }\n'
    run = runs(scenario(folder, "radio") + change)
    left = packets_at(run, FORWARD).filter(fate=0)["dequeue_ns"].unique()
    times = {round_ * 997 + at for round_ in range(6) for at in TRACES["radio"][FORWARD]}
    assert {at // MS for at in left} <= times and (left % MS == 0).all()
    assert left.filter(left > 3500 * MS).len() > 50


def test_a_result_keeps_its_trace_and_says_what_it_does(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(scenario(folder, "bursts", duration="1s"))
    shown = netwarp("show", tmp_path / "s.toml")
    assert shown.code == 0, shown.err
    assert "1: opportunity (100 opportunities of 1504 bytes at 2 instants, period 100ms" in shown.out
    assert "trace (12.03 Mbit/s on average) 10ms" in shown.out
    assert netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result").code == 0
    again = netwarp("rerun", tmp_path / "result")
    assert again.code == 0, again.err

"""Links that are devices (`wire = "device"`): exact times, their queue as root, and losses by plan."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import BOTTLENECK, PING, dumbbell
from e2e_traffic import BACK, FORWARD, account, datagrams_of, flow, packets_of, pair, values
from netwarp.store.codes import Fate, Place
from netwarp.store.digests import read_digests
from netwarp.store.rundir import RunDir
from numpy.typing import NDArray

MS = 10**6
DEVICE = 'wire = "device"'
Numbers = NDArray[np.int64]
PLANS: dict[str, Callable[[Numbers, Numbers], NDArray[np.bool_]]] = {
    "every 100": lambda numbers, _: numbers % 100 == 0,
    "packets 17, 18, 40": lambda numbers, _: np.isin(numbers, [17, 18, 40]),
    "from 3s to 3.2s": lambda _, left_ns: (left_ns >= 3_000 * MS) & (left_ns < 3_200 * MS),
}
"""Plans of losses, and which packets they mean, by their numbers and by the times at which they leave the queue."""


def devices(**changes: str) -> str:
    """The dumbbell, both of whose links are devices."""
    return dumbbell(**changes).replace("\nends =", f"\n{DEVICE}\nends =")  # type: ignore[arg-type]


def frame_ns(rate_bps: int, size: int) -> int:
    """How long a frame takes that finds the device idle, up to the next whole nanosecond."""
    return ceil(Fraction(size * 8 * 10**9, rate_bps))


@pytest.mark.parametrize("size", [56, 1000])
@pytest.mark.parametrize(("rate", "rate_bps"), [("10mbit", 10**7), ("3mbit", 3 * 10**6)])
def test_a_lone_packet_takes_its_time_to_the_nanosecond(runs: Runs, rate: str, rate_bps: int, size: int) -> None:
    """Each way: serialisation on two links, and the delay of one."""
    run = runs(devices(rate=rate, delay="10ms", access="1gbit", flows=f"{PING}size = {size}", duration="5s"))
    times = run.scan("pings").collect()["rtt_ns"].to_list()
    frame_bytes = 14 + 20 + 8 + size
    one_way_ns = 10 * MS + frame_ns(rate_bps, frame_bytes) + frame_ns(10**9, frame_bytes)
    assert len(times) >= 49
    assert set(times) == {2 * one_way_ns}


@pytest.mark.parametrize(("rate", "rate_bps"), [("7mbit", 7 * 10**6), ("9999999999bit", 9_999_999_999)])
def test_frames_of_a_busy_period_take_the_time_of_their_bytes(runs: Runs, rate: str, rate_bps: int) -> None:
    """The nth leaves when all before it have been serialised: their rounding does not add up."""
    run = runs(devices(rate=rate, access="20gbit", duration="1s", delay="1ms", queue="pfifo limit 60"))
    packets = run.scan("packets").filter(interface_index=BOTTLENECK, fate=Fate.SENT).collect().sort("dequeue_ns")
    left = packets["dequeue_ns"].to_list()
    sizes = packets["packet_bytes"].to_list()
    begin, total, followers = left[0], 0, 0
    for before, size, now in zip(left, sizes, left[1:], strict=False):
        total += size
        expected = begin + frame_ns(rate_bps, total)
        if now <= expected:
            followers += 1
            assert now == expected, f"after {before}"
        else:
            begin, total = now, 0
    assert followers > 300


def test_two_runs_have_the_same_bytes(runs: Runs) -> None:
    text = devices(duration="3s", queue="fq_codel limit 100")
    one, other = (read_digests(runs(text, "--set", f"summary={name}").path) for name in ("one", "other"))
    same = {name for name in one if name.endswith(".arrows") and one[name] == other[name]}
    assert {"packets.arrows", "acks.arrows", "sockets.arrows", "queues.arrows", "links.arrows"} <= same
    assert same == {name for name in one if name.endswith(".arrows")}


@pytest.mark.parametrize("queue", ["pfifo limit 100", "fq_codel limit 100", "pfifo_fast"])
def test_no_packet_waits_outside_of_the_queue(runs: Runs, queue: str) -> None:
    """A queue that may be bypassed is not while the device is busy: it would be handed back (requeued)."""
    run = runs(devices(duration="3s", queue=queue))
    queues = run.scan("queues").filter(interface_index=BOTTLENECK).collect()
    assert queues["packets"].to_numpy().max() > 2000
    assert queues["requeues"].to_numpy().max() == 0
    assert set(queues["parent"].unique()) == {0xFFFFFFFF}, "it is the root"


RED = "red limit 400000 min 30000 max 90000 avpkt 1500 burst 200 bandwidth 10mbit probability 0.1"


@pytest.mark.parametrize("wire", ["netem", "device"])
def test_red_learns_that_a_device_was_idle(runs: Runs, wire: str) -> None:
    """Ten times the rate for 0.3 s, a pause of a minute, and then a tenth of it.

    Below a shaper the average never decays, so that RED drops every packet although its queue is empty.
    """
    burst = flow("burst", "cbr", 'rate = "100mbit"', 'duration = "300ms"')
    later = flow("later", "cbr", 'rate = "1mbit"', 'start = "60s"')
    status = "ok" if wire == "device" else "suspect"
    run = runs(pair(burst + later, link=f'wire = "{wire}"', queue=RED, duration="63s"), status=status)
    fates = packets_of(run, "later")["fate"].to_list()
    assert len(fates) > 200
    assert set(fates) == {Fate.SENT if wire == "device" else Fate.DROPPED}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_planned_losses_are_exact_to_the_packet(runs: Runs, plan: str, family: str) -> None:
    """Packets that the kernel sends by itself (MLD) do not count: the first packet is the flow's first."""
    sent = flow("cbr", "cbr", 'rate = "5mbit"', "packet_size = 1400", f'family = "{family}"')
    run = runs(pair(sent, link=f'{DEVICE}\nloss = {{ forward = "{plan}" }}', duration="5s"))
    packets = packets_of(run, "cbr").filter(fate=Fate.SENT)
    left_ns = packets["dequeue_ns"].to_numpy()
    planned = PLANS[plan](np.arange(1, len(left_ns) + 1), left_ns)
    arrived = np.isin(np.arange(account(run, "cbr")["sent_pkts"]), datagrams_of(run, "cbr")["sequence"].to_numpy())
    on_wire = wire(run)["queued_pkts"]
    assert planned.sum() >= 3
    assert np.array_equal(~arrived[: len(left_ns) - on_wire], planned[: len(left_ns) - on_wire])
    assert_losses_are_the_wires(run, FORWARD, planned)


def test_planned_losses_of_acks(runs: Runs) -> None:
    """The directions have separate plans; losing ACKs costs no goodput, and nothing is sent again."""
    bulk = flow("bulk", "bulk")
    run = runs(pair(bulk, link=f'{DEVICE}\nloss = {{ reverse = "every 10" }}', duration="5s", router=True))
    sent = run.scan("packets").filter(interface_index=BACK, fate=Fate.SENT).collect()
    assert wire(run, FORWARD)["lost_pkts"] == 0
    assert wire(run, BACK)["lost_pkts"] == sent.height // 10 > 100
    assert values(run, "bulk")["goodput_mbps"] > 9


def test_packets_from_a_plan_to_the_drops_table(runs: Runs) -> None:
    """A TCP flow: data packets 500 and 501 are lost, and retransmitted by fast recovery."""
    run = runs(pair(flow("bulk", "bulk"), link=f'{DEVICE}\nloss = {{ forward = "packets 500, 501" }}', router=True))
    packets = run.scan("packets").filter(interface_index=FORWARD, fate=Fate.SENT).collect().sort("dequeue_ns")
    assert_losses_are_the_wires(run, FORWARD, np.isin(np.arange(1, packets.height + 1), [500, 501]))
    assert values(run, "bulk")["retransmits"] == 2


def wire(run: RunDir, interface: int = FORWARD) -> dict[str, int]:
    """The sums of a direction."""
    return run.scan("wires").filter(interface_index=interface).collect().row(0, named=True)


def assert_losses_are_the_wires(run: RunDir, interface: int, planned: NDArray[np.bool_]) -> None:
    """The wire's sums, the recorder's sums and its drops have these losses, each when its last bit had left."""
    packets = run.scan("packets").filter(interface_index=interface, fate=Fate.SENT).collect().sort("dequeue_ns")
    lost = packets.filter(pl.Series(planned))
    drops = run.scan("drops").filter(interface_index=interface, place=Place.SENT).collect().sort("time_ns")
    after_ns = drops["time_ns"].to_numpy() - lost["dequeue_ns"].to_numpy()
    serialised_ns = lost["packet_bytes"].to_numpy() * 800  # at 10 Mbit/s
    assert np.abs(after_ns - serialised_ns).max() <= 1
    assert set(drops["function"].to_list()) == {"wire_lose"}
    counted = run.scan("interfaces").filter(interface_index=interface).collect().row(0, named=True)
    assert wire(run, interface)["lost_pkts"] == counted["lost_pkts"] == int(planned.sum())
    assert counted["lost_bytes"] == int(lost["packet_bytes"].sum())

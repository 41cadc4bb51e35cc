"""The models of energy against closed forms and published numbers, with synthetic packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from energy_theory import asleep_share, radio_watts, wake_delay
from netwarp.analysis.energy.consumption import Consumption, Packets, by_tuple, in_order
from netwarp.analysis.energy.nodes import node_consumption
from netwarp.analysis.energy.ports import port_consumption, transmission_ns
from netwarp.energy.model import Coalescing, Host, LowPowerIdle, NodeModel, Port, Radio, Switch
from netwarp.energy.named import shipped_model
from netwarp.stats.weighting import Times, Window

WITHIN = 0.005
MANY = 500_000
NONE = np.empty(0, np.int64)


def packets(times: Times, sizes: int | np.ndarray = 1500, *, sent: bool = True, tuples: int = 1) -> Packets:
    count = len(times)
    frame_bytes = np.broadcast_to(np.asarray(sizes, np.int64), count)
    ones = np.ones(count, np.int64)
    return Packets(times.astype(np.int64), frame_bytes, ones, ones * tuples, np.full(count, sent))


def port(name: str) -> Port:
    model = shipped_model(name)
    assert isinstance(model, Port)
    return model


def idle_of(model: Port) -> LowPowerIdle:
    assert model.low_power_idle is not None
    return model.low_power_idle


def radio(name: str) -> Radio:
    model = shipped_model(name)
    assert isinstance(model, Radio)
    return model


def share(used: Consumption, window: Window) -> float:
    asleep = used.asleep_ns(window)
    assert asleep is not None
    return asleep / window.length_ns


def watts(used: Consumption, window: Window) -> float:
    return float(used.joules(np.array(window.bounds))[0]) / window.seconds


def poisson(load: float, model: Port, sizes: tuple[int, ...], count: int = MANY) -> tuple[Packets, float]:
    """Frames of random sizes that arrive as a Poisson process at this load, and their rate per ns."""
    random = np.random.default_rng(35)
    frames = random.choice(sizes, count)
    mean_ns = float(np.mean(transmission_ns(model, packets(np.zeros(len(sizes), np.int64), np.array(sizes)))))
    rate = load / mean_ns
    return packets(np.cumsum(random.exponential(1 / rate, count)).astype(np.int64), frames), rate


def one_way(model: Port, frames: Packets) -> Consumption:
    return port_consumption(model, [frames, packets(NONE)])[0]


@pytest.mark.parametrize("name", ["100base-tx-eee", "1000base-t-eee", "10gbase-t-eee"])
def test_a_constant_rate_has_an_exact_cycle(name: str) -> None:
    """One frame each period: asleep for the rest of it after Tw, the frame, and Ts."""
    model = port(name)
    idle = idle_of(model)
    frame = float(transmission_ns(model, packets(np.zeros(1, np.int64)))[0])
    awake = idle.wake_us * 1e3 + frame + idle.sleep_us * 1e3
    period = round(3 * awake)
    used = one_way(model, packets(np.arange(1, 1001) * period))
    window = Window(period, 1000 * period)
    assert share(used, window) == pytest.approx(1 - awake / period, rel=1e-4)
    assert used.wakes(Window(1, 1000 * period)) == 1000
    left = 1 - awake / period
    expected = model.active_w * (1 - left + left * idle.mean_share)
    assert watts(used, window) == pytest.approx(expected, rel=1e-4)
    assert used.mean_delay_ms(window) == pytest.approx(idle.wake_us / 1e3)


def test_frames_without_gaps_never_sleep() -> None:
    model = port("10gbase-t-eee")
    frame = round(float(transmission_ns(model, packets(np.zeros(1, np.int64)))[0]))
    used = one_way(model, packets(np.arange(1, 1001) * frame))
    assert share(used, Window(frame, 1000 * frame)) == 0
    assert watts(used, Window(frame, 1000 * frame)) == model.active_w


SLOW = pytest.mark.slow
CASES = [
    ("1000base-t-eee", (1500,), 0.05),
    ("10gbase-t-eee", (100, 600, 1500), 0.3),
    # The same at other loads.
    ("1000base-t-eee", (1500,), 0.01),
    ("1000base-t-eee", (1500,), 0.3),
    ("10gbase-t-eee", (1500,), 0.05),
    ("10gbase-t-eee", (100, 600, 1500), 0.05),
    ("10gbase-t-eee", (1500,), 0.6),
]


@SLOW
@pytest.mark.parametrize(("name", "sizes", "load"), CASES)
def test_poisson_arrivals_agree_with_an_mg1_queue_with_set_up(name: str, sizes: tuple[int, ...], load: float) -> None:
    model = port(name)
    idle = idle_of(model)
    frames, rate = poisson(load, model, sizes)
    used, window = one_way(model, frames), Window(0, int(frames.times_ns[-1]))
    asleep = asleep_share(idle, rate, load)
    assert watts(used, window) == pytest.approx(model.active_w * (1 - asleep * (1 - idle.mean_share)), rel=WITHIN)
    if load <= 0.05:  # at higher loads sleep is rare, and its time varies by more than that in so many frames
        assert share(used, window) == pytest.approx(asleep, rel=WITHIN)
        assert used.mean_delay_ms(window) == pytest.approx(wake_delay(idle, rate) / 1e6, rel=WITHIN)


@SLOW
@pytest.mark.parametrize("load", [0.05, 0.4])
@pytest.mark.parametrize(
    "coalescing",
    [
        Coalescing(time_us=12.0),
        Coalescing(time_us=1.0),
        Coalescing(time_us=12.0, frames=10),
        Coalescing(time_us=1000.0, frames=4),
    ],
    ids=["time", "time below Ts", "time or count", "count"],
)
def test_bursts_agree_with_their_closed_form(coalescing: Coalescing, load: float) -> None:
    model = replace(port("10gbase-t-eee"), coalescing=coalescing)
    idle = idle_of(model)
    frames, rate = poisson(load, model, (1500,))
    used, window = one_way(model, frames), Window(0, int(frames.times_ns[-1]))
    asleep = asleep_share(idle, rate, load, coalescing)
    assert share(used, window) == pytest.approx(asleep, rel=WITHIN)
    assert watts(used, window) == pytest.approx(model.active_w * (1 - asleep * (1 - idle.mean_share)), rel=WITHIN)


PUBLISHED = {
    ("100base-tx-eee", 1500): 48.0,
    ("100base-tx-eee", 150): 8.4,
    ("1000base-t-eee", 1500): 5.7,
    ("1000base-t-eee", 150): 0.6,
    ("10gbase-t-eee", 1500): 14.0,
    ("10gbase-t-eee", 150): 1.6,
}
"""P. Reviriego et al., Performance Evaluation of Energy Efficient Ethernet, IEEE Communications Letters 13(9), 2009:
the share of the time awake in which a single frame is sent, in percent, from 1500 B and 150 B without headers, and with
the draft's Ts of 100 µs for 100BASE-TX."""


@pytest.mark.parametrize(("name", "size"), PUBLISHED)
def test_single_frames_are_as_inefficient_as_published(name: str, size: int) -> None:
    model = replace(port(name), overhead_bytes=0)
    if name.startswith("100base"):
        model = replace(model, low_power_idle=replace(idle_of(model), sleep_us=100.0))
    period = 10**6
    used = one_way(model, packets(np.arange(1, 1001) * period, size))
    window = Window(period, 1000 * period)
    sending = float(transmission_ns(model, packets(np.zeros(1, np.int64), size))[0])
    efficiency = 100 * sending / (period * (1 - share(used, window)))
    assert efficiency == pytest.approx(PUBLISHED[name, size], abs=0.5 if size == 1500 else 0.05)


@SLOW
def test_a_gigabit_port_at_half_load_hardly_sleeps_and_saves_only_at_low_load() -> None:
    """The curve of that letter, and of K. Christensen et al., IEEE 802.3az: The Road to Energy Efficient Ethernet (IEEE
    Communications Magazine 48(11), 2010): a gigabit port without coalescing is awake all the time at half load."""
    model = port("1000base-t-eee")
    awake = {}
    for load in (0.01, 0.1, 0.5):
        frames, _ = poisson(load, model, (1500,), 100_000)
        awake[load] = 1 - share(one_way(model, frames), Window(0, int(frames.times_ns[-1])))
    assert awake[0.5] > 0.999
    assert awake[0.1] > 0.8
    assert awake[0.01] < 0.3


def test_a_gigabit_link_sleeps_only_while_both_directions_are_idle() -> None:
    """Frames of the two directions in turn: both sleep while neither sends. At 10 Gbit/s each sleeps independently."""
    period, shift = 10**6, 500_000
    times = np.arange(1, 1001) * period
    window = Window(period, 1000 * period)
    for name, cycles in (("1000base-t-eee", 2), ("10gbase-t-eee", 1)):
        model = port(name)
        idle = idle_of(model)
        awake = idle.wake_us * 1e3 + float(transmission_ns(model, packets(times[:1]))[0]) + idle.sleep_us * 1e3
        both = port_consumption(model, [packets(times), packets(times + shift)])
        expected = 1 - cycles * awake / period
        assert [share(used, window) for used in both] == pytest.approx([expected] * 2, rel=2e-3)


def node(model: NodeModel, frames: Packets, links: int = 1) -> Consumption:
    return node_consumption(model, frames, links, frames.frame_bytes <= 94)


@SLOW
@pytest.mark.parametrize("name", ["lte", "wifi"])
@pytest.mark.parametrize("gap_s", [0.05, 3.0, 20.0])
def test_a_radio_under_poisson_arrivals_agrees_with_its_renewals(name: str, gap_s: float) -> None:
    model = radio(name)
    random = np.random.default_rng(35)
    times = np.cumsum(random.exponential(gap_s * 1e9, 400_000)).astype(np.int64)
    used, window = node(model, packets(times)), Window(0, int(times[-1]))
    assert watts(used, window) == pytest.approx(radio_watts(model, 1 / (gap_s * 1e9), 12000.0), rel=WITHIN)


def test_a_lone_packet_of_lte_pays_promotion_and_tail() -> None:
    """One packet in 30 s: promotion, 0.1 s active, 20 ms of short DRX, 11.456 s of long DRX, then idle."""
    model = radio("lte")
    used = node(model, packets(np.array([10**9]), 125, sent=False))
    window = Window(0, 30 * 10**9)
    promotion, active, awake = 0.2601, 0.1, 11.476
    short, long = (tail.mean_w for tail in model.tails)
    expected = promotion * 1.2107 + active * 1.28804 + 0.02 * short + 11.456 * long + 0.001 * 0.05197
    expected += (30 - promotion - active - awake) * model.idle.mean_w
    assert watts(used, window) * 30 == pytest.approx(expected)
    assert used.wakes(window) == 1
    assert share(used, window) == pytest.approx(1 - (promotion + active + awake) / 30)
    (first, second) = used.joules(np.array([0, 10**9, 2 * 10**9]))
    assert first == pytest.approx(model.idle.mean_w)
    assert second > 1.0


def test_a_constant_rate_keeps_a_radio_active() -> None:
    model = radio("lte")
    times = np.arange(10, 1011) * 10**7
    used = node(model, packets(times, 1250))
    window = Window(10**9, 10 * 10**9)
    assert watts(used, window) == pytest.approx(1.28804 + 0.43839, rel=2e-3), "1 Mbit/s of uplink"
    assert used.wakes(Window(0, 10**10)) == 1


def test_a_switch_pays_for_ports_packets_and_bytes() -> None:
    model = Switch(summary="", idle_w=100.0, port_w=2.0, packet_nj=1000.0, byte_nj=2.0)
    both = [packets(np.arange(1, 1001) * 10**6, 1000), packets(np.arange(1, 1001) * 10**6, 1000, sent=False)]
    used = node(model, in_order(both), links=3)
    assert watts(used, Window(0, 2 * 10**9)) == pytest.approx(106 + (1e-6 + 2e-6) * 1000 / 2)
    assert used.asleep_ns(Window(0, 10)) is None
    assert used.wakes(Window(0, 10)) is None


def test_a_host_pays_for_packets_acks_and_wake_ups() -> None:
    """Packets of a Poisson process find the host asleep with probability exp(−λ T), T being how long it stays awake."""
    model = Host(
        summary="",
        idle_w=1.0,
        sent_packet_uj=10.0,
        received_packet_uj=20.0,
        ack_uj=5.0,
        byte_nj=1.0,
        wakeup_uj=100.0,
        awake_ms=1.0,
    )
    times = np.cumsum(np.random.default_rng(35).exponential(2e6, 300_000)).astype(np.int64)
    kinds = [packets(times[0::3], 1000), packets(times[1::3], 500, sent=False), packets(times[2::3], 66, sent=False)]
    used, window = node(model, in_order(kinds)), Window(0, int(times[-1]))
    silent = np.exp(-0.5)
    assert share(used, window) == pytest.approx(silent, rel=WITHIN)
    assert used.wakes(window) == pytest.approx(silent * 300_000, rel=WITHIN)
    each = (10 + 20 + 5) / 3 * 1e-6 + (1000 + 500 + 66) / 3 * 1e-9 + silent * 100e-6
    assert watts(used, window) == pytest.approx(1 + each * 300_000 / window.seconds, rel=WITHIN)


def test_tuples_share_what_no_packet_costs_by_their_bytes() -> None:
    model = Switch(summary="", idle_w=3.0, port_w=0.0, packet_nj=0.0, byte_nj=1e6)
    times = np.arange(1, 11) * 10**8
    used = node(model, in_order([packets(times, 200, tuples=1), packets(times, 100, tuples=2)]))
    found = by_tuple([used], Window(0, 10**9))
    assert found == pytest.approx({1: 2.0 + 2.0, 2: 1.0 + 1.0})
    assert sum(found.values()) == pytest.approx(float(used.joules(np.array([0, 10**9 + 1]))[0]))
    assert by_tuple([used], Window(2 * 10**9, 3 * 10**9)) == {}


def test_a_part_without_packets_sleeps_all_the_time() -> None:
    window = Window(0, 10**9)
    assert share(one_way(port("1000base-t-eee"), packets(NONE)), window) == 1
    used = node(radio("lte"), packets(NONE))
    assert share(used, window) == 1
    assert watts(used, window) == pytest.approx(radio("lte").idle.mean_w)
    laptop = shipped_model("laptop")
    assert isinstance(laptop, Host)
    assert share(node(laptop, packets(NONE)), window) == 1
    assert node(laptop, packets(NONE)).mean_delay_ms(window) is None

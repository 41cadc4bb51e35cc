"""UDP generators on the real engine: they send as configured, and every datagram is accounted for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from e2e_runs import Runs
from e2e_traffic import (
    BACK,
    FORWARD,
    SECOND,
    account,
    datagrams_of,
    flow,
    lindley,
    packets_of,
    pair,
    unaccounted,
    values,
)
from netwarp.store.schemas import TABLES
from scipy import stats  # type: ignore[import-untyped]

FRAME_BITS = 1514 * 8
PACKET_NS = FRAME_BITS * 100  # at 10 Mbit/s


def test_a_constant_rate_is_kept_to_the_nanosecond(runs: Runs) -> None:
    run = runs(pair(flow("cbr", "cbr", 'rate = "5mbit"')))
    arrived = datagrams_of(run, "cbr")
    # The rate counts whole frames: one of 1,514 bytes every 2.4224 ms.
    assert set(arrived["sent_ns"].diff().drop_nulls()) == {2 * PACKET_NS}
    assert arrived["sent_ns"][0] <= 1, "a timer fires within the nanosecond"
    assert account(run, "cbr")["sent_pkts"] == -(-2 * SECOND // (2 * PACKET_NS))
    assert unaccounted(run, [FORWARD]) == 0
    # Alone on the path, each takes its serialisation and the link's delay.
    delays = (arrived["received_ns"] - arrived["sent_ns"]).unique().to_list()
    assert delays == [5_000_000 + PACKET_NS]
    found = values(run, "cbr")
    assert found["delay_ms_max"] == found["delay_ms_mean"] == pytest.approx(6.2112)
    assert found["jitter_ms_mean"] == found["loss_pct"] == found["duplicates"] == found["reordered_pct"] == 0
    assert found["goodput_mbps"] == pytest.approx(5 * 1472 / 1514, rel=0.01)


def test_each_sojourn_at_a_deterministic_server_follows_from_the_arrivals(runs: Runs) -> None:
    """M/D/1 at a load of 0.9: not its mean, which is random, but every single packet (Lindley's recursion)."""
    run = runs(pair(flow("p", "poisson", 'rate = "9mbit"'), duration="20s"))
    packets = packets_of(run, "p").filter(fate=0)
    arrivals = packets["enqueue_ns"].to_numpy()
    waits = lindley(arrivals, np.full(len(arrivals), float(PACKET_NS)))
    sojourns = packets["dequeue_ns"].to_numpy() - arrivals
    assert len(sojourns) > 10_000
    assert np.abs(sojourns - waits).max() <= 1000, "every packet, within a microsecond"
    assert unaccounted(run, [FORWARD]) == 0
    # The theoretical mean, ρ / (2 (1 − ρ)) services, within the deviation of 20 s at a load of 0.9.
    assert sojourns.mean() / PACKET_NS == pytest.approx(0.9 / (2 * 0.1), rel=0.5)


def test_sizes_are_drawn_and_served_by_their_length(runs: Runs) -> None:
    text = pair(flow("p", "poisson", 'rate = "8mbit"', 'packet_size = "exponential 600"'), duration="5s")
    run = runs(text)
    packets = packets_of(run, "p").filter(fate=0)
    arrivals, services = packets["enqueue_ns"].to_numpy(), packets["packet_bytes"].to_numpy() * 800.0
    sojourns = packets["dequeue_ns"].to_numpy() - arrivals
    # Timers are a nanosecond late, which adds up over a busy period of thousands: so from one packet to the next.
    steps = np.maximum(0, sojourns[:-1] + services[:-1] - np.diff(arrivals))
    assert np.abs(sojourns[1:] - steps).max() <= 10
    assert np.abs(sojourns - lindley(arrivals, services)).max() <= 2000
    sizes = packets["packet_bytes"].to_numpy() - 42
    assert sizes.min() >= 16
    assert sizes.max() <= 1472
    assert packets["packet_bytes"].sum() * 8 / 5 == pytest.approx(8e6, rel=0.05)
    assert unaccounted(run, [FORWARD]) == 0


def test_poisson_arrivals_are_poisson(runs: Runs) -> None:
    run = runs(pair(flow("p", "poisson", 'rate = "9mbit"'), duration="20s"))
    sent = packets_of(run, "p")["enqueue_ns"]
    expected = 20 * 9e6 / FRAME_BITS
    assert abs(len(sent) - expected) < 4 * expected**0.5, "a count of mean N has the deviation √N"
    gaps = sent.diff().drop_nulls().to_numpy()
    assert stats.kstest(gaps, "expon", args=(0, FRAME_BITS / 9e6 * SECOND)).pvalue > 1e-4


def test_on_and_off_alternate(runs: Runs) -> None:
    text = pair(flow("burst", "on_off", 'rate = "5mbit"', 'on = "100ms"', 'off = "150ms"'))
    run = runs(text)
    sent = datagrams_of(run, "burst")["sent_ns"].to_numpy()
    assert (sent % (SECOND // 4) < SECOND // 10).all(), "nothing while off"
    counts = np.bincount(sent // (SECOND // 4))
    assert set(counts) == {-(-SECOND // 10 // (2 * PACKET_NS))}
    assert unaccounted(run, [FORWARD]) == 0


def test_on_and_off_last_as_drawn(runs: Runs) -> None:
    lines = ('rate = "5mbit"', 'on = "20ms exponential"', 'off = "20ms exponential"')
    run = runs(pair(flow("burst", "on_off", *lines), duration="20s"))
    sent = datagrams_of(run, "burst")["sent_ns"].to_numpy()
    # About 500 pairs of spells of deviation 20 ms: half of the time on, ± 4 deviations of its mean.
    assert len(sent) * 2 * PACKET_NS / (20 * SECOND) == pytest.approx(0.5, abs=0.1)
    assert unaccounted(run, [FORWARD]) == 0


def test_what_a_full_queue_and_a_lossy_wire_take_is_accounted_for(runs: Runs) -> None:
    flows = flow("cbr", "cbr", 'rate = "6mbit"') + flow("p", "poisson", 'rate = "6mbit"')
    run = runs(pair(flows, queue="pfifo limit 20", link='loss = "1%"', duration="5s"))
    assert unaccounted(run, [FORWARD]) == 0
    (wire,) = run.scan("wires").filter(interface_index=FORWARD).collect().iter_rows(named=True)
    low, high = stats.binom.interval(0.9999, wire["sent_pkts"], 0.01)
    assert low <= wire["lost_pkts"] <= high
    dropped = {name: values(run, name)["drops"] for name in ("cbr", "p")}
    assert sum(dropped.values()) == values(run, "wire:h1", "queue")["drops"] > 100
    assert values(run, "wire:h1", "queue")["drops_qdisc_drop"] == sum(dropped.values())
    for name, drops in dropped.items():
        lost = account(run, name)["sent_pkts"] * values(run, name)["loss_pct"] / 100
        assert drops < lost < drops + wire["lost_pkts"] + 1


def test_duplicates_and_reordering_are_told(runs: Runs) -> None:
    twice = runs(pair(flow("cbr", "cbr", 'rate = "5mbit"'), link='duplicate = "10%"'))
    copies = account(twice, "cbr")["duplicate_pkts"]
    sent = account(twice, "cbr")["sent_pkts"]
    low, high = stats.binom.interval(0.9999, sent, 0.1)
    assert low <= copies <= high
    assert values(twice, "cbr")["duplicates"] == copies
    assert values(twice, "cbr")["loss_pct"] == 0
    late = runs(pair(flow("cbr", "cbr", 'rate = "5mbit"'), link='reorder = "10%"'))
    assert values(late, "cbr")["reordered_pct"] > 1
    assert values(late, "cbr")["loss_pct"] == 0


def test_both_directions_and_both_families_at_once(runs: Runs) -> None:
    flows = (
        flow("there", "cbr", 'rate = "3mbit"')
        + flow("back", "poisson", 'rate = "3mbit"', ends=("h2", "h1"))
        + flow("six", "cbr", 'rate = "3mbit"', 'family = "ipv6"', "packet_size = 1000")
    )
    run = runs(pair(flows))
    assert unaccounted(run, [FORWARD, BACK]) == 0
    frames = packets_of(run, "six")["packet_bytes"].unique().to_list()
    assert frames == [1000 + 8 + 40 + 14]
    assert packets_of(run, "back", BACK).height == account(run, "back")["sent_pkts"]


def test_datagrams_in_fragments_are_not_held_to_be_lost(runs: Runs) -> None:
    """1,472 bytes fit into a packet of IPv4 and not into one of IPv6, whose later fragments have another protocol."""
    six = flow("six", "cbr", 'rate = "6mbit"', 'family = "ipv6"', "packet_size = 1472")
    run = runs(pair(six + flow("four", "cbr", 'rate = "6mbit"'), queue="pfifo limit 20", duration="3s"))
    assert 44 in run.scan("tuples").collect()["protocol"]
    assert values(run, "six")["loss_pct"] > 10


def test_several_queues_in_series_conserve_datagrams(runs: Runs) -> None:
    text = """
name = "tandem"
duration = "2s"
[nodes]
h1 = {}
r1 = { forward = true }
r2 = { forward = true }
h2 = {}
[links]
a = { ends = ["h1", "r1"], rate = "20mbit", queue = "pfifo limit 30" }
b = { ends = ["r1", "r2"], rate = "12mbit", delay = "3ms", loss = "1%", queue = "pfifo limit 10" }
c = { ends = ["r2", "h2"], rate = "8mbit", queue = "pfifo limit 10" }
""" + flow("p", "poisson", 'rate = "15mbit"')
    run = runs(text)
    assert unaccounted(run, [11, 13, 15]) == 0
    drops = {name: values(run, name, "queue")["drops"] for name in ("a:h1", "b:r1", "c:r2")}
    assert drops["b:r1"] > 0
    assert drops["c:r2"] > 0
    assert values(run, "p")["drops"] == sum(drops.values())


_OF_OTHER_RUNS = {
    *("sysctls", "machine", "clocks"),  # of programs as tuners, and of real time
    *("variables", "states"),  # of modules
    "rate_control",  # of adaptive media: test_media.py
    *("quic_acks", "quic_arrivals"),  # of QUIC: test_quic.py
    *("mptcp", "mptcp_reads"),  # of MPTCP: test_mptcp.py
    *("pages", "objects"),  # of HTTP: test_http.py
    *("segments", "playback"),  # of videos: test_video.py
    "queue_states",  # of queues that a scenario names: test_queue_states.py
    *("namespaces", "devices", "disciplines", "endpoints"),  # of commands
}
"""Tables of other runs, which have their own tests."""


def test_every_table_is_as_the_page_of_records_says(runs: Runs) -> None:
    run = runs(pair(flow("cbr", "cbr", 'rate = "5mbit"')))
    for name, table in TABLES.items():
        path = run.path / table.file
        if name in _OF_OTHER_RUNS:
            assert not path.exists(), name
            continue
        written = pa.ipc.open_stream(pa.memory_map(str(path))).schema
        # Order, types, what may be absent, units and meanings.
        assert written.equals(table.schema, check_metadata=True), table.name
    packets = run.path / "packets.arrows"
    assert 3 * packets.stat().st_size < pa.ipc.open_stream(packets.read_bytes()).read_all().nbytes, "compressed"

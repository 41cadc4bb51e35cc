"""A node's captures by the common clock: what was sent at the run's beginning is in them, whatever the node's clock."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from netwarp.engines.ssh.clocks import NodeClock, Reading
from netwarp.engines.ssh.records import corrected_capture
from netwarp.values.constants import CAPTURE_LEAD_NS, NS_PER_S

HEAD = bytes(range(24))
T0_NS = 50 * NS_PER_S
LIMIT_NS = 1_000_000


def _clock(offset_ns: int, drift_ppm: int) -> NodeClock:
    """A clock that was read 3 s before the run and 7 s after it began, and begins by what was read before."""
    before = Reading(T0_NS - 3 * NS_PER_S, offset_ns, 0, 0)
    gained_ns = 10 * NS_PER_S * drift_ppm // 10**6
    after = Reading(T0_NS + 7 * NS_PER_S, offset_ns + gained_ns, 0, 0)
    return NodeClock(before, after, T0_NS, T0_NS + offset_ns)


def _pcap(times_ns: Sequence[int]) -> bytes:
    """A capture with a packet of three bytes, of which two were kept, at each time."""
    packets = (struct.pack("<IIII", *divmod(time_ns, NS_PER_S), 2, 3) + b"ab" for time_ns in times_ns)
    return HEAD + b"".join(packets)


def _written(times_ns: Sequence[int]) -> bytes:
    """As the agent of a node writes it."""
    return _pcap([time_ns + CAPTURE_LEAD_NS for time_ns in times_ns])


@pytest.mark.parametrize(("drift_ppm", "begins_ns"), [(0, 0), (100, -300_000), (-100, 300_000)])
def test_a_clock_that_drifts_shifts_a_capture_and_loses_nothing_of_the_run(drift_ppm: int, begins_ns: int) -> None:
    clock = _clock(10**12, drift_ppm)
    assert clock.common_ns(0) == pytest.approx(begins_ns, abs=100)
    # By its own clock the node saw the first packet of the run at -begins_ns.
    at_ns = [-begins_ns, NS_PER_S - begins_ns]
    found = corrected_capture(_written(at_ns), clock, -LIMIT_NS)
    (first, second) = (struct.unpack_from("<II", found, 24 + 18 * n) for n in range(2))
    assert len(found) == 24 + 2 * 18
    assert first[0] == 0 and first[1] < 100
    assert second[0] * NS_PER_S + second[1] == pytest.approx(NS_PER_S, abs=1000 + NS_PER_S * abs(drift_ppm) // 10**6)


def test_packets_from_before_the_run_are_left_out_and_those_of_its_first_instants_begin_it() -> None:
    clock = _clock(0, 0)
    times_ns = [-100_000_000, -LIMIT_NS - 1, -LIMIT_NS, -1, 0, 5]
    assert corrected_capture(_written(times_ns), clock, -LIMIT_NS) == _pcap([0, 0, 0, 5])


@pytest.mark.parametrize("cut", range(1, 18))
def test_a_packet_that_is_not_whole_is_left_out(cut: int) -> None:
    clock = _clock(0, 0)
    assert corrected_capture(_written([1, 2])[:-cut], clock, 0) == _pcap([1])


def test_a_time_that_no_capture_has_is_left_out() -> None:
    content = HEAD + struct.pack("<IIII", 2**32 - 1, 2**32 - 1, 0, 0)
    assert corrected_capture(content, _clock(0, 0), 0) == HEAD

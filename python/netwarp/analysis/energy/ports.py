"""Ports of links: when a direction with Energy-Efficient Ethernet would have slept, given when its frames left.

The frames are those of the run, which does not model sleep: the time that a frame would have waited for a port to wake
is counted, but not fed back. A direction is asleep before its first frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netwarp.analysis.energy.consumption import Consumption, Packets, steady
from netwarp.energy.model import Coalescing, LowPowerIdle, Port
from netwarp.stats.weighting import Values

_ROWS = 1 << 16
"""Frames that are held as Python's numbers at a time."""


def transmission_ns(port: Port, packets: Packets) -> Values:
    """How long the port sends each packet."""
    octets = (packets.frame_bytes + port.overhead_bytes * packets.segments).astype(np.float64)
    return octets * (8e3 / port.rate_mbps)


def port_consumption(port: Port, directions: Sequence[Packets]) -> list[Consumption]:
    """The consumption of each direction of a link with such ports."""
    idle = port.low_power_idle
    if idle is None:
        return [steady(port.active_w, packets, np.zeros(len(packets))) for packets in directions]
    groups = [directions] if idle.both_directions else [[packets] for packets in directions]
    return [one for group in groups for one in _asleep_together(port, idle, group)]


def _asleep_together(port: Port, idle: LowPowerIdle, directions: Sequence[Packets]) -> Iterator[Consumption]:
    """The consumption of directions that sleep only together."""
    times = np.concatenate([packets.times_ns for packets in directions])
    sending = np.concatenate([transmission_ns(port, packets) for packets in directions])
    which = np.repeat(np.arange(len(directions)), [len(packets) for packets in directions])
    order = np.argsort(times, kind="stable")
    sleeper = Sleeper(idle, port.coalescing, len(directions))
    delay_ns = np.empty(len(times))
    delay_ns[order] = sleeper.run(times[order], sending[order], which[order])
    edges = np.round(sleeper.edges_ns).astype(np.int64)
    from_ns = np.concatenate([[edges[0] - 1], edges])
    asleep = np.arange(len(from_ns)) % 2 == 1
    watts = np.where(asleep, port.active_w * idle.mean_share, port.active_w)
    wakes = np.round(sleeper.wakes_ns).astype(np.int64)
    ends = np.cumsum([len(packets) for packets in directions])
    for packets, late in zip(directions, np.split(delay_ns, ends[:-1]), strict=True):
        yield Consumption(from_ns, watts, packets, np.zeros(len(packets)), asleep, wakes, late)


@dataclass
class Sleeper:
    """The states of directions that sleep together; times in ns.

    Idle, they fall asleep at once, which takes Ts and cannot be ended early. A frame that finds them asleep, or falling
    asleep, wakes them, or waits for others to do so if frames are coalesced.
    """

    idle: LowPowerIdle
    coalescing: Coalescing | None
    directions: int
    edges_ns: list[float] = field(default_factory=list)
    """When they slept, in order: from the first instant to the second, from the third to the fourth … The last entry
    has no end."""
    wakes_ns: list[float] = field(default_factory=list)
    """When they began to wake."""

    def run(self, times: NDArray[np.int64], sending: Values, which: NDArray[np.int64]) -> Values:
        """Let frames pass, in the order of their times: how much later each ends than without sleep."""
        falls, patience, most = self.idle.sleep_us * 1e3, 0.0, 1.0
        if self.coalescing is not None:
            patience, most = self.coalescing.time_us * 1e3, self.coalescing.frames or math.inf
        free, usual = [-math.inf] * self.directions, [-math.inf] * self.directions
        last = (min(0.0, float(times[0])) if len(times) else 0.0) - falls
        begin = deadline = last
        waiting: list[tuple[float, int, int]] = []
        delay = np.zeros(len(times))
        for row, (at, length, one) in enumerate(_rows(times, sending, which)):
            usual[one] = max(at, usual[one]) + length
            delay[row] = -usual[one]
            if waiting and at >= deadline:
                last = self._wake(begin, deadline, waiting, free, delay)
            if not waiting and at <= last:
                free[one] = max(at, free[one]) + length
                delay[row] += free[one]
                last = max(last, free[one])
                continue
            if not waiting:
                begin = last + falls
                deadline = max(begin, at + patience)
            waiting.append((length, one, row))
            if len(waiting) >= most or at >= deadline:
                last = self._wake(begin, max(begin, at), waiting, free, delay)
        if waiting:
            last = self._wake(begin, deadline, waiting, free, delay)
        self.edges_ns.append(last + falls)
        return delay

    def _wake(
        self, begin: float, at: float, waiting: list[tuple[float, int, int]], free: list[float], delay: Values
    ) -> float:
        """Wake at this time from a sleep since `begin`, and send the waiting frames; return when all directions
        are idle again."""
        if at > begin:
            self.edges_ns += (begin, at)
        self.wakes_ns.append(at)
        free[:] = [at + self.idle.wake_us * 1e3] * self.directions
        for length, one, row in waiting:
            free[one] += length
            delay[row] += free[one]
        waiting.clear()
        return max(free)


def _rows(times: NDArray[np.int64], sending: Values, which: NDArray[np.int64]) -> Iterator[tuple[int, float, int]]:
    """The rows of columns as Python's numbers, a part at a time, since those take eight times the memory."""
    for first in range(0, len(times), _ROWS):
        rows = slice(first, first + _ROWS)
        yield from zip(times[rows].tolist(), sending[rows].tolist(), which[rows].tolist(), strict=True)

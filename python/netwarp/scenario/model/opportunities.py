"""Mahimahi's packet-delivery traces: how much a link delivers in which millisecond.

R. Netravali et al.: Mahimahi: Accurate Record-and-Replay for HTTP, USENIX ATC 2015; its mm-link, link_queue.cc. Each
line is a whole number of milliseconds, at which there is an opportunity to deliver 1504 bytes; several lines with one
time are as many opportunities. A packet counts as the bytes that mm-link reads from its TUN device: IP and four bytes
of packet information. The trace begins again at the time of its last line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from netwarp.values.constants import ETHERNET_HEADER_BYTES, NS_PER_MS
from netwarp.values.units import MAX_DURATION_NS, MAX_RATE_BPS, format_rate

BYTES = 1504
"""Bytes that one opportunity delivers: PACKET_SIZE in mm-link's link_queue.hh."""
OVERHEAD_BYTES = 4 - ETHERNET_HEADER_BYTES
"""Bytes that a packet counts beyond its frame: TUN's packet information (struct tun_pi), not the Ethernet header."""
MAX_TIME_MS = MAX_DURATION_NS // NS_PER_MS
MAX_COUNT = MAX_RATE_BPS // 1000 // (8 * BYTES)
"""The most opportunities in one millisecond: those of the fastest link that a scenario may have."""
PEAK_MS = 100
"""The time over which the peak rate is an average."""


@dataclass(frozen=True)
class Opportunities:
    """`counts` opportunities at the increasing times `at_ms`, which repeat every `period_ms`."""

    at_ms: tuple[int, ...]
    counts: tuple[int, ...]
    period_ms: int

    @property
    def mean_rate_bps(self) -> int:
        """The average rate, at least one byte per second."""
        return max(self._sums[-1] * BYTES * 8 * 1000 // self.period_ms, 8)

    @cached_property
    def peak_rate_bps(self) -> int:
        """The highest rate over 100 ms."""
        return self.most_within(PEAK_MS) * BYTES * 8 * 1000 // PEAK_MS

    def most_within(self, length_ms: int) -> int:
        """The most opportunities in any half-open interval of this length."""
        rounds, rest = divmod(length_ms, self.period_ms)
        times = [*self.at_ms, *(self.period_ms + at for at in self.at_ms)]
        sums = [0, *accumulate((*self.counts, *self.counts))]
        ends = (bisect_left(times, at + rest) for at in self.at_ms)
        return rounds * self._sums[-1] + max(sums[end] - sums[begin] for begin, end in enumerate(ends))

    def until(self, end_ms: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Times and counts of the first round, up to `end_ms`."""
        end = bisect_left(self.at_ms, end_ms + 1)
        return self.at_ms[:end], self.counts[:end]

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.counts))


def parse_opportunities(lines: Iterable[tuple[int, str]], name: str) -> Opportunities:
    """Parse the numbered lines of the trace `name`. Raises ValueError with a sentence that begins `name:line: `."""
    counts: dict[int, int] = {}
    last_ms = number = 0
    for number, line in lines:
        at_ms = _milliseconds(line, f"{name}:{number}: ")
        if at_ms < last_ms:
            raise ValueError(f"{name}:{number}: times must not decrease; {at_ms} comes after {last_ms}")
        last_ms = at_ms
        counts[at_ms] = counts.get(at_ms, 0) + 1
        if counts[at_ms] > MAX_COUNT:
            raise ValueError(
                f"{name}:{number}: there are more than {MAX_COUNT} opportunities at {at_ms} ms, the maximum of a link "
                f"of {format_rate(MAX_RATE_BPS)} in a millisecond"
            )
    if last_ms == 0:
        raise ValueError(f"{name}:{number}: the trace has no length; its last time must be above 0")
    return Opportunities(tuple(counts), tuple(counts.values()), last_ms)


def _milliseconds(line: str, place: str) -> int:
    if not (line.isascii() and line.isdigit()):
        raise ValueError(f'{place}"{line[:60]}" is not a whole number of milliseconds')
    if len(line.lstrip("0")) > len(str(MAX_TIME_MS)) or int(line) > MAX_TIME_MS:
        raise ValueError(f"{place}{line[:60]} ms is longer than a trace may last: a year, {MAX_TIME_MS} ms")
    return int(line)

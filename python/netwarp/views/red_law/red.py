"""RED as the kernel does it: its average, and how likely its law makes the drop of each packet.

S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993; the kernel's
include/net/red.h and net/sched/sch_red.c, and iproute2's tc/tc_red.c, which makes the weight of the average.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwarp.qdisc import Qdisc

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Red:
    """RED's parameters: thresholds of the average in bytes, the weight 2^-wlog, and max_p."""

    min_bytes: int
    max_bytes: int
    wlog: int
    max_p: float

    def base_probability(self, average_bytes: Values) -> Values:
        """p_b: from 0 at min to max_p at max; 0 below and 1 above them."""
        share = (average_bytes - self.min_bytes) / (self.max_bytes - self.min_bytes)
        return np.where(share < 0, 0.0, np.where(share >= 1, 1.0, self.max_p * share))

    def drop_fraction(self, average_bytes: Values) -> Values:
        """The fraction dropped at a steady average: 2 p_b / (1 + p_b), since drops are 1 … 1/p_b packets apart, evenly.

        (Floyd and Jacobson, section 7, method 2: the mean interval is (1 + 1/p_b) / 2.)
        """
        base = self.base_probability(average_bytes)
        return np.where(base < 1, 2 * base / (1 + base), 1.0)


def red_of(queue: Qdisc | None) -> Red | None:
    """RED's parameters; None if the queue is not RED or does not give all of them as plain numbers."""
    if queue is None or queue.kind != "red":
        return None
    given = [queue.option(name) or "" for name in ("min", "max", "avpkt", "burst", "probability")]
    if not all(re.fullmatch(r"\d+", value) for value in given[:4]) or not re.fullmatch(r"\d*\.?\d+", given[4]):
        return None
    low, high, average, burst = map(int, given[:4])
    wlog = _wlog(low, burst, average)
    return None if wlog is None else Red(low, high, wlog, float(given[4]))


def _wlog(min_bytes: int, burst: int, average_bytes: int) -> int | None:
    """The least wlog for which a burst of `burst` packets into an empty queue leaves the average below min.

    That is burst + 1 − min/avpkt ≤ (1 − (1 − w)^burst) / w (tc_red_eval_ewma()).
    """
    needed = burst + 1 - min_bytes / average_bytes
    if needed < 1:
        return None
    return next((k for k in range(1, 32) if needed <= (1 - (1 - 2.0**-k) ** burst) * 2**k), None)


def averages(red: Red, backlog_bytes: Numbers) -> Values:
    """The average at each arrival, bytes, from the backlog that it found (red_calc_qavg_no_idle_time()).

    In the kernel's fixed point. For a RED that is never told that its queue was idle, as beneath a shaper.
    """
    average, found = 0, np.empty(len(backlog_bytes), np.int64)
    wlog = red.wlog
    for at, backlog in enumerate(backlog_bytes.tolist()):
        average += backlog - (average >> wlog)
        found[at] = average
    return found / float(1 << wlog)


def drop_probabilities(red: Red, average_bytes: Values, dropped: NDArray[np.bool_]) -> Values:
    """How likely the law made the drop of each packet, given the fates of those before it (red_action()).

    The kernel draws R, uniform over (0, 1), after each drop, and drops when p_b × count reaches it. So with the largest
    p_b × count since then below R, the next is dropped with probability (p_b × count − largest) / (1 − largest): for a
    steady p_b that is Floyd and Jacobson's p_b / (1 − (count − 1) p_b).
    """
    base = red.base_probability(average_bytes).tolist()
    found = np.zeros(len(base))
    count, largest = -1, 0.0
    for at, (likely, lost) in enumerate(zip(base, dropped.tolist(), strict=True)):
        if likely in (0.0, 1.0):  # below min, or beyond max: certain, and counting begins anew
            found[at] = likely
            count, largest = -1, 0.0
            continue
        count += 1
        reached = min(1.0, likely * count)
        if reached > largest:
            found[at] = (reached - largest) / (1 - largest)
            largest = reached
        if lost:
            count, largest = 0, 0.0
    return found

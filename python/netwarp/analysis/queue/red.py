"""RED as in the kernel: its average, and the probability with which its law drops each packet.

S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4), 1993; the kernel's
include/net/red.h and net/sched/sch_red.c; iproute2's tc/q_red.c and tc/tc_red.c, which read its parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.store.codes import Fate
from netwarp.store.description import End
from netwarp.values.qdisc import Qdisc
from netwarp.values.units import parse_positive_rate

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Red:
    """RED's parameters: thresholds of the average in bytes, the weight 2^-wlog, max_p, and `packet_ns`.

    `packet_ns` is the time of an average packet; an idle time of this length counts as one arrival at an empty queue.
    """

    min_bytes: int
    max_bytes: int
    wlog: int
    max_p: float
    packet_ns: float

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


_SIZE = re.compile(r"(\d+)(b|k|kb|m|mb)?", re.I)
_UNITS = {"k": 1024, "m": 1024**2}


def red_of(queue: Qdisc | None) -> Red | None:
    """Return RED's parameters; None if the queue is not RED, or if tc or netwarp cannot read them."""
    if queue is None or queue.kind != "red":
        return None
    try:
        return _parameters(queue)
    except ValueError:
        return None


def _parameters(queue: Qdisc) -> Red | None:
    """Parse the options as tc does, including its defaults (red_parse_opt()). Raises ValueError."""
    limit, low, high, average = (_size(queue.option(name) or "0") for name in ("limit", "min", "max", "avpkt"))
    if not limit or not average:
        return None
    high = high or (low * 3 if low else limit // 4)
    low = low or high // 3
    burst = int(queue.option("burst") or 0) or (2 * low + high) // (3 * average)
    wlog = _wlog(low, burst, average)
    probability, bandwidth = queue.option("probability") or "0.02", queue.option("bandwidth") or "10mbit"
    packet_ns = average * 8e9 / parse_positive_rate(bandwidth)
    return None if wlog is None else Red(low, high, wlog, float(probability), packet_ns)


def _size(word: str) -> int:
    """Parse a size in tc's syntax into bytes (get_size() in iproute2). Raises ValueError."""
    match = _SIZE.fullmatch(word)
    if match is None:
        raise ValueError(f'"{word}" is not a size')
    return int(match[1]) * _UNITS.get((match[2] or "")[:1].lower(), 1)


def _wlog(min_bytes: int, burst: int, average_bytes: int) -> int | None:
    """Return the smallest wlog for which a burst of `burst` packets into an empty queue leaves the average below min.

    The condition is burst + 1 − min/avpkt ≤ (1 − (1 − w)^burst) / w (tc_red_eval_ewma()).
    """
    needed = burst + 1 - min_bytes / average_bytes
    if needed < 1:
        return None
    return next((k for k in range(1, 32) if needed <= (1 - (1 - 2.0**-k) ** burst) * 2**k), None)


def averages(red: Red, backlog_bytes: Numbers, idle_ns: Values | None = None) -> Values:
    """Return the average at each arrival, in bytes, from the backlog that it found, in the kernel's fixed point.

    Without `idle_ns` it is the average of a RED that does not learn that its queue was idle, as below a shaper. With
    it, the RED learns how long its link was idle before each arrival (red_calc_qavg()).
    """
    average, found = 0, np.empty(len(backlog_bytes), np.int64)
    wlog, decay = red.wlog, 1 - 2.0**-red.wlog
    idle = np.zeros(len(backlog_bytes)) if idle_ns is None else idle_ns
    for at, (backlog, unused_ns) in enumerate(zip(backlog_bytes.tolist(), idle.tolist(), strict=True)):
        if unused_ns > 0:
            average = int(average * decay ** (unused_ns / red.packet_ns))
        else:
            average += backlog - (average >> wlog)
        found[at] = average
    return found / float(1 << wlog)


def backlog_found(packets: pl.DataFrame) -> Numbers:
    """The bytes that each packet of `packets.arrows` found in its queue on arrival."""
    # The backlog just after an arrival includes the packet itself, unless it was dropped.
    dropped = packets["fate"].to_numpy() == Fate.DROPPED
    own = np.where(dropped, 0, packets["packet_bytes"].to_numpy().astype(np.int64))
    found: Numbers = packets["backlog_bytes"].to_numpy().astype(np.int64) - own
    return found


def idle_ns(end: End, packets: pl.DataFrame, backlog: Numbers) -> Values:
    """The time for which the link had been idle when each packet came; 0 if others waited or were being sent.

    The end's rates must be known.
    """
    assert end.rates is not None
    rates = pl.DataFrame(end.rates, schema={"dequeue_ns": pl.Int64, "rate_bps": pl.Float64}, orient="row")
    sent = packets.drop_nulls("dequeue_ns").sort("dequeue_ns", maintain_order=True).join_asof(rates, on="dequeue_ns")
    sent_at, bits, rate = (
        sent["dequeue_ns"].to_numpy(),
        sent["packet_bytes"].to_numpy() * 8.0,
        sent["rate_bps"].to_numpy(),
    )
    free_at = np.append(np.maximum.accumulate(sent_at + bits / rate * 1e9), -np.inf)
    arrivals = packets["enqueue_ns"].to_numpy()
    # Before the first departure the index is -1, that of the last element, -inf.
    last = np.searchsorted(sent_at, arrivals, side="left") - 1
    # RED counts idleness up to each arrival, whatever its fate (red_end_of_idle_period()).
    since = np.maximum(free_at[last], np.append(-np.inf, arrivals[:-1]))
    return np.where(backlog == 0, np.maximum(arrivals - since, 0.0), 0.0)


def drop_probabilities(red: Red, average_bytes: Values, dropped: NDArray[np.bool_]) -> Values:
    """Return the probability of each packet's drop, given the fates of those before it (red_action()).

    The kernel draws R, uniform over (0, 1), after each drop, and drops when p_b × count reaches it. If the largest
    p_b × count since then is below R, the next packet is dropped with probability (p_b × count − largest) /
    (1 − largest): for a steady p_b that is Floyd and Jacobson's p_b / (1 − (count − 1) p_b).
    """
    base = red.base_probability(average_bytes).tolist()
    found = np.zeros(len(base))
    count, largest = -1, 0.0
    for at, (likely, lost) in enumerate(zip(base, dropped.tolist(), strict=True)):
        if likely in (0.0, 1.0):  # below min, or above max, the fate is certain, and counting begins again
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

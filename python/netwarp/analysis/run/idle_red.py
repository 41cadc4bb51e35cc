"""RED below a shaper never learns that its link was idle, and then drops although nothing waits. A check of each run.

htb asks no empty queue for packets (htb_dequeue_tree()), and RED notices idleness only when it is asked in vain
(red_dequeue()). Its average therefore does not decay during a pause, and the packets after it meet the one of before.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.queue.queues import CE
from netwarp.analysis.queue.red import Numbers, Red, Values, averages, backlog_found, red_of
from netwarp.store.codes import Fate
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

MANY = 3
"""From how many such packets in a stretch on a run is suspect.

One or two of a slow start's bursts are hit by chance, and are a small part of the drops that end it.
"""
_COLUMNS = ("enqueue_ns", "dequeue_ns", "packet_bytes", "backlog_bytes", "fate", "ecn_in", "ecn_out")


def idle_red_doubts(run: RunDir) -> Iterator[str]:
    """A sentence for every RED below a shaper that hit (dropped or marked) what it should have let pass.

    Those are packets that found the queue empty and would have found the average below min, had it decayed while the
    link was idle. They count in stretches, in which every packet found the queue empty. A RED whose link has no rate of
    netwarp's own knows when it is idle, or nothing is known of it; without exact records nothing is checked.
    """
    for end in run.description.ends:
        red = red_of(end.queue)
        if red is None or end.rates is None or end.found:
            continue
        packets = run.scan("packets").filter(interface_index=end.interface_index).select(_COLUMNS)
        first_ns, many = _worst_stretch(red, end, packets.sort("enqueue_ns", maintain_order=True).collect())
        if many >= MANY:
            yield (
                f"RED at {end.name} dropped or marked {many} packets from {first_ns / 1e9:.6g} s on although its queue "
                "was empty all the while: below a shaper it never learns that its link was idle, so that its average "
                "stays what it was (docs/limitations.md)"
            )


def _worst_stretch(red: Red, end: End, packets: pl.DataFrame) -> tuple[int, int]:
    """Of the stretch with the most packets that were hit wrongly: when the first of them came, and their number."""
    backlog = backlog_found(packets)
    marked = ((packets["ecn_in"] != CE) & (packets["ecn_out"] == CE).fill_null(value=False)).to_numpy()
    hit: NDArray[np.bool_] = (packets["fate"].to_numpy() == Fate.DROPPED) | marked
    hit &= backlog == 0
    if not hit.any():
        return 0, 0
    wrong = hit & (averages(red, backlog, _idle_ns(end, packets, backlog)) < red.min_bytes)
    stretch = np.cumsum(backlog > 0)[wrong]
    if not len(stretch):
        return 0, 0
    _, firsts, counts = np.unique(stretch, return_index=True, return_counts=True)
    worst = int(np.argmax(counts))
    return int(packets["enqueue_ns"].to_numpy()[wrong][firsts[worst]]), int(counts[worst])


def _idle_ns(end: End, packets: pl.DataFrame, backlog: Numbers) -> Values:
    """How long the link had been idle, since the packet before, when each came; 0 where others waited or were sent."""
    assert end.rates is not None
    rates = pl.DataFrame(end.rates, schema={"dequeue_ns": pl.Int64, "rate_bps": pl.Float64}, orient="row")
    sent = packets.drop_nulls("dequeue_ns").sort("dequeue_ns").join_asof(rates, on="dequeue_ns")
    sent_at, bits, rate = (
        sent["dequeue_ns"].to_numpy(),
        sent["packet_bytes"].to_numpy() * 8.0,
        sent["rate_bps"].to_numpy(),
    )
    free_at = np.append(np.maximum.accumulate(sent_at + bits / rate * 1e9), -np.inf)
    arrivals = packets["enqueue_ns"].to_numpy()
    # Before the first departure there is none, whose index is -1: the last, -inf.
    last = np.searchsorted(sent_at, arrivals, side="left") - 1
    # RED counts idleness up to each arrival, whatever becomes of that (red_end_of_idle_period()).
    since = np.maximum(free_at[last], np.append(-np.inf, arrivals[:-1]))
    return np.where(backlog == 0, np.maximum(arrivals - since, 0.0), 0.0)

"""A check of each run for RED below a shaper, which never learns that its link was idle, and drops at an empty queue.

htb does not ask an empty queue for packets (htb_dequeue_tree()), and RED notices idleness only when it is asked in vain
(red_dequeue()). Its average therefore does not decay during a pause, and still applies to the packets after it.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.queue.queues import CE
from netwarp.analysis.queue.red import Red, averages, backlog_found, idle_ns, red_of
from netwarp.store.codes import Fate
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

MANY = 3
"""The number of such packets in a stretch from which a run is suspect.

One or two packets of a slow start's bursts are hit by chance, and are a small part of the drops that end it.
"""
_COLUMNS = ("enqueue_ns", "dequeue_ns", "packet_bytes", "backlog_bytes", "fate", "ecn_in", "ecn_out")


def idle_red_doubts(run: RunDir) -> Iterator[str]:
    """Yield a sentence for every RED below a shaper that hit (dropped or marked) packets that it should have let pass.

    These packets found the queue empty, and the average would have been below min if it had decayed while the link was
    idle. They count in stretches, in which every packet found the queue empty. A RED is only checked if netwarp sets
    its link's rate by a shaper (otherwise it knows when it is idle, as on a device, or nothing is known about it), and
    if there are exact records.
    """
    for end in run.description.ends:
        red = red_of(end.queue)
        if red is None or end.rates is None or end.found or end.device:
            continue
        packets = run.scan("packets").filter(interface_index=end.interface_index).select(_COLUMNS)
        first_ns, many = _worst_stretch(red, end, packets.sort("enqueue_ns", maintain_order=True).collect())
        if many >= MANY:
            yield (
                f"RED at {end.name} dropped or marked {many} packets from {first_ns / 1e9:.6g} s on although its queue "
                "was empty during that time: below a shaper it never learns that its link was idle, so that its "
                "average does not decay (docs/limitations.md)"
            )


def _worst_stretch(red: Red, end: End, packets: pl.DataFrame) -> tuple[int, int]:
    """The first packet's time and the number of packets in the stretch with most packets that were hit wrongly."""
    backlog = backlog_found(packets)
    marked = ((packets["ecn_in"] != CE) & (packets["ecn_out"] == CE).fill_null(value=False)).to_numpy()
    hit: NDArray[np.bool_] = (packets["fate"].to_numpy() == Fate.DROPPED) | marked
    hit &= backlog == 0
    if not hit.any():
        return 0, 0
    wrong = hit & (averages(red, backlog, idle_ns(end, packets, backlog)) < red.min_bytes)
    stretch = np.cumsum(backlog > 0)[wrong]
    if not len(stretch):
        return 0, 0
    _, firsts, counts = np.unique(stretch, return_index=True, return_counts=True)
    worst = int(np.argmax(counts))
    return int(packets["enqueue_ns"].to_numpy()[wrong][firsts[worst]]), int(counts[worst])

"""Reading packets.arrows into the columns of each queue, part by part."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice

import polars as pl

from netwarp.analysis.parts import parts_by
from netwarp.analysis.queue.queues import _ABSENT, _EVER, _NEVER, LengthSteps, Packets, QueueTally, no_packets
from netwarp.stats.weighting import Times, Values, Window
from netwarp.store.rundir import RunDir

_COLUMNS = (
    pl.col("enqueue_ns"),
    pl.col("dequeue_ns").fill_null(_NEVER),
    pl.col("drop_ns").fill_null(_NEVER),
    pl.col("length_pkts").cast(pl.Int32).alias("length"),
    pl.col("length_after_pkts").cast(pl.Int32).fill_null(_ABSENT).alias("length_after"),
    pl.col("fate"),
    pl.col("ecn_in"),
    pl.col("ecn_out").cast(pl.Int8).fill_null(_ABSENT),
    pl.col("segments").cast(pl.Int32),
    pl.col("packet_bytes").cast(pl.Int32).alias("frame_bytes"),
    pl.col("drop_reason").cast(pl.Int32).fill_null(_ABSENT),
)
_INTERFACE = "interface_index"
_READ = (_INTERFACE, *(column.meta.root_names()[0] for column in _COLUMNS))


def packets_of(run: RunDir, interfaces: Collection[int] | None = None) -> Iterator[tuple[int, Packets, int]]:
    """The packets of queues part by part, in the order in which they left: the interface, some of its packets, and a
    time before which no later packet of the queue came. `interfaces` are those to read; None for all.

    Raises StoreError.
    """
    frames = run.batches("packets", _READ)
    begun = list(islice(frames, 2))
    # Nothing comes after the only batch of a short run.
    coming = _coming(run) if len(begun) > 1 else {}
    for number, frame in enumerate(chain(begun, frames)):
        wanted = frame if interfaces is None else frame.filter(pl.col(_INTERFACE).is_in(list(interfaces)))
        for index, part in parts_by(wanted.select(_INTERFACE, *_COLUMNS), _INTERFACE).items():
            yield index, Packets(**part), coming.get((number, index), _EVER)


def _coming(run: RunDir) -> Mapping[tuple[int, int], int]:
    """When the first of the packets came that are recorded after a batch, by the batch's number and the interface;
    nothing for the last batch that has packets of the interface."""
    earliest = [
        dict(frame.group_by(_INTERFACE).agg(pl.min("enqueue_ns")).iter_rows())
        for frame in run.batches("packets", (_INTERFACE, "enqueue_ns"))
    ]
    coming: dict[tuple[int, int], int] = {}
    later: dict[int, int] = {}
    for number in reversed(range(len(earliest))):
        coming.update({(number, index): first for index, first in later.items()})
        for index, first in earliest[number].items():
            later[index] = min(first, later.get(index, first))
    return coming


def queue_tallies(run: RunDir, window: Window, interfaces: Collection[int] | None = None) -> Mapping[int, QueueTally]:
    """The tally of each queue in the window, by its interface; empty ones without packets. Raises StoreError.

    The memory that this takes does not depend on the length of the run.
    """
    found: dict[int, QueueTally] = defaultdict(lambda: QueueTally(window))
    for index, packets, until_ns in packets_of(run, interfaces):
        found[index].add(packets, until_ns)
    return found


def queue_lengths(run: RunDir, interface_index: int) -> Iterator[tuple[Times, Values]]:
    """The length of a queue after each instant, part by part; see `LengthSteps`. Raises StoreError."""
    steps = LengthSteps()
    for _, packets, until_ns in packets_of(run, (interface_index,)):
        yield steps.add(packets, until_ns)
    yield steps.add(no_packets())

"""The length of queues over time."""

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.run import series
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Measure, Panels, Read, Records, Source, single
from netwarp.store.description import Description, End

QUEUE = "queue-"
AXIS = axis_of("queue", "length_pkts")
_LENGTH = '''
def queue(run, interface):
    """The length of a queue after each instant with arrivals or departures: arrivals minus departures so far."""
    packets = table(run, "packets").filter(
        pl.col("interface_index") == interface, ~((pl.col("fate") == 1) & (pl.col("drop_ns") == pl.col("enqueue_ns")))
    )
    size = pl.col("segments").cast(pl.Int64)
    came = packets.select(time_ns="enqueue_ns", change=size)
    gone = packets.filter(pl.col("fate") != 2).select(
        time_ns=pl.when(pl.col("fate") == 0).then("dequeue_ns").otherwise("drop_ns"), change=-size
    )
    steps = pl.concat([came, gone]).group_by("time_ns").agg(pl.sum("change")).sort("time_ns")
    return steps["time_ns"] / 1e9, steps["change"].cum_sum()
'''


def _frames(source: Source) -> Frames:
    for end in source.run.description.ends:
        if end.name in source.queues:
            title = f"Queue length at {end.node} toward {_far_node(source.run.description, end)}"
            stem = f"{QUEUE}{end.link}-{end.node}"
            quantity = Quantity(stem, title, f"link {end.link}", str(AXIS), True, empties=True)
            yield quantity, series.queue_length(source.run, end, whole=source.whole, closely=source.closely)


def _far_node(description: Description, end: End) -> str:
    return next((e.node for e in description.ends if e.link == end.link and e.node != end.node), "?")


def _panels(source: Source) -> Panels:
    for end in source.run.description.ends:
        if end.name in source.queues:
            title = f"Queue at {end.node} into {end.link}"
            how = "its length after each arrival and departure"
            yield Measure(f"queue {end.name}", title, how, AXIS.unit, True), "", series.queue_length(source.run, end)


def read_queue(one: Records, about: str) -> Read:
    """The length of the queue of this name."""
    end = next((end for end in one.run.description.ends if slug(f"{end.link}-{end.node}") == about), None)
    if end is not None and one.run.has_rows("packets"):
        yield "queue", (one.name, end.interface_index)


KIND = Kind(
    QUEUE,
    "`queue-LINK-NODE`",
    "length of the queue under test",
    "`packets`",
    frames=_frames,
    panels=_panels,
    script=single(read_queue, str(AXIS), steps=True),
    readers={"queue": _LENGTH},
)

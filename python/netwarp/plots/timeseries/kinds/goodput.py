"""The goodput of flows over time."""

from itertools import groupby

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.run import series
from netwarp.plots.timeseries.figure_spec import Quantity, SecondaryAxis
from netwarp.plots.timeseries.figure_specs import GOODPUT, shares_of
from netwarp.plots.timeseries.kinds.base import (
    Frames,
    Kind,
    Made,
    Measure,
    Panels,
    Read,
    Records,
    Source,
    single,
    spoken,
)
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.store.result import ResultDir

AXIS = axis_of("flow", "goodput_mbps")
_READABLE = '''
def goodput(run, ids, interval_ns, intervals, table_of=("arrivals", "tuple_id", "time_ns", "in_order_bytes")):
    """Payload that became readable in each interval in Mbit/s, in order, by the interval's middle."""
    arrivals, key, time_ns, size = table_of
    arrived = table(run, arrivals).filter(pl.col(key).is_in(ids))
    number = pl.max_horizontal(pl.col(time_ns) - 1, 0) // interval_ns
    sums = arrived.group_by(number=number).agg(pl.col(size).sum())
    first, count = intervals
    every = pl.DataFrame({"number": range(first, first + count)}).cast(pl.Int64)
    found = every.join(sums, on="number", how="left").sort("number").fill_null(0)
    return (found["number"] + 0.5) * (interval_ns / 1e9), found[size] * 8e3 / interval_ns
'''
_STREAMS = ("quic_arrivals", "flow_id", "time_ns", "in_order_bytes")
_DATAGRAMS = ("datagrams", "flow_id", "received_ns", "payload_bytes")
"""The tables of what the receivers of QUIC's streams and of its datagrams got."""


def _frames(source: Source) -> Frames:
    for group, members in groupby(source.flows, key=lambda data: data.flow.group):
        flows = list(members)
        goodput = series.throughput(flows, source.window, source.interval_ns)
        yield _quantity(group, flows[0], source.interval_ns), series.lived(flows, goodput, source.interval_ns)


def _quantity(group: str, data: FlowData, interval_ns: int) -> Quantity:
    known = data.deliveries
    became = "became readable, in order," if known and known.arrived else "was acknowledged"
    how = f"payload that {became} in each {spoken(interval_ns)}"
    # What iperf calls transfer: the bytes of an interval rather than their rate, 125 kB/s to 1 Mbit/s.
    axis = f"transfer (kB in each {spoken(interval_ns)})"
    secondary_axis = SecondaryAxis(f"Goodput and transfer of {group}", axis, 125 * interval_ns / 1e9)
    stem, title = f"{GOODPUT}{group}", f"Goodput of {group}"
    return Quantity(stem, title, how, str(AXIS), False, group, secondary_axis, interval_ns / 1e9, True)


def _panels(source: Source) -> Panels:
    interval_ns = source.interval_ns
    arrived = all(data.deliveries.arrived for data in source.flows if data.deliveries is not None)
    became = "became readable, in order," if arrived else "was acknowledged"
    measure = Measure("goodput", "Goodput", f"payload that {became} in each {spoken(interval_ns)}", AXIS.unit, False)
    for data in source.flows:
        yield measure, data.flow.name, series.throughput([data], source.window, interval_ns)


def read_goodput(one: Records, group: str) -> Read:
    """The goodput of the flows of one name together."""
    flows = one.of(group)
    if not flows or not all(data.deliveries and data.deliveries.arrived for data in flows):
        return
    step_ns = series.interval_ns(one.run, one.flows)
    frame = series.throughput(flows, series.whole_run(one.run), step_ns)
    if all(data.quic for data in flows):
        own = [data.flow.id for data in flows]
        table_of = _DATAGRAMS if all(data.arrivals for data in flows) else _STREAMS
        yield "goodput", (one.name, own, step_ns, (0, frame.height), table_of)
        return
    ids = [number for data in flows for number in one.ids(data)]
    yield "goodput", (one.name, ids, step_ns, (0, frame.height))


def _all_flows(result: ResultDir, run_set: RunSet) -> Made:
    if (spec := shares_of(result, run_set)) is not None:
        yield run_set.stem_of(spec.quantity.stem), spec, True


KIND = Kind(
    GOODPUT,
    "`throughput-FLOW`",
    "goodput over time",
    "`arrivals`, `quic_arrivals`, `datagrams`",
    frames=_frames,
    panels=_panels,
    script=single(read_goodput, str(AXIS), steps=False),
    readers={"goodput": _READABLE},
)
ALL_FLOWS = Kind(
    f"{GOODPUT}all-flows",
    "`throughput-all-flows`",
    "goodput of all flows, a panel for each run",
    "`arrivals`",
    figures=_all_flows,
)

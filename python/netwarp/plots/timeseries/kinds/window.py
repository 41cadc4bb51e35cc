"""The congestion window of flows over time."""

import polars as pl

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.run import series
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Measure, Panels, Read, Records, Source, single

CWND = "cwnd-"
AXIS = axis_of("flow", "cwnd_pkts")
WINDOW = '''
def window(run, ids):
    """The congestion window after each ACK: of a flow's connections together."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids)).sort("time_ns", maintain_order=True)
    cwnd = pl.col("snd_cwnd_pkts").cast(pl.Int64)
    change = cwnd - cwnd.shift(1).over("tuple_id").fill_null(0)
    return acks["time_ns"] / 1e9, acks.select(change.cum_sum()).to_series()
'''

PASSING_WINDOW = '''
def passing_window(run, name, key, ids, connection, cwnd, unit):
    """The congestion windows of connections that come and go, together: after its last ACK one has none."""
    acks = table(run, name).filter(pl.col(key).is_in(ids)).sort("time_ns", maintain_order=True)
    last = pl.int_range(pl.len()).over(connection) == pl.len().over(connection) - 1
    acks = acks.with_columns(cwnd=pl.when(last).then(0.0).otherwise(pl.col(cwnd) / unit))
    change = pl.col("cwnd") - pl.col("cwnd").shift(1).over(connection).fill_null(0)
    return acks["time_ns"] / 1e9, acks.select(change.cum_sum()).to_series()
'''

QUIC_WINDOW = '''
def quic_window(run, flow_id, datagram_bytes):
    """The congestion window of QUIC after each acknowledgement, in packets of full size."""
    acks = table(run, "quic_acks").filter(flow_id=flow_id).sort("time_ns", maintain_order=True)
    return acks["time_ns"] / 1e9, acks["cwnd_bytes"] / datagram_bytes
'''


def _frames(source: Source) -> Frames:
    for data in source.flows:
        group = data.flow.group
        end_s = max(data.window.end_ns, data.flow.end_ns) / 1e9  # a socket is sampled after its test is over, too
        quantity = Quantity(f"{CWND}{group}", f"Congestion window of {group}", "", str(AXIS), True, group)
        yield quantity, series.cwnd(data).filter(pl.col("time_s") <= end_s)


def _panels(source: Source) -> Panels:
    measure = Measure("cwnd", "Congestion window", "the sender's, after each ACK", AXIS.unit, True)
    for data in source.flows:
        yield measure, data.flow.name, series.cwnd(data)


def read_window(one: Records, group: str) -> Read:
    """The windows of the flows of one name."""
    for data in one.of(group):
        if data.sender is None or data.sender.sampled:
            continue
        if data.flow.kind.reconnects:
            of_quic = "quic_acks", "flow_id", [data.flow.id], "connection", "cwnd_bytes", data.sender.mss_bytes
            of_tcp = "acks", "tuple_id", one.ids(data), "tuple_id", "snd_cwnd_pkts", 1
            yield "passing_window", (one.name, *(of_quic if data.sender.quic else of_tcp))
        elif data.sender.quic:
            yield "quic_window", (one.name, data.flow.id, data.sender.mss_bytes)
        else:
            yield "window", (one.name, one.ids(data))


KIND = Kind(
    CWND,
    "`cwnd-FLOW`",
    "congestion window over time",
    "`acks`, `quic_acks`",
    frames=_frames,
    panels=_panels,
    script=single(read_window, str(AXIS), steps=True),
    readers={"window": WINDOW, "passing_window": PASSING_WINDOW, "quic_window": QUIC_WINDOW},
)

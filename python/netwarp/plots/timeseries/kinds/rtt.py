"""Round-trip times of flows over time; in the page, one-way delays as well."""

import polars as pl

from netwarp.analysis.catalogue.metrics import axis_of
from netwarp.analysis.run import series
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Measure, Panels, Read, Records, Source, single

RTT = "rtt-"
AXIS = axis_of("flow", "rtt_ms")
_OF_ACKS = '''
def rtt(run, ids):
    """The RTT sample of each ACK in ms."""
    acks = table(run, "acks").filter(pl.col("tuple_id").is_in(ids), pl.col("rtt_us") >= 0)
    acks = acks.sort("time_ns", maintain_order=True)
    return acks["time_ns"] / 1e9, acks["rtt_us"] / 1e3
'''

_OF_QUIC = '''
def quic_rtt(run, flow_id):
    """The RTT sample of each acknowledgement of QUIC in ms."""
    acks = table(run, "quic_acks").filter(pl.col("flow_id") == flow_id, pl.col("rtt_ns").is_not_null())
    acks = acks.sort("time_ns", maintain_order=True)
    return acks["time_ns"] / 1e9, acks["rtt_ns"] / 1e6
'''

_OF_PINGS = '''
def echo(run, flow_id):
    """The RTT of each echo request in ms, when its reply came; a gap where none did."""
    pings = table(run, "pings").filter(pl.col("flow_id") == flow_id).sort("sent_ns")
    came = pl.col("sent_ns") + pl.col("rtt_ns").fill_null(0)
    came = pl.when(pl.col("rtt_ns").is_null()).then(came.cum_max()).otherwise(came)
    pings = pings.with_columns(came=came).sort("came", maintain_order=True)
    return pings["came"] / 1e9, pings["rtt_ns"].cast(pl.Float64).fill_null(float("nan")) / 1e6
'''


def _frames(source: Source) -> Frames:
    for data in source.flows:
        group = data.flow.group
        end_s = max(data.window.end_ns, data.flow.end_ns) / 1e9
        how = "each echo reply, when it came" if data.pings is not None else "each ACK's own sample, not smoothed"
        quantity = Quantity(f"{RTT}{group}", f"Round-trip time of {group}", how, str(AXIS), False, group)
        yield quantity, series.rtt(data).filter(pl.col("time_s") <= end_s)


def _panels(source: Source) -> Panels:
    rtt = Measure("rtt", "Round-trip time", "of each ACK's own sample or echo request, not smoothed", AXIS.unit, False)
    delay = Measure("delay", "One-way delay", "of each datagram that arrived", axis_of("flow", "delay_ms").unit, False)
    for data in source.flows:
        yield rtt, data.flow.name, series.rtt(data)
        yield delay, data.flow.name, series.delay(data)


def read_rtt(one: Records, group: str) -> Read:
    """The RTTs of the flows of one name."""
    for data in one.of(group):
        if data.pings is not None:
            yield "echo", (one.name, data.flow.id)
        elif data.sender is not None and data.sender.quic:
            yield "quic_rtt", (one.name, data.flow.id)
        elif data.sender is not None and not data.sender.sampled:
            yield "rtt", (one.name, one.ids(data))


KIND = Kind(
    RTT,
    "`rtt-FLOW`",
    "round-trip time over time",
    "`acks`, `quic_acks`, `pings`",
    frames=_frames,
    panels=_panels,
    script=single(read_rtt, str(AXIS), steps=False),
    readers={"rtt": _OF_ACKS, "quic_rtt": _OF_QUIC, "echo": _OF_PINGS},
)

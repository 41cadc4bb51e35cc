"""The samples of the connection monitor: the sender's tcp_info over time."""

from dataclasses import dataclass

import polars as pl

from netwarp.analysis.tuples import TCP, flow_of_tuples
from netwarp.store.rundir import RunDir
from netwarp.store.socket_columns import SOCKET_COLUMNS

INFINITE_SSTHRESH_PKTS = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH, the value before the first loss, when there is no slow-start threshold."""
SYN_SENT = 2
"""TCP_SYN_SENT: the peer has not answered yet, and its window is 0."""


_UNITS = {column.name: column.unit for column in SOCKET_COLUMNS}


@dataclass(frozen=True)
class Monitored:
    """A metric of the monitor: its column in sockets.arrows, a title, and the unit of figures: `factor` × the column.

    `counter`: it only grows, so that its last value counts, not its mean.
    """

    column: str
    title: str
    shown: str
    factor: float = 1.0
    counter: bool = False

    @property
    def unit(self) -> str:
        """The unit of its column."""
        return _UNITS[self.column]


METRICS = (
    Monitored("rtt_us", "Smoothed RTT", "ms", 1e-3),
    Monitored("rttvar_us", "RTT variation", "ms", 1e-3),
    Monitored("snd_cwnd_pkts", "Congestion window", "packets"),
    Monitored("snd_ssthresh_pkts", "Slow-start threshold", "packets"),
    Monitored("snd_wnd_bytes", "Send window", "kB", 1e-3),
    Monitored("unacked_pkts", "Packets in flight", "packets"),
    Monitored("bytes_sent", "Bytes sent", "MB", 1e-6, counter=True),
    Monitored("bytes_retrans", "Bytes retransmitted", "kB", 1e-3, counter=True),
    Monitored("delivery_rate_bps", "Delivery rate", "Mbit/s", 1e-6),
    Monitored("pacing_rate_bps", "Pacing rate", "Mbit/s", 1e-6),
)


def monitored(run: RunDir) -> dict[str, pl.DataFrame]:
    """Samples of each flow's sending sockets by the flow's name: time_s and the columns of METRICS, in their units.

    They are of sockets that have sent data, since the peer answered, in order of time; a flow of several connections
    has the samples of all of them. A flow without records is absent.
    """
    key = ["source", "source_port", "destination", "destination_port"]
    connected = run.scan("sockets").filter(pl.col("state") != SYN_SENT)
    frame = connected.select("time_ns", *key, *(m.column for m in METRICS)).collect()
    # Samples do not show which of iperf3's connections is the control connection, but it sends least.
    sent = frame.group_by(key).agg(pl.col("bytes_sent").max()).filter(pl.col("bytes_sent") > 0)
    sockets = sent.sort("bytes_sent", *key, maintain_order=True).select(key).with_row_index("tuple_id")
    flow_of = flow_of_tuples(sockets.with_columns(protocol=pl.lit(TCP)), run.description.flows)
    names = {flow.id: flow.name for flow in run.description.flows}
    values = [
        pl.col(m.column).cast(pl.Float64)
        for m in METRICS
        if m.column != "snd_ssthresh_pkts"  # absent before the first loss
    ]
    threshold = pl.when(pl.col("snd_ssthresh_pkts") < INFINITE_SSTHRESH_PKTS).then("snd_ssthresh_pkts").cast(pl.Float64)
    samples = frame.join(sockets, on=key).select(
        "tuple_id", (pl.col("time_ns") / 1e9).alias("time_s"), *values, threshold
    )
    found: dict[str, list[pl.DataFrame]] = {}
    for (tuple_id,), part in sorted(samples.partition_by("tuple_id", as_dict=True, include_key=False).items()):
        if int(tuple_id) in flow_of:
            found.setdefault(names[flow_of[int(tuple_id)]], []).append(part)
    return {name: pl.concat(parts).sort("time_s", maintain_order=True) for name, parts in found.items()}

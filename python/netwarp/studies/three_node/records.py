"""Metrics from interfaces, sockets and captures of a run at each of the three machines, by netwarp's definitions."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from netwarp.analysis.flow.captures import CaptureError, flows_of
from netwarp.store.description import Description, End
from netwarp.store.errors import StoreError
from netwarp.store.rundir import RunDir
from netwarp.studies.three_node.columns import CAPTURE, ROLES, SOCKETS, Row

_ESTABLISHED = 1
_CARRIES_DATA = 0.01
"""A connection that carried less than this share of the busiest one's bytes is a control connection."""


def ends_of(description: Description) -> dict[str, End]:
    """The interface at which each machine is observed; for the bottleneck the one toward the server."""
    beyond = {end.link for end in description.ends if end.node == "server"}
    found: dict[str, End] = {}
    for end in description.ends:
        if end.node in ("client", "server") or (end.node == "bottleneck" and end.link in beyond):
            found.setdefault(end.node, end)
    return found


def interface_rates(run: RunDir) -> Row:
    """The mean transmit rate of each machine's interface from the first to the last sample, in Mbit/s."""
    counters = (
        run.scan("links").sort("time_ns", maintain_order=True).collect().partition_by("interface_index", as_dict=True)
    )
    rates: Row = {f"{role}_bw_Mbps": None for role in ROLES}
    for role, end in ends_of(run.description).items():
        samples = counters.get((end.interface_index,))
        if samples is not None and samples.height > 1:
            sent = samples["tx_bytes"][-1] - samples["tx_bytes"][0]
            rates[f"{role}_bw_Mbps"] = sent * 8e3 / (samples["time_ns"][-1] - samples["time_ns"][0])
    return rates


def sockets(run: RunDir) -> Row:
    """The mean smoothed RTT and window of the client's connections while they have data in flight.

    Idle ones (iperf3's control connection) are left out. Windows are in packets and, by the connection's segment size,
    in kB of 1000 bytes.
    """
    key = ["source", "source_port", "destination", "destination_port"]
    rows = run.scan("sockets").filter(node="client", state=_ESTABLISHED).collect()
    carried = pl.col("bytes_acked").max().over(key)
    busy = rows.filter(
        (pl.col("unacked_pkts").fill_null(0) > 0)
        & (carried.is_null() | (carried >= _CARRIES_DATA * pl.col("bytes_acked").max()))
    ).drop_nulls(["rtt_us", "snd_cwnd_pkts"])
    if busy.is_empty():
        return dict.fromkeys(SOCKETS)
    return busy.select(
        ss_avg_rtt_ms=pl.col("rtt_us").mean() / 1e3,
        ss_avg_cwnd=pl.col("snd_cwnd_pkts").mean(),
        ss_avg_cwnd_kB=(pl.col("snd_cwnd_pkts").cast(pl.Float64) * pl.col("snd_mss_bytes")).mean() / 1e3,
    ).row(0, named=True)


def tcp_of_captures(run: RunDir) -> dict[str, pl.DataFrame]:
    """The TCP flows in each machine's capture, by role; a machine without a capture is left out. Raises StoreError."""
    found = {}
    for role, end in ends_of(run.description).items():
        path = run.path / "captures" / f"{end.link}-{end.node}.pcap"
        if path.is_file():
            try:
                found[role] = flows_of(path).filter(protocol="tcp")
            except CaptureError as error:
                raise StoreError(f"cannot read {path}: {error}") from error
    return found


def senders_of(run: RunDir) -> tuple[str, ...]:
    """The addresses from which the tests send; programs that only observe are not tests."""
    tests = (flow for flow in run.description.flows if flow.transport is not None)
    return tuple({flow.destination if flow.reverse else flow.source for flow in tests})


def capture(tcp: pl.DataFrame, role: str, senders: tuple[str, ...]) -> Row:
    """The columns of a capture's TCP: gaps where data passes, ACK intervals, RTT and bytes in flight at the bottleneck.

    Gaps and intervals are between successive packets of all flows together. Control connections are left out: that of
    the UDP test would extend the TCP test to the end of the UDP test.
    """
    data = tcp.filter(pl.col("src").is_in(senders))
    data = data.filter(pl.col("payload_bytes") >= _CARRIES_DATA * pl.col("payload_bytes").max())
    values: Row = dict.fromkeys(CAPTURE)
    if role != "server":
        values["gap_avg_ms"] = interval_ms(data["packets"], data["start_ns"], data["duration_s"] * 1e3)
    ack_length_ms = data["ack_interval_ms_mean"].fill_null(0.0) * (data["acks"].cast(pl.Float64) - 1).clip(0)
    values["ack_interval_avg_ms"] = interval_ms(data["acks"], data["acks_start_ns"], ack_length_ms)
    if role == "bottleneck":
        values["rtt_avg_ms"], values["rtt_std_ms"] = _pooled(data)
        values["cwnd_avg_kB"] = _kilo(_weighted(data, "bytes_in_flight_mean", "data_packets"))
    return values


def interval_ms(count: pl.Series, start_ns: pl.Series, length_ms: pl.Series) -> float | None:
    """The mean time between packets of all flows together, from each flow's count, first packet, and length."""
    number = int(count.sum() or 0)
    if number < 2:
        return None
    ends = start_ns + (length_ms * 1e6).round().cast(pl.Int64)
    return (int(ends.max()) - int(start_ns.min())) / (number - 1) / 1e6  # type: ignore[arg-type]


def _kilo(value: float | None) -> float | None:
    return None if value is None else value / 1e3


def _weighted(flows: pl.DataFrame, column: str, weight: str) -> float | None:
    """The weighted mean of the column; None without any weight."""
    known = flows.drop_nulls([column, weight]).filter(pl.col(weight) > 0)
    values, weights = known[column].to_numpy(), known[weight].to_numpy()
    return float(np.average(values, weights=weights)) if len(values) else None


def _pooled(flows: pl.DataFrame) -> tuple[float | None, float | None]:
    """Mean and standard deviation of all RTT samples, from those of each flow."""
    mean = _weighted(flows, "ack_rtt_ms_mean", "ack_rtt_samples")
    if mean is None:
        return None, None
    squares = pl.col("ack_rtt_ms_std").fill_null(0.0) ** 2 + (pl.col("ack_rtt_ms_mean") - mean) ** 2
    variance = _weighted(flows.with_columns(squares=squares), "squares", "ack_rtt_samples")
    return mean, None if variance is None else variance**0.5


def means(rows: Mapping[str, Row]) -> Row:
    """Each column's mean over the captures that have it."""
    found: Row = {}
    for column in CAPTURE:
        present = [value for row in rows.values() if (value := row[column]) is not None]
        found[column] = sum(present) / len(present) if present else None
    return found

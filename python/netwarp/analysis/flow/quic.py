"""QUIC flows: records of their senders and receivers, in the form of TCP's, and their handshakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from netwarp.analysis.flow.deliveries import Deliveries
from netwarp.analysis.flow.passing import Passing
from netwarp.analysis.flow.senders import Sender, passing_sender
from netwarp.analysis.parts import Columns, parts_by
from netwarp.lab_format.model import LabFlow
from netwarp.stats.weighting import Times, Window
from netwarp.store.codes import QuicEvent
from netwarp.store.empty_path import EmptyPath, empty_path
from netwarp.store.rundir import RunDir
from netwarp.store.streams import StreamState
from netwarp.values.constants import NS_PER_MS, QUIC_OVERHEAD_BYTES


@dataclass(frozen=True)
class Quic:
    """One QUIC flow: its sender, the data that reached its receiver, and the times of its congestion events.

    `arrived` are the bytes that had not been received before, `readable` those that could be read in order.

    `path` is None if it is unknown or changes. `datagram_bytes` is the UDP payload of a full packet.
    """

    sender: Sender | None
    arrived: Deliveries | None
    readable: Deliveries | None
    congestion_ns: Times
    path: EmptyPath | None
    datagram_bytes: int

    @property
    def payload_bytes(self) -> int:
        """The most data of a stream in one packet."""
        return self.datagram_bytes - QUIC_OVERHEAD_BYTES


def load_quic(run: RunDir) -> dict[int, Quic]:
    """Load QUIC flows by flow id; those of results without the tables of QUIC are left out."""
    kinds = {flow.id: flow.kind for flow in run.description.flows}
    flows = [flow for flow in run.lab.flows if kinds[flow.id].quic] if any(k.quic for k in kinds.values()) else []
    if not flows or run.state("quic_arrivals") is run.state("quic_acks") is StreamState.MISSING:
        return {}
    acks, arrivals = _acks(run, [flow.id for flow in flows]), _arrivals(run)
    return {flow.id: _quic(run, flow, acks.get(flow.id), arrivals.get(flow.id)) for flow in flows}


def load_logged(run: RunDir) -> dict[int, Sender]:
    """Load the senders that programs logged themselves (qlog), by flow id."""
    flows = [flow for flow in run.lab.flows if flow.logged_datagram_bytes]
    acks = _acks(run, [flow.id for flow in flows]) if flows else {}
    return {flow.id: _sender(acks[flow.id], flow.logged_datagram_bytes) for flow in flows if flow.id in acks}


def load_served(run: RunDir) -> dict[int, Sender]:
    """Load the servers of HTTP/3 by flow id; connections that come and go are one sender together."""
    web = {flow.id: flow.kind for flow in run.description.flows if flow.kind.pages or flow.kind.video}
    sizes = {flow.id: flow.number("datagram_size_bytes") for flow in run.lab.flows if flow.id in web}
    if not web or not run.has_rows("quic_acks"):
        return {}
    single = [number for number, kind in web.items() if not kind.reconnects]
    served = {number: _sender(acks, sizes[number]) for number, acks in (_acks(run, single) if single else {}).items()}
    rows = run.scan("quic_acks").filter(pl.col("flow_id").is_in([n for n in web if n not in single])).collect()
    for (number,), part in rows.partition_by("flow_id", as_dict=True).items():
        served[number] = passing_sender(_passing(part, sizes[number]), quic=True)
    return served


def _passing(rows: pl.DataFrame, datagram_bytes: int) -> Passing:
    """Rows of `quic_acks` in the form of those of `acks`; packets are of full size."""
    columns = rows.select(
        pl.col("connection").alias("tuple_id"),
        "time_ns",
        pl.col("acked_bytes").alias("bytes_acked"),
        (pl.col("cwnd_bytes") / datagram_bytes).alias("snd_cwnd_pkts"),
        (pl.col("srtt_ns") / 1e3).alias("srtt_us"),
        (pl.col("rtt_ns") / 1e3).alias("rtt_us"),
        pl.col("lost_pkts").alias("retransmits"),
        pl.lit(datagram_bytes).alias("mss_bytes"),
    )
    return Passing.of(columns)


def _acks(run: RunDir, flows: Sequence[int]) -> Mapping[int, Columns]:
    """The rows of these flows, by flow id."""
    wanted = ("flow_id", "time_ns", "event", "acked_bytes", "lost_pkts", "cwnd_bytes", "srtt_ns")
    absent = (pl.col("rtt_ns").fill_null(-1), pl.col("ssthresh_bytes").fill_null(0))
    own = run.scan("quic_acks").filter(pl.col("flow_id").is_in(flows))
    frame = own.sort("flow_id", "time_ns", maintain_order=True).select(*wanted, *absent)
    return parts_by(frame.collect(), "flow_id")


def _arrivals(run: RunDir) -> Mapping[int, Columns]:
    frame = run.scan("quic_arrivals").sort("flow_id", "time_ns", maintain_order=True)
    return parts_by(frame.with_columns(pl.col("new_bytes", "in_order_bytes").cast(pl.Int64)).collect(), "flow_id")


def _quic(run: RunDir, flow: LabFlow, acks: Columns | None, arrivals: Columns | None) -> Quic:
    size = flow.number("datagram_size_bytes")
    none = np.empty(0, np.int64)
    return Quic(
        sender=None if acks is None else _sender(acks, size),
        arrived=_sum_of(arrivals, "new_bytes"),
        readable=_sum_of(arrivals, "in_order_bytes"),
        congestion_ns=none if acks is None else acks["time_ns"][acks["event"] >= QuicEvent.CONGESTION],
        path=empty_path(run.lab, flow),
        datagram_bytes=size,
    )


def _sum_of(arrivals: Columns | None, column: str) -> Deliveries | None:
    return None if arrivals is None else Deliveries(arrivals["time_ns"], np.cumsum(arrivals[column]))


def _sender(acks: Columns, datagram_bytes: int) -> Sender:
    """The sender, whose packets are full datagrams; a lost packet's data is sent again in others."""
    sampled = acks["rtt_ns"] >= 0
    thresholds = acks["ssthresh_bytes"][acks["ssthresh_bytes"] > 0]
    return Sender(
        times_ns=acks["time_ns"],
        bytes_acked=acks["acked_bytes"].astype(np.int64),
        cwnd_pkts=acks["cwnd_bytes"] / datagram_bytes,
        srtt_ms=acks["srtt_ns"] / NS_PER_MS,
        retransmits=acks["lost_pkts"].astype(np.int64),
        rtt_times_ns=acks["time_ns"][sampled],
        rtts_ms=acks["rtt_ns"][sampled] / NS_PER_MS,
        mss_bytes=datagram_bytes,
        first_ssthresh_pkts=float(thresholds[0]) / datagram_bytes if len(thresholds) else None,
        quic=True,
    )


@dataclass(frozen=True)
class Handshake:
    """The beginning of a QUIC flow: times in ns from its start; None: it did not come."""

    connected_ns: int | None
    first_data_ns: int | None
    round_trip_ns: int | None
    """The delays of the path there and back; None if they are unknown, or 0."""


def handshake(quic: Quic, arrived: Deliveries | None, start_ns: int, connect_ns: object) -> Handshake:
    """Return how a flow began, from its records, what `arrived` of its data, and the account of its client."""
    path = quic.path
    return Handshake(
        connected_ns=connect_ns - start_ns if isinstance(connect_ns, int) else None,
        first_data_ns=int(arrived.times_ns[0]) - start_ns if arrived is not None and len(arrived.times_ns) else None,
        round_trip_ns=(path.round_trip_ns or None) if path else None,
    )


def quic_metrics(parts: Sequence[tuple[Quic, Window, Handshake]]) -> dict[str, float | int | None]:
    """Return the handshakes and congestion events of some flows together; empty without QUIC flows."""
    if not parts:
        return {}
    starts = [found for _, _, found in parts]
    connected = [one.connected_ns for one in starts if one.connected_ns is not None]
    trips = [one.connected_ns / one.round_trip_ns for one in starts if one.connected_ns and one.round_trip_ns]
    first = [one.first_data_ns for one in starts if one.first_data_ns is not None]
    return {
        "handshake_ms_mean": float(np.mean(connected)) / NS_PER_MS if connected else None,
        "handshake_rtts_mean": float(np.mean(trips)) if trips else None,
        "first_data_ms_mean": float(np.mean(first)) / NS_PER_MS if first else None,
        "congestion_events": sum(int(window.mask(quic.congestion_ns).sum()) for quic, window, _ in parts),
    }

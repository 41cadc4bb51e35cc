"""What each flow's sender did, from exact records of ACKs or, without them, from samples of its socket."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.weighting import Times, Values
from netwarp.store.description import Flow, same_address
from netwarp.store.rundir import RunDir


@dataclass(frozen=True)
class Sender:
    """One sender's state over time, columns of equal length sorted by time.

    `rtts_ms` are samples at `rtt_times_ns`, a column of its own length; empty if only smoothed values are known.
    """

    times_ns: Times
    bytes_acked: NDArray[np.uint64]
    cwnd_pkts: Values
    srtt_ms: Values
    retransmits: NDArray[np.int64]
    rtt_times_ns: Times
    rtts_ms: Values


def load_senders(run: RunDir, flows: tuple[Flow, ...]) -> dict[int, Sender]:
    """Senders by flow id: from acks.arrows if it has rows, else from sockets.arrows; a flow without rows is absent."""
    if run.has_rows("acks"):
        return _from_acks(run, flows)
    return _from_sockets(run, flows)


def flow_of_tuples(tuples: pl.DataFrame, flows: tuple[Flow, ...]) -> dict[int, int]:
    """Which flow each tuple_id carries the data of: tuple_id → flow id (by ports, which are unique, and addresses)."""
    by_ports = {(f.source_port, f.destination_port): f for f in flows}
    found = {}
    for row in tuples.iter_rows(named=True):
        flow = by_ports.get((row["source_port"], row["destination_port"]))
        if flow and _matches(flow, row):
            found[int(row["tuple_id"])] = flow.id
    return found


def _matches(flow: Flow, row: Mapping[str, str]) -> bool:
    return same_address(flow.source, row["source"]) and same_address(flow.destination, row["destination"])


def _from_acks(run: RunDir, flows: tuple[Flow, ...]) -> dict[int, Sender]:
    flow_of = flow_of_tuples(run.scan("tuples").collect(), flows)
    columns = ("time_ns", "bytes_acked", "snd_cwnd_pkts", "rtt_us", "srtt_us", "retransmits")
    frame = run.scan("acks").select("tuple_id", *columns).filter(pl.col("tuple_id").is_in(list(flow_of))).collect()
    parts = frame.partition_by("tuple_id", as_dict=True, include_key=False)
    senders: dict[int, Sender] = {}
    for (tuple_id,), part in parts.items():
        ordered = _by_time(part)
        sampled = ordered.filter(pl.col("rtt_us") >= 0)
        senders[flow_of[int(tuple_id)]] = Sender(
            times_ns=ordered["time_ns"].to_numpy(),
            bytes_acked=ordered["bytes_acked"].to_numpy(),
            cwnd_pkts=_floats(ordered, "snd_cwnd_pkts"),
            srtt_ms=_floats(ordered, "srtt_us") / 1e3,
            retransmits=_integers(ordered, "retransmits"),
            rtt_times_ns=sampled["time_ns"].to_numpy(),
            rtts_ms=_floats(sampled, "rtt_us") / 1e3,
        )
    return senders


def _from_sockets(run: RunDir, flows: tuple[Flow, ...]) -> dict[int, Sender]:
    key = ["source", "source_port", "destination", "destination_port"]
    columns = ["bytes_acked", "snd_cwnd_pkts", "rtt_us", "total_retrans"]
    frame = run.scan("sockets").select("time_ns", *key, *columns).drop_nulls(columns).collect()
    by_ports = {(f.source_port, f.destination_port): f for f in flows}
    senders: dict[int, Sender] = {}
    for part in frame.partition_by(key):
        row = part.row(0, named=True)
        flow = by_ports.get((row["source_port"], row["destination_port"]))
        if flow is None or not _matches(flow, row):
            continue
        ordered = _by_time(part)
        senders[flow.id] = Sender(
            times_ns=ordered["time_ns"].to_numpy(),
            bytes_acked=ordered["bytes_acked"].to_numpy(),
            cwnd_pkts=_floats(ordered, "snd_cwnd_pkts"),
            srtt_ms=_floats(ordered, "rtt_us") / 1e3,
            retransmits=_integers(ordered, "total_retrans"),
            rtt_times_ns=np.empty(0, np.int64),
            rtts_ms=np.empty(0),
        )
    return senders


def _by_time(frame: pl.DataFrame) -> pl.DataFrame:
    return frame if frame["time_ns"].is_sorted() else frame.sort("time_ns", maintain_order=True)


def _floats(frame: pl.DataFrame, name: str) -> Values:
    return frame[name].cast(pl.Float64).to_numpy()


def _integers(frame: pl.DataFrame, name: str) -> NDArray[np.int64]:
    return frame[name].cast(pl.Int64).to_numpy()

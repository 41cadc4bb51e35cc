"""Exact records of a run as events that can be compared: names in place of numbers, in order of time."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.rundir import RunDir

KINDS = ("arrival", "ack", "drop", "enqueue", "dequeue")
"""Kinds of events; of several at the same instant the first kind is named, because an arrival causes a transmission."""
_PACKET = ("place", "tuple", "number")
_COLUMNS = {
    "enqueue": ("packet_bytes", "segments", "length_pkts", "backlog_bytes", "ecn_in", "is_dropped"),
    "dequeue": ("fate", "length_after_pkts", "ecn_out", "reason"),
    "drop": ("packet_bytes", "segments", "reason", "function"),
}


@dataclass(frozen=True)
class Events:
    """A run's events by kind, each a frame in order of `time_ns`, and its `packets`, a row for each packet in a queue.

    `place` is a queue as `link:node`, or the place of a drop. `tuple` is `source:port > destination:port` with the
    protocol's number. `number` counts the packets of a tuple at a place, from 0: as long as two runs are the same,
    packets with the same number are the same packet.
    """

    run: RunDir
    by_kind: Mapping[str, pl.DataFrame]
    packets: pl.DataFrame
    flows: Mapping[str, str]


def load_events(run: RunDir) -> Events:
    """Load all events of a run with exact records."""
    tuples = run.scan("tuples").collect()
    names = _tuple_names(tuples)
    packets = _packets(run, names)
    by_kind = {
        "enqueue": _in_order(packets.select("time_ns", *_PACKET, *_COLUMNS["enqueue"])),
        "dequeue": _in_order(
            packets.filter(~pl.col("is_dropped"))
            .select(pl.coalesce("dequeue_ns", "drop_ns").alias("time_ns"), *_PACKET, *_COLUMNS["dequeue"])
            .drop_nulls("time_ns")
        ),
        "drop": _in_order(_drops(run, names)),
        "ack": _in_order(_named(run.scan("acks").collect(), names)),
        "arrival": _in_order(_named(run.scan("arrivals").collect(), names)),
    }
    return Events(run, by_kind, packets, _flow_names(run, tuples, names))


def _packets(run: RunDir, names: Mapping[int, str]) -> pl.DataFrame:
    frame = _named(run.scan("packets").collect(), names)
    return (
        frame.with_columns(
            pl.col("enqueue_ns").alias("time_ns"),
            _place(run),
            pl.col("drop_ns").eq_missing(pl.col("enqueue_ns")).alias("is_dropped"),
            _reason(run),
        )
        .drop("interface_index", "drop_reason", "enqueue_ns")
        .sort("time_ns", "place", "tuple", "length_pkts", "backlog_bytes", "packet_bytes", maintain_order=True)
        .with_columns(pl.int_range(pl.len()).over("place", "tuple").alias("number"))
    )


def _drops(run: RunDir, names: Mapping[int, str]) -> pl.DataFrame:
    frame = _named(run.scan("drops").collect(), names).rename({"place": "where"})
    return (
        frame.with_columns(_place(run), _reason(run))
        .sort("time_ns", "place", "tuple", maintain_order=True)
        .with_columns(pl.int_range(pl.len()).over("place", "tuple").alias("number"))
        .select("time_ns", *_PACKET, "where", *_COLUMNS["drop"])
    )


def _named(frame: pl.DataFrame, names: Mapping[int, str]) -> pl.DataFrame:
    named = pl.col("tuple_id").replace_strict(names, default="unknown", return_dtype=pl.String).alias("tuple")
    return frame.with_columns(named).drop("tuple_id")


def _place(run: RunDir) -> pl.Expr:
    places = {end.interface_index: end.name for end in run.description.ends}
    index = pl.col("interface_index")
    return index.replace_strict(places, default="elsewhere", return_dtype=pl.String).alias("place")


def _reason(run: RunDir) -> pl.Expr:
    known = dict(enumerate(run.description.drop_reasons)) or {0: "not_dropped"}
    return pl.col("drop_reason").replace_strict(known, default=None, return_dtype=pl.String).alias("reason")


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by the time, then by all other columns: the order in a file is not that of time."""
    first = ["time_ns", *(name for name in (*_PACKET, "new_bytes", "bytes_acked") if name in frame.columns)]
    return frame.select("time_ns", pl.exclude("time_ns")).sort(first, maintain_order=True)


def _tuple_names(tuples: pl.DataFrame) -> dict[int, str]:
    return {
        int(row["tuple_id"]): f"{row['source']}:{row['source_port']} > {row['destination']}:{row['destination_port']} "
        f"({row['protocol']})"
        for row in tuples.iter_rows(named=True)
    }


def _flow_names(run: RunDir, tuples: pl.DataFrame, names: Mapping[int, str]) -> dict[str, str]:
    """Names of tuples: `bulk` for the one that carries a flow's data, `ACKs and replies of bulk` for its opposite."""
    of_flow = {flow.id: flow.name for flow in run.description.flows}
    carried = {number: of_flow[flow] for number, flow in flow_of_tuples(tuples, run.description.flows).items()}
    by_ends = {
        (row["source"], row["source_port"], row["destination"], row["destination_port"]): int(row["tuple_id"])
        for row in tuples.iter_rows(named=True)
    }
    found = {names[number]: name for number, name in carried.items()}
    for (source, port, destination, other_port), number in by_ends.items():
        opposite = by_ends.get((destination, other_port, source, port))
        if number not in carried and opposite in carried:
            found[names[number]] = f"ACKs and replies of {carried[opposite]}"
    return found

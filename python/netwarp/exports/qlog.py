"""qlog (draft-ietf-quic-qlog-main-schema-02 and -quic-events-02, version 0.3, as JSON), the input of qvis and other
tools of QUIC's developers: a file for each run with a trace for each connection of TCP and QUIC.

The events come from exact records at the sender: `recovery:metrics_updated` after each acknowledgement (only what
has changed, as the draft asks), `recovery:packet_lost`, `recovery:congestion_state_updated`, and
`transport:packet_sent` for each packet that its node sent. `raw.length` is that of a TCP segment or QUIC datagram,
without the headers below it. Numbers of packets are in their order, since the records have none; so which packet is
lost, and frames, are left out. A packet's type is `unknown` unless the records tell that it is `1RTT`.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from netwarp.analysis.parts import grouped
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.exports.names import stem, without
from netwarp.store.description import Flow
from netwarp.store.errors import StoreError
from netwarp.store.files import write_atomic
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import TABLES
from netwarp.store.streams import polars_schema
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IP_HEADER_BYTES, UDP_HEADER_BYTES
from netwarp.values.json_values import Json

VERSION = "0.3"
_UNSET_PKTS = 0x7FFFFFFF
"""Linux's slow-start threshold before the first loss (TCP_INFINITE_SSTHRESH)."""
_REPAIRING = (3, 4)
"""The kernel's states Recovery and Loss (enum tcp_ca_state)."""
_METRICS = "recovery:metrics_updated"
_STATE = "recovery:congestion_state_updated"
_SENT = "transport:packet_sent"
_LOST = "recovery:packet_lost"


class _Event(NamedTuple):
    """One event; events of the same instant keep their order: sending comes before receiving."""

    at_ns: int
    name: str
    data: Mapping[str, Json]


class _Trace(NamedTuple):
    """One trace: what is said about it, and its events in the order of time, which are read when they are written."""

    head: Mapping[str, Json]
    events: Iterator[_Event]


def write_qlog(result: ResultDir, directory: Path) -> list[Path]:
    """Write a `.qlog` for each good run that has a TCP or QUIC sender. Raises StoreError if none has."""
    files = []
    for run in result.good:
        traces = list(_traces(result.run(run.id)))
        if traces:
            files.append(directory / f"{stem(result, run)}.qlog")
            title = f"{result.plan.get('name', '')}, seed {run.seed}, netwarp run {run.id}"
            write_atomic(files[-1], partial(_write, title=title, traces=traces))
    if not files:
        raise StoreError(without(result, "a flow of TCP or QUIC", "from which qlog is made"))
    return files


def _write(path: Path, *, title: str, traces: Sequence[_Trace]) -> None:
    """Write the document with a line for each event: the events of a long run do not fit into memory."""
    head = {"qlog_version": VERSION, "qlog_format": "JSON", "title": title}
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f'{_json(head)[:-1]}, "traces": [')
        for number, trace in enumerate(traces):
            file.write(f'{"," if number else ""}\n{_json(trace.head)[:-1]}, "events": [')
            separator = "\n"
            for event in trace.events:
                line = _json({"time": event.at_ns / 1e6, "name": event.name, "data": event.data})
                file.write(f"{separator}{line}")
                separator = ",\n"
            file.write("\n]}")
        file.write("\n]}\n")


def _json(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _traces(run: RunDir) -> Iterator[_Trace]:
    tuples = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    yield from _tcp(run, tuples)
    yield from _quic(run, tuples)


def _tcp(run: RunDir, tuples: Mapping[int, int]) -> Iterator[_Trace]:
    """The traces of TCP's senders; `tuples` are those of data, with the ids of their flows."""
    flows = {flow.id: flow for flow in run.description.flows}
    mine = pl.col("tuple_id").is_in(list(tuples))
    seen = grouped(run, "acks", ("tuple_id",), lambda rows: rows.filter(mine), keys=("tuple_id",), joined={})
    for number in seen["tuple_id"].to_list():
        flow = flows[tuples[number]]
        yield _trace(flow, f"{flow.name}, tuple {number}", "TCP", _sent(run, [number]), _learnt(run, number))


def _learnt(run: RunDir, number: int) -> Iterator[_Event]:
    """The events of what a sender of TCP learnt from each ACK: losses, changes of its metrics, then of its state."""
    losses, changes, states = _Losses(), _Changes(), _States()
    for frame in run.batches("acks", list(polars_schema(TABLES["acks"]))):
        for row in frame.filter(pl.col("tuple_id") == number).iter_rows(named=True):
            # A segment that is sent again was lost, and so were those that still wait to be sent again.
            waiting = max(row["lost_pkts"] - row["retrans_out_pkts"], 0)
            yield from losses.of(row["time_ns"], row["retransmits"] + waiting)
            yield from changes.of(*_tcp_metrics(row))
            yield from states.of(row["time_ns"], row["ca_state"], row["snd_cwnd_pkts"], row["snd_ssthresh_pkts"])


def _quic(run: RunDir, tuples: Mapping[int, int]) -> Iterator[_Trace]:
    acks = run.scan("quic_acks").collect()
    connected = dict(run.scan("flows").select("flow_id", "connect_ns").collect().iter_rows())
    for flow in run.description.flows:
        rows = acks.filter(flow_id=flow.id).sort("time_ns", maintain_order=True)
        if flow.kind.reconnects:
            # Their packets have one five-tuple, so that no record says whose each is.
            for (number,), part in rows.partition_by("connection", as_dict=True).items():
                yield _trace(flow, f"{flow.name}, connection {number}", "QUIC", iter(()), _quic_learnt(part))
        elif rows.height:
            own = [number for number, owner in tuples.items() if owner == flow.id]
            confirmed_ns = _confirmed_ns(rows, connected.get(flow.id))
            yield _trace(flow, flow.name, "QUIC", _sent(run, own, UDP_HEADER_BYTES, confirmed_ns), _quic_learnt(rows))


def _confirmed_ns(rows: pl.DataFrame, connected_ns: int | None) -> int | None:
    """When a QUIC sender's handshake was confirmed: the first acknowledgement of a packet that it sent once connected.

    Such a packet is 1-RTT, since a peer does not acknowledge a complete handshake's last packets in their space (RFC
    9001, sections 4.1.2 and 4.9.2); from then on all packets are. None if no record tells.
    """
    if connected_ns is None:
        return None
    found = rows.filter(pl.col("time_ns") - pl.col("rtt_ns") >= connected_ns)["time_ns"]
    return None if found.is_empty() else int(found[0])


def _quic_learnt(rows: pl.DataFrame) -> Iterator[_Event]:
    losses, changes = _Losses(), _Changes()
    for row in rows.iter_rows(named=True):
        yield from losses.of(row["time_ns"], row["lost_pkts"])
        yield from changes.of(*_quic_metrics(row))


def _tcp_metrics(row: Mapping[str, int | None]) -> tuple[int, dict[str, Json]]:
    mss = row["mss_bytes"] or 0
    threshold = row["snd_ssthresh_pkts"]
    found: dict[str, Json] = {
        "congestion_window": (row["snd_cwnd_pkts"] or 0) * mss,
        "bytes_in_flight": (row["in_flight_pkts"] or 0) * mss,
        "packets_in_flight": row["in_flight_pkts"],
        "smoothed_rtt": _ms(row["srtt_us"], 1e3),
        "rtt_variance": _ms(row["rttvar_us"], 1e3),
        "min_rtt": _ms(row["min_rtt_us"], 1e3),
        "latest_rtt": _ms(row["rtt_us"], 1e3),
        "pacing_rate": row["pacing_rate_bps"],
        "ssthresh": None if threshold is None or threshold >= _UNSET_PKTS else threshold * mss,
    }
    return row["time_ns"] or 0, found


def _quic_metrics(row: Mapping[str, int | None]) -> tuple[int, dict[str, Json]]:
    found: dict[str, Json] = {
        "congestion_window": row["cwnd_bytes"],
        "bytes_in_flight": row["in_flight_bytes"],
        "smoothed_rtt": _ms(row["srtt_ns"], 1e6),
        "min_rtt": _ms(row["min_rtt_ns"], 1e6),
        "latest_rtt": _ms(row["rtt_ns"], 1e6),
        "ssthresh": row["ssthresh_bytes"],
    }
    return row["time_ns"] or 0, found


def _ms(value: int | None, of_a_ms: float) -> float | None:
    return None if value is None else value / of_a_ms


@dataclass
class _Changes:
    """The metrics that differ from those logged before; absent ones stay unchanged."""

    _known: dict[str, Json] = field(default_factory=dict)

    def of(self, at_ns: int, state: Mapping[str, Json]) -> Iterator[_Event]:
        new = {name: value for name, value in state.items() if value is not None and self._known.get(name) != value}
        if new:
            self._known |= new
            yield _Event(at_ns, _METRICS, new)


@dataclass
class _Losses:
    """Packets that a sender deems lost, an event for each, without its number."""

    _known: int = 0

    def of(self, at_ns: int, total: int) -> Iterator[_Event]:
        for _ in range(total - self._known):
            yield _Event(at_ns, _LOST, {})
        self._known = max(self._known, total)


@dataclass
class _States:
    """Changes between the states of RFC 9002's figure 1, by the kernel's state and whether the window is below the
    threshold."""

    _known: str | None = None

    def of(self, at_ns: int, ca_state: int, cwnd_pkts: int, threshold_pkts: int) -> Iterator[_Event]:
        growing = "slow_start" if cwnd_pkts < threshold_pkts else "congestion_avoidance"
        state = "recovery" if ca_state in _REPAIRING else growing
        if state != self._known:
            old: dict[str, Json] = {} if self._known is None else {"old": self._known}
            yield _Event(at_ns, _STATE, {**old, "new": state})
            self._known = state


def _sent(
    run: RunDir, tuples: list[int], transport_bytes: int = 0, confirmed_ns: int | None = None
) -> Iterator[_Event]:
    """The packets with these tuples that the sender's node put into its queue: where they were first seen.

    `transport_bytes` is the header between that of IP and the packet, which each segment of an aggregate has. A packet
    after `confirmed_ns` is 1-RTT.
    """
    mine = pl.col("tuple_id").is_in(tuples)
    first = grouped(
        run,
        "packets",
        ("tuple_id", "interface_index", "enqueue_ns"),
        lambda rows: rows.filter(mine).select("interface_index", "enqueue_ns"),
        keys=("interface_index",),
        joined={"enqueue_ns": pl.Expr.min},
    ).sort("enqueue_ns", maintain_order=True)
    if first.is_empty():
        return
    own = mine & (pl.col("interface_index") == first["interface_index"][0])
    columns = ("tuple_id", "interface_index", "enqueue_ns", "packet_bytes", "segments")
    below = pl.col("tuple_id").replace_strict(_below(run, tuples), return_dtype=pl.UInt32) + transport_bytes
    length = pl.col("packet_bytes") - pl.col("segments") * below
    rows = (frame.filter(own).select("enqueue_ns", length, "segments") for frame in run.batches("packets", columns))
    earliest = [frame.filter(own)["enqueue_ns"].min() for frame in run.batches("packets", columns[:3])]
    number = 0
    # They are recorded in the order in which they leave a queue, which is another if it schedules flows.
    for at_ns, payload_bytes, segments in _by_arrival(rows, earliest):
        kind = "unknown" if confirmed_ns is None or at_ns <= confirmed_ns else "1RTT"
        header: dict[str, Json] = {"packet_type": kind, "packet_number": number}
        yield _Event(at_ns, _SENT, {"header": header, "raw": {"length": payload_bytes}})
        number += segments


def _below(run: RunDir, tuples: list[int]) -> dict[int, int]:
    """The bytes of a packet's headers up to that of IP, by its tuple."""
    named = run.scan("tuples").filter(pl.col("tuple_id").is_in(tuples)).select("tuple_id", "source").collect()
    return {
        number: ETHERNET_HEADER_BYTES + IP_HEADER_BYTES[ip_address(source).version]
        for number, source in named.iter_rows()
    }


def _by_arrival(rows: Iterator[pl.DataFrame], earliest: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """The rows of some batches in the order of their first column, of which `earliest` has each batch's minimum."""
    waiting: list[pl.DataFrame] = []
    for number, frame in enumerate(rows, start=1):
        waiting.append(frame)
        later = [at_ns for at_ns in earliest[number:] if at_ns is not None]
        ready = pl.concat(waiting).sort("enqueue_ns", maintain_order=True)
        done = ready.height if not later else int(ready["enqueue_ns"].search_sorted(min(later)))
        yield from ready.head(done).iter_rows()
        waiting = [ready.tail(ready.height - done)]


def _trace(flow: Flow, title: str, protocol: str, *events: Iterator[_Event]) -> _Trace:
    """A trace; of events at the same instant, those of the first iterator come first."""
    head: dict[str, Json] = {
        "title": title,
        "vantage_point": {"name": flow.source, "type": "server" if flow.reverse else "client"},
        "common_fields": {
            "time_format": "relative",
            "reference_time": 0,
            "protocol_type": [protocol],
            "group_id": flow.group,
        },
    }
    return _Trace(head, heapq.merge(*events, key=lambda event: event.at_ns))

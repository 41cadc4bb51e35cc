"""qlog (draft-ietf-quic-qlog-main-schema-02 and -quic-events-02, version 0.3, as JSON), the input of qvis and other
tools of QUIC's developers: a file for each run with a trace for each connection of TCP and QUIC.

The events come from exact records at the sender: `recovery:metrics_updated` after each acknowledgement (only what
has changed, as the draft asks), `recovery:congestion_state_updated`, and `transport:packet_sent` for each packet with
data that its node sent. Numbers of packets are in their order, since TCP has none. What is not in the records, such as
frames, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from netwarp.analysis.tuples import flow_of_tuples
from netwarp.exports.names import stem, without
from netwarp.store.description import Flow
from netwarp.store.errors import StoreError
from netwarp.store.files import write_json
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.summary import PlannedRun
from netwarp.values.json_values import Json

VERSION = "0.3"
_UNSET_PKTS = 0x7FFFFFFF
"""Linux's slow-start threshold before the first loss (TCP_INFINITE_SSTHRESH)."""
_REPAIRING = (3, 4)
"""The kernel's states Recovery and Loss (enum tcp_ca_state)."""
_METRICS = "recovery:metrics_updated"
_STATE = "recovery:congestion_state_updated"
_SENT = "transport:packet_sent"


class _Event(NamedTuple):
    """One event; events of the same instant keep their order: sending comes before receiving."""

    at_ns: int
    name: str
    data: Mapping[str, Json]


def write_qlog(result: ResultDir, directory: Path) -> list[Path]:
    """Write a `.qlog` for each good run that has a TCP or QUIC sender. Raises StoreError if none has."""
    files = []
    for run in result.good:
        document = qlog_document(result, run)
        if document is not None:
            files.append(directory / f"{stem(result, run)}.qlog")
            write_json(files[-1], document)
    if not files:
        raise StoreError(without(result, "a flow of TCP or QUIC", "from which qlog is made"))
    return files


def qlog_document(result: ResultDir, run: PlannedRun) -> dict[str, Json] | None:
    """Return the content of a run's file; None if it has no record of a sender."""
    directory = result.run(run.id)
    tuples = flow_of_tuples(directory.scan("tuples").collect(), directory.description.flows)
    traces: list[Json] = [*_tcp(directory, tuples), *_quic(directory, tuples)]
    title = f"{result.plan.get('name', '')}, seed {run.seed}, netwarp run {run.id}"
    return {"qlog_version": VERSION, "qlog_format": "JSON", "title": title, "traces": traces} if traces else None


def _tcp(run: RunDir, tuples: Mapping[int, int]) -> Iterator[Json]:
    """The traces of TCP's senders; `tuples` are those of data, with the ids of their flows."""
    flows = {flow.id: flow for flow in run.description.flows}
    acks = run.scan("acks").filter(pl.col("tuple_id").is_in(list(tuples))).collect()
    for rows in acks.partition_by("tuple_id", maintain_order=True):
        number = int(rows["tuple_id"][0])
        flow = flows[tuples[number]]
        states = (_tcp_metrics(row) for row in rows.iter_rows(named=True))
        learnt = [*_changes(states), *_states(rows)]
        yield _trace(flow, f"{flow.name}, tuple {number}", "TCP", [*_sent(run, [number]), *learnt])


def _quic(run: RunDir, tuples: Mapping[int, int]) -> Iterator[Json]:
    acks = run.scan("quic_acks").collect()
    for flow in run.description.flows:
        rows = acks.filter(flow_id=flow.id)
        if rows.height:
            own = [number for number, owner in tuples.items() if owner == flow.id]
            learnt = _changes(_quic_metrics(row) for row in rows.iter_rows(named=True))
            yield _trace(flow, flow.name, "QUIC", [*_sent(run, own), *learnt])


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


def _changes(states: Iterator[tuple[int, dict[str, Json]]]) -> Iterator[_Event]:
    """The metrics that differ from those logged before; absent ones stay unchanged."""
    known: dict[str, Json] = {}
    for at_ns, state in states:
        new = {name: value for name, value in state.items() if value is not None and known.get(name) != value}
        if new:
            known |= new
            yield _Event(at_ns, _METRICS, new)


def _states(acks: pl.DataFrame) -> Iterator[_Event]:
    """Changes between the states of RFC 9002's figure 1, by the kernel's state and whether the window is below the
    threshold."""
    known: str | None = None
    columns = ("time_ns", "ca_state", "snd_cwnd_pkts", "snd_ssthresh_pkts")
    for at_ns, ca_state, cwnd, threshold in acks.select(columns).iter_rows():
        growing = "slow_start" if cwnd < threshold else "congestion_avoidance"
        state = "recovery" if ca_state in _REPAIRING else growing
        if state != known:
            old: dict[str, Json] = {} if known is None else {"old": known}
            yield _Event(at_ns, _STATE, {**old, "new": state})
            known = state


def _sent(run: RunDir, tuples: list[int]) -> Iterator[_Event]:
    """The packets with these tuples that the sender's node put into its queue: where they were first seen."""
    packets = run.scan("packets").filter(pl.col("tuple_id").is_in(tuples))
    rows = packets.select("interface_index", "enqueue_ns", "packet_bytes").sort("enqueue_ns", maintain_order=True)
    at_sender = rows.filter(pl.col("interface_index") == pl.col("interface_index").first()).drop("interface_index")
    for number, (at_ns, length) in enumerate(at_sender.collect().iter_rows()):
        header: dict[str, Json] = {"packet_type": "1RTT", "packet_number": number}
        yield _Event(at_ns, _SENT, {"header": header, "raw": {"length": length}})


def _trace(flow: Flow, title: str, protocol: str, events: list[_Event]) -> Json:
    ordered = sorted(events, key=lambda event: event.at_ns)
    return {
        "title": title,
        "vantage_point": {"name": flow.source, "type": "server" if flow.reverse else "client"},
        "common_fields": {
            "time_format": "relative",
            "reference_time": 0,
            "protocol_type": [protocol],
            "group_id": flow.group,
        },
        "events": [{"time": event.at_ns / 1e6, "name": event.name, "data": event.data} for event in ordered],
    }

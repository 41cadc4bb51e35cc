"""The qlog files that programs left in a run: the tables of QUIC of the flows that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePath
from socket import IPPROTO_UDP
from typing import Any, NamedTuple, cast

import polars as pl

from netwarp.discovery.qlog import QlogError, QlogTrace, read_qlog
from netwarp.flows import kind_of
from netwarp.lab_format.model import Lab
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import QUIC_ACKS
from netwarp.store.streams import Row, write_stream
from netwarp.values.constants import EPOCH_S, NS_PER_MS, NS_PER_S
from netwarp.values.json_values import Json, JsonObject

_SUFFIXES = (".qlog", ".sqlog")
_FOLDER = "files"
_ENDS_OF_ONE = 2
"""Logs of one connection: of its client and of its server."""
_APART_NS = (NS_PER_MS, NS_PER_S)
"""By how much a flow's first packet may be later than its log says. A stack's call takes no time, but the first packet
to an address waits for its neighbour's answer (ARP)."""


@dataclass(frozen=True)
class Logged:
    """What the logs add to the part of the lab that was found; sentences about logs that are not used."""

    found: Mapping[str, Json]
    notes: tuple[str, ...] = ()


class _Log(NamedTuple):
    """A trace of a file, whose path is relative to the run's files."""

    path: PurePath
    trace: QlogTrace


def read_logs(run: RunDir, lab: Lab, found: JsonObject) -> Logged:
    """Write the senders that programs logged to `quic_acks`; `found` is the part of the lab that was found.

    A `command` has the log of the end that sent most, from its own directories. A flow that was found has the log
    whose first packet is its first. Raises StoreError.
    """
    logs, notes = _read(run.path / _FOLDER)
    if not logs:
        return Logged({}, tuple(notes))
    if run.has_rows("machine"):
        return Logged({}, ("qlog files are not read: their times are of a wall clock, which is exact in virtual time",))
    flows = cast("list[dict[str, Any]]", found.get("flows", []))
    commands = _of_commands(lab, logs)
    owned = {flow_id: max(own, key=lambda log: log.trace.sent_bytes) for flow_id, own in commands.items()}
    for flow in lab.flows:
        if len(own := commands.get(flow.id, ())) > _ENDS_OF_ONE:
            notes.append(f"{flow.name} left {len(own)} qlog traces: the sender with most bytes is in quic_acks")
    others = [log for log in logs if not any(log in own for own in commands.values())]
    if lab.exec:
        owned |= _of_found([flow for flow in flows if flow["tool"] == "udp"], others, _received(run), lab.t0_ns)
    if unknown := [log for log in others if log not in owned.values()]:
        notes.append(
            f"no flow begins with the first packet of {len(unknown)} qlog traces, as of files/{unknown[0].path}"
        )
    rows = [row for flow_id, log in owned.items() for row in _rows(flow_id, log.trace, lab.t0_ns)]
    if not rows:
        return Logged({}, tuple(notes))
    before = run.scan(QUIC_ACKS.name).collect().iter_rows(named=True)
    write_stream(run.path / QUIC_ACKS.file, QUIC_ACKS, sorted([*before, *rows], key=itemgetter("time_ns")))
    sizes = {flow_id: {"logged_datagram_bytes": log.trace.datagram_bytes} for flow_id, log in owned.items()}
    return Logged({"flows": [{**flow, **sizes.get(flow["id"], {})} for flow in flows]}, tuple(notes))


def _read(folder: Path) -> tuple[list[_Log], list[str]]:
    """The traces of all logs below the folder, and why some could not be read."""
    logs, notes = [], []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink() or not path.is_file():
            continue
        short = path.relative_to(folder)
        try:
            logs += [_Log(short, trace) for trace in read_qlog(path)]
        except (QlogError, OSError) as error:
            notes.append(f"files/{short} {error}" if isinstance(error, QlogError) else f"files/{short}: {error}")
    return logs, notes


def _of_commands(lab: Lab, logs: Sequence[_Log]) -> dict[int, list[_Log]]:
    """The logs in the directories of commands' programs, by the flow."""
    folders = {
        f"{flow.name}-{role}": flow.id
        for flow in lab.flows
        if kind_of(flow.tool).owns_sockets
        for role in ("client", "server")
    }
    found: dict[int, list[_Log]] = {}
    for log in logs:
        flow_id = folders.get(log.path.parts[0])
        if flow_id is not None:
            found.setdefault(flow_id, []).append(log)
    return found


def _of_found(
    flows: Sequence[Mapping[str, Any]], logs: Sequence[_Log], received: Mapping[tuple[Any, ...], int], t0_ns: int
) -> dict[int, _Log]:
    """The log of each flow that has one: of those that begin with it, the one of as many bytes."""
    found: dict[int, _Log] = {}
    for flow in flows:
        begin_ns = flow["start_ns"] + t0_ns + EPOCH_S * NS_PER_S
        size = received.get(tuple(flow[name] for name in _ENDS), 0)
        left = [log for log in logs if log not in found.values()]
        for apart_ns in _APART_NS:
            near = [log for log in left if -NS_PER_MS <= begin_ns - log.trace.first_sent_ns <= apart_ns]
            if near:
                found[flow["id"]] = min(near, key=lambda log: abs(log.trace.sent_bytes - size))
                break
    return found


_ENDS = ("source", "source_port", "destination", "destination_port")


def _received(run: RunDir) -> dict[tuple[Any, ...], int]:
    """The bytes that arrived in datagrams of each five-tuple, by its ends."""
    came = run.scan("arrivals").group_by("tuple_id").agg(pl.sum("new_bytes"))
    frame = (
        run.scan("tuples").filter(protocol=IPPROTO_UDP).join(came, on="tuple_id").select(*_ENDS, "new_bytes").collect()
    )
    return {tuple(row[:-1]): int(row[-1]) for row in frame.iter_rows()}


def _rows(flow_id: int, trace: QlogTrace, t0_ns: int) -> Iterator[Row]:
    """The rows of a trace in the run's time."""
    for row in trace.rows:
        yield {**row, "flow_id": flow_id, "time_ns": row["time_ns"] - t0_ns - EPOCH_S * NS_PER_S}  # type: ignore[operator]

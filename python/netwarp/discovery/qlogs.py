"""The qlog files that programs left in a run: the tables of QUIC of the flows that they are about."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePath
from socket import IPPROTO_UDP
from typing import Any, cast

import polars as pl

from netwarp.discovery.qlog import QlogTrace, read_qlog
from netwarp.discovery.qlog_text import QlogError
from netwarp.flows import kind_of
from netwarp.lab_format.model import Lab
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import QUIC_ACKS
from netwarp.store.streams import Row, write_stream
from netwarp.values.constants import EPOCH_S, NS_PER_MS, NS_PER_S
from netwarp.values.json_values import Json, JsonObject

_SUFFIXES = (".qlog", ".sqlog")
_FOLDER = "files"
_MAX_BYTES = 256 << 20
"""The size of all logs of a run that are read."""
_MAX_NOTES = 5
_ENDS_OF_ONE = 2
"""Logs of one connection: of its client and of its server."""
_APART_NS = (NS_PER_MS, NS_PER_S)
"""The most by which a flow's first packet may be later than its log says. A stack's call takes no time, but the first
packet to an address waits for its neighbour's answer (ARP)."""


@dataclass(frozen=True)
class Logged:
    """Fields that the logs add to the discovered part of the lab, and notes about logs that are not used."""

    found: Mapping[str, Json]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Log:
    """A trace of a file, whose path is relative to the run's files."""

    path: PurePath
    trace: QlogTrace


def read_logs(run: RunDir, lab: Lab, found: JsonObject) -> Logged:
    """Write the senders that programs logged to `quic_acks`; `found` is the part of the lab that was found.

    A `command` gets the log of the end that sent most, from its own directories. A discovered flow gets the log whose
    first packet is the flow's first. Raises StoreError.
    """
    logs, notes = _read(run.path / _FOLDER)
    if not logs:
        return Logged({}, _few(notes))
    if run.has_rows("machine"):
        return Logged({}, ("qlog files are not read: their wall clock's times are exact only in virtual time",))
    boot_ns = EPOCH_S * NS_PER_S + lab.t0_ns
    flows = cast("list[dict[str, Any]]", found.get("flows") or [flow.as_json() for flow in lab.flows])
    commands = _of_commands(lab, logs)
    owned = {flow_id: max(own, key=lambda log: log.trace.sent_bytes) for flow_id, own in commands.items()}
    names = {flow.id: flow.name for flow in lab.flows}
    for flow_id, log in [*owned.items()]:
        if not 0 <= log.trace.first_sent_ns - boot_ns <= lab.duration_ns:
            del owned[flow_id]
            notes.append(f"the qlog of {names[flow_id]} is from another time than the run's")
        elif len(commands[flow_id]) > _ENDS_OF_ONE:
            count = len(commands[flow_id])
            notes.append(f"{names[flow_id]} left {count} qlog traces: the sender with most bytes is in quic_acks")
    of_commands = {log for own in commands.values() for log in own}
    others = [log for log in logs if log not in of_commands]
    if lab.exec:
        owned |= _of_found([flow for flow in flows if flow["tool"] == "udp"], others, _received(run), boot_ns)
    used = set(owned.values())
    if unknown := [log for log in others if log not in used]:
        notes.append(
            f"no flow begins with the first packet of {len(unknown)} qlog traces, such as {_shown(unknown[0].path)}"
        )
    rows = [row for flow_id, log in owned.items() for row in _rows(flow_id, log.trace, boot_ns)]
    if not rows:
        return Logged({}, _few(notes))
    before = run.scan(QUIC_ACKS.name).collect().iter_rows(named=True)
    write_stream(run.path / QUIC_ACKS.file, QUIC_ACKS, sorted([*before, *rows], key=itemgetter("time_ns")))
    sizes = {flow_id: {"logged_datagram_bytes": log.trace.datagram_bytes} for flow_id, log in owned.items()}
    return Logged({"flows": [{**flow, **sizes.get(flow["id"], {})} for flow in flows]}, _few(notes))


def _read(folder: Path) -> tuple[list[_Log], list[str]]:
    """The traces of all logs below the folder, and why some could not be read."""
    logs: list[_Log] = []
    notes: list[str] = []
    left = _MAX_BYTES
    for path in sorted(_files(folder)):
        short = path.relative_to(folder)
        try:
            left -= path.stat().st_size
            if left < 0:
                notes.append(f"{_shown(short)} and later qlog files are not read: they have {_MAX_BYTES >> 20} MB")
                break
            logs += [_Log(short, trace) for trace in read_qlog(path)]
        except QlogError as error:
            notes.append(f"{_shown(short)} is not read as qlog: {error}")
        except OSError as error:
            notes.append(f"{_shown(short)}: {error.strerror}")
    return logs, notes


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder whose names are those of logs, at any depth."""
    folders = [folder] if folder.is_dir() else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False) and entry.name.endswith(_SUFFIXES):
                    yield Path(entry.path)


def _shown(path: PurePath) -> str:
    """The path in a sentence; a name may not be text."""
    return os.fsencode(f"files/{path}").decode(errors="backslashreplace")


def _few(notes: Sequence[str]) -> tuple[str, ...]:
    more = len(notes) - _MAX_NOTES
    return (*notes[:_MAX_NOTES], *([f"the same with {more} more qlog files"] if more > 0 else []))


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
    flows: Sequence[Mapping[str, Any]], logs: Sequence[_Log], received: Mapping[tuple[Any, ...], int], boot_ns: int
) -> dict[int, _Log]:
    """The log of each flow that has one: among those that begin with it, the one with as many bytes."""
    found: dict[int, _Log] = {}
    used: set[_Log] = set()
    ordered = sorted(logs, key=lambda log: log.trace.first_sent_ns)
    times = [log.trace.first_sent_ns for log in ordered]
    for flow in flows:
        begin_ns = flow["start_ns"] + boot_ns
        size = received.get(tuple(flow[name] for name in _ENDS), 0)
        for apart_ns in _APART_NS:
            first, last = bisect_left(times, begin_ns - apart_ns), bisect_right(times, begin_ns + NS_PER_MS)
            near = [log for log in ordered[first:last] if log not in used]
            if near:
                found[flow["id"]] = min(near, key=lambda log: abs(log.trace.sent_bytes - size))
                used.add(found[flow["id"]])
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


def _rows(flow_id: int, trace: QlogTrace, boot_ns: int) -> Iterator[Row]:
    """The rows of a trace in the run's time."""
    for row in trace.rows:
        yield {**row, "flow_id": flow_id, "time_ns": cast("int", row["time_ns"]) - boot_ns}

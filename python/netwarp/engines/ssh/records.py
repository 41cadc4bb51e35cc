"""Merging the records of all nodes into those of a run: times by the common clock, interfaces by the lab's indices."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from netwarp.engines.accounts import merged_account, planned_end_ns
from netwarp.engines.ssh.clocks import NodeClock
from netwarp.engines.supervisor import OUTCOME
from netwarp.lab_format.model import Lab, LabFlow
from netwarp.store.batches import BATCH_ROWS, open_stream, write_options
from netwarp.store.console import CONSOLE
from netwarp.store.errors import StoreError
from netwarp.store.rows import AccountRow
from netwarp.store.schemas import CLOCKS, FLOWS, TABLES
from netwarp.store.streams import Row, write_stream
from netwarp.store.table import Table
from netwarp.values.constants import CAPTURE_LEAD_NS, NS_PER_S

_TIMES: Mapping[str, Sequence[str]] = {
    "sockets": ["time_ns"],
    "queues": ["time_ns"],
    "queue_states": ["time_ns"],
    "links": ["time_ns"],
    "sysctls": ["time_ns"],
    "machine": ["time_ns"],
    "pings": ["sent_ns"],
    "datagrams": ["received_ns"],
    "rate_control": ["time_ns"],
    "quic_acks": ["time_ns"],
    "quic_arrivals": ["time_ns"],
    "transfers": ["start_ns", "end_ns"],
    "pages": ["start_ns", "connected_ns", "first_byte_ns", "end_ns"],
    "objects": ["known_ns", "sent_ns", "first_byte_ns", "end_ns"],
    "segments": ["requested_ns", "first_byte_ns", "end_ns"],
    "playback": ["start_ns", "end_ns"],
}
"""The columns with times by the clock of the node that wrote them."""
_OWN = ("run.json", OUTCOME)
_RECORD = struct.Struct("<IIII")
_PCAP_HEADER_BYTES = 24
_PCAP_MAX_NS = 2**32 * NS_PER_S - 1


@dataclass(frozen=True)
class NodeRecords:
    """The records of one node: their directory, its clock, its interfaces → the lab's, and how late it began."""

    directory: Path
    clock: NodeClock
    indices: Mapping[int, int]
    late_ns: int


def merge(nodes: Mapping[str, NodeRecords], lab: Lab, directory: Path, limit_ns: int) -> None:
    """Write the records of a run into its directory. Raises StoreError if a node's have a form that no agent writes."""
    flows = {flow.id: flow for flow in lab.flows}
    for table in TABLES.values():
        if table is FLOWS:
            write_stream(directory / table.file, table, cast(list[Row], _merged_flows(nodes, flows)))
        elif parts := [
            part for node, of in nodes.items() if (part := _part(table, node, of, nodes, flows)) is not None
        ]:
            _write(directory / table.file, table, pa.concat_tables(parts))
    rows = [of.clock.row(node, of.late_ns, limit_ns) for node, of in nodes.items()]
    write_stream(directory / CLOCKS.file, CLOCKS, rows)
    # What the first node sent at its beginning may have come to another a little before, as far as clocks are known.
    begun_ns = min((of.clock.common_ns(0) for of in nodes.values()), default=0) - limit_ns
    for node, of in nodes.items():
        _keep_files(node, of, directory, begun_ns)


def _part(
    table: Table, node: str, of: NodeRecords, nodes: Mapping[str, NodeRecords], flows: Mapping[int, LabFlow]
) -> pa.Table | None:
    """A node's rows of a table, corrected. Raises StoreError."""
    part = part_before = _read(table, of.directory)
    if part is not None and "flow_id" in part.schema.names:
        _refuse_other_flows(part, flows, f"{table.file} of {node}")
    if part is None or part_before is None or part.num_rows == 0:
        return part
    for name in _TIMES.get(table.name, ()):
        part = _with(part, name, _corrected(part[name], of.clock))
    match table.name:
        case "queues" | "queue_states" | "links":
            indices = [of.indices.get(index, index) for index in part["interface_index"].to_pylist()]
            part = _with(part, "interface_index", pa.array(indices, pa.uint32()))
        case "datagrams":
            part = _with(part, "sent_ns", _by_sender(part, nodes, flows))
        case "transfers":
            planned = part_before["start_ns"].to_pylist()
            kept = [
                before if before == flows[flow].start_ns else after
                for flow, before, after in zip(
                    part["flow_id"].to_pylist(), planned, part["start_ns"].to_pylist(), strict=True
                )
            ]
            part = _with(part, "start_ns", pa.array(kept, pa.int64()))
    return part


def _refuse_other_flows(part: pa.Table, flows: Mapping[int, LabFlow], what: str) -> None:
    """Refuse rows of flows that the lab does not have, because a node's machine is not trusted."""
    if unknown := set(pc.unique(part["flow_id"]).to_pylist()) - set(flows):
        raise StoreError(f"{what} has rows of a flow that the lab does not have: {min(unknown, key=str)}")


def _by_sender(part: pa.Table, nodes: Mapping[str, NodeRecords], flows: Mapping[int, LabFlow]) -> pa.Array:
    """The times at which datagrams were sent, corrected by the clock of each one's sender."""
    sent = part["sent_ns"]
    for flow_id in pc.unique(part["flow_id"]).to_pylist():
        sender = nodes.get(flows[flow_id].from_)
        if sender is not None:
            sent = pc.if_else(pc.equal(part["flow_id"], flow_id), _corrected(sent, sender.clock), sent)
    return sent


def _corrected(times: pa.ChunkedArray, clock: NodeClock) -> pa.ChunkedArray:
    shift = pc.round(pc.add(pc.multiply(pc.cast(times, pa.float64()), clock.rate), clock.begin_ns))
    return pc.add(times, pc.cast(shift, pa.int64()))


def _with(part: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    place = part.schema.get_field_index(name)
    return part.set_column(place, part.schema.field(name), values)


def _read(table: Table, directory: Path) -> pa.Table | None:
    """The whole batches of a node's table; None if it has none. Raises StoreError."""
    stream = open_stream(directory / table.file)
    if stream is None:
        return None
    if (stream.schema.names, stream.schema.types) != (table.schema.names, table.schema.types):
        raise StoreError(f"{table.file} of {directory.name} has other columns than netwarp's agent writes")
    whole = pa.Table.from_batches(stream.batches(), stream.schema)
    return pa.table({name: whole[name] for name in table.schema.names}, schema=table.schema)


def _write(path: Path, table: Table, content: pa.Table) -> None:
    if (order := next(iter(_TIMES.get(table.name, ())), None)) is not None:
        content = content.sort_by(order)
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema, options=write_options()) as writer:
        writer.write_table(content.cast(table.schema), max_chunksize=BATCH_ROWS)


def _merged_flows(nodes: Mapping[str, NodeRecords], flows: Mapping[int, LabFlow]) -> list[AccountRow]:
    """Return a row for each flow, with the values from its source and from its destination."""
    found: dict[str, dict[int, AccountRow]] = {}
    for node, of in nodes.items():
        table = _read(FLOWS, of.directory)
        found[node] = {row["flow_id"]: row for row in table.to_pylist()} if table is not None else {}
    merged = []
    for flow_id, flow in flows.items():
        ends = [(found[node].get(flow_id), nodes[node].clock) for node in (flow.from_, flow.to) if node in nodes]
        rows = [_own_times(row, clock, flow) for row, clock in ends if row is not None]
        if rows:
            merged.append(merged_account(rows, flow))
    return merged


def _own_times(row: AccountRow, clock: NodeClock, flow: LabFlow) -> AccountRow:
    """Convert a row's times to the common clock; a planned end is one already."""
    if row["connect_ns"] is not None:
        row["connect_ns"] = clock.common_ns(row["connect_ns"])
    if row["end_ns"] != planned_end_ns(flow):
        row["end_ns"] = clock.common_ns(row["end_ns"])
    return row


def _keep_files(node: str, of: NodeRecords, directory: Path, begun_ns: int) -> None:
    """Keep files other than tables: captures, converted to the common clock, and the output of programs and agent."""
    for path in sorted(of.directory.rglob("*")):
        name = path.relative_to(of.directory)
        if path.is_dir() or path.suffix == ".arrows" or str(name) in _OWN:
            continue
        if str(name) == CONSOLE:
            name = Path(f"console-{node}.log")
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".pcap":
            target.write_bytes(corrected_capture(path.read_bytes(), of.clock, begun_ns))
        else:
            shutil.copyfile(path, target)


def corrected_capture(content: bytes, clock: NodeClock, begun_ns: int) -> bytes:
    """Convert a node's capture (agent/src/pcap_file.rs), whose times count from before t0, to the common clock.

    Packets from before `begun_ns` of the common clock are left out, as is one that is not whole; times from then until
    t0 become 0.
    """
    out = bytearray(content[:_PCAP_HEADER_BYTES])
    at = _PCAP_HEADER_BYTES
    while (data := at + _RECORD.size) <= len(content):
        seconds, nanoseconds, kept, size = _RECORD.unpack_from(content, at)
        at = data + kept
        time_ns = clock.common_ns(seconds * NS_PER_S + nanoseconds - CAPTURE_LEAD_NS)
        if begun_ns <= time_ns <= _PCAP_MAX_NS and at <= len(content):
            out += _RECORD.pack(*divmod(max(time_ns, 0), NS_PER_S), kept, size)
            out += content[data:at]
    return bytes(out)

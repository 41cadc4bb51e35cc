"""Run directories with known answers: a FIFO of some limit, fed by senders with a sawtooth window.

This is not a model of TCP: a window that grows by a packet a round trip and shrinks by 0.7 on loss, at a link of known
rate and base RTT, so that every length, sojourn and RTT can be calculated.
"""

import json
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from netwarp.analysis.run.metrics import analyse_run
from netwarp.store.batches import write_options
from netwarp.store.result import create_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import open_run
from netwarp.store.schemas import TABLES

RATE_BPS = 10_000_000
PACKET_BYTES = 1514
MSS_BYTES = 1448
SERVICE_NS = PACKET_BYTES * 8 * 10**9 // RATE_BPS
BASE_RTT_NS = 20_000_000
BOTTLENECK = 13
SECOND = 10**9


@dataclass
class Trace:
    """Events at the bottleneck: rows of packets, acks and pings, as in the tables."""

    packets: list[dict[str, Any]] = field(default_factory=list)
    acks: list[dict[str, Any]] = field(default_factory=list)
    pings: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Sender:
    tuple_id: int
    cwnd: float = 10.0
    in_flight: int = 0
    acked: int = 0
    retransmits: int = 0
    lost: int = 0
    recovered_ns: int = -1


def simulate(limit: int, seconds: float, flows: int = 1) -> Trace:
    """Senders that share a FIFO of `limit` packets; time in whole ns."""
    trace = Trace()
    end = round(seconds * SECOND)
    senders = [_Sender(i) for i in range(flows)]
    leaving: deque[int] = deque()
    acks: deque[tuple[int, int, int]] = deque()  # when, sender, when sent
    free_ns = 0

    def send(sender: _Sender, now: int) -> None:
        nonlocal free_ns
        while leaving and leaving[0] <= now:
            leaving.popleft()
        row = {"interface_index": BOTTLENECK, "tuple_id": sender.tuple_id, "enqueue_ns": now}
        if len(leaving) >= limit:
            trace.packets.append(row | {"drop_ns": now, "length_pkts": len(leaving), "fate": 1})
            sender.lost += 1
            return
        out = max(now, free_ns)
        free_ns = out + SERVICE_NS
        leaving.append(out)
        sender.in_flight += 1
        acks.append((free_ns + BASE_RTT_NS - SERVICE_NS, sender.tuple_id, now))
        gone = out <= end
        trace.packets.append(
            row
            | {
                "dequeue_ns": out if gone else None,
                "length_pkts": len(leaving),
                "fate": 0 if gone else 2,
                "ecn_out": 0 if gone else None,
            }
        )

    for sender in senders:
        for _ in range(10):
            send(sender, 0)
    while acks and acks[0][0] <= end:
        now, who, sent = acks.popleft()
        sender = senders[who]
        sender.in_flight -= 1
        sender.acked += MSS_BYTES
        if sender.lost and sent > sender.recovered_ns:
            sender.cwnd = max(sender.cwnd * 0.7, 2)
            sender.retransmits += sender.lost
            sender.recovered_ns, sender.lost = now, 0
        sender.cwnd += 1 / sender.cwnd
        trace.acks.append(_ack(sender, now, now - sent))
        while sender.in_flight < int(sender.cwnd) and not sender.lost:
            send(sender, now)
    _lengths_after(trace)
    _pings(trace, end)
    return trace


def _ack(sender: _Sender, now: int, rtt_ns: int) -> dict[str, Any]:
    return {
        "time_ns": now,
        "tuple_id": sender.tuple_id,
        "bytes_acked": sender.acked,
        "snd_cwnd_pkts": int(sender.cwnd),
        "rtt_us": rtt_ns // 1000,
        "srtt_us": rtt_ns // 1000,
        "retransmits": sender.retransmits,
        "mss_bytes": MSS_BYTES,
    }


def _lengths_after(trace: Trace) -> None:
    """Length after each departure: arrivals by then (none at the same instant) less departures."""
    stayed = [p for p in trace.packets if p["fate"] != 1]
    arrived = 0
    for number, packet in enumerate(stayed):
        if packet["fate"] == 0:
            while arrived < len(stayed) and stayed[arrived]["enqueue_ns"] < packet["dequeue_ns"]:
                arrived += 1
            packet["length_after_pkts"] = max(arrived - number - 1, 0)


def _pings(trace: Trace, end: int) -> None:
    """Pings every 100 ms, with an RTT of the base and the queue that the latest packet before met."""
    stayed = [p for p in trace.packets if p["fate"] == 0]
    at = 0
    for sequence, sent in enumerate(range(0, end, SECOND // 10)):
        while at + 1 < len(stayed) and stayed[at + 1]["enqueue_ns"] <= sent:
            at += 1
        rtt = BASE_RTT_NS + max(stayed[at]["dequeue_ns"] - sent, 0)
        answered = sent + rtt <= end
        trace.pings.append({"flow_id": 100, "sequence": sequence, "sent_ns": sent, "rtt_ns": rtt if answered else None})


def write_table(run: Path, name: str, rows: list[dict[str, Any]], batch_rows: int = 4096) -> Path:
    """Write rows as the table's stream; columns missing in a row are null, or 0, empty or False if never null."""
    table = TABLES[name]
    defaults = {c.name: None if c.nullable else _zero(c.type) for c in table.columns}
    if "segments" in defaults:
        defaults["segments"] = 1
    columns = {c.name: [row.get(c.name, defaults[c.name]) for row in rows] for c in table.columns}
    path = run / table.file
    with pa.ipc.new_stream(str(path), table.schema, options=write_options()) as writer:
        writer.write_table(pa.table(columns, schema=table.schema), max_chunksize=batch_rows)
    return path


def _zero(kind: str) -> Any:
    return {"utf8": "", "bool": False}.get(kind, 0)


def lab(seconds: float, flows: int) -> dict[str, Any]:
    """The lab of h1 – r1 – h2 with `flows` bulk flows and a ping."""
    links = [_link("access", "h1", "r1", 11, 10**9), _link("bottleneck", "r1", "h2", BOTTLENECK, RATE_BPS)]
    end = round(seconds * SECOND)
    entries = [_flow(i, "bulk" if flows == 1 else f"bulk.{i}", "bulk", "bulk", end) for i in range(flows)] + [
        _flow(100, "ping", "ping", "ping", end)
    ]
    return {
        "format": 1,
        "seed": 1,
        "duration_ns": end,
        "links": links,
        "flows": entries,
        "record": {"exact": True, "sample_ns": 100_000_000},
    }


def _link(name: str, one: str, other: str, index: int, rate: int) -> dict[str, Any]:
    ends = [{"node": node, "index": index + i, "wire": {"rate_bps": rate}} for i, node in enumerate((one, other))]
    return {"name": name, "ends": ends}


def _flow(number: int, name: str, group: str, tool: str, end: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "group": group,
        "tool": tool,
        "source": "10.0.0.1",
        "destination": "10.0.1.2",
        "source_port": 20000 + number,
        "destination_port": 5001 + number,
        "start_ns": 0,
        "duration_ns": end,
    }


_NAMED = {
    0: "not_dropped",
    1: "consumed",
    2: "not_specified",
    3: "no_socket",
    32: "tcp_old_data",
    48: "ip_outnoroutes",
    55: "tc_egress",
    57: "qdisc_drop",
    63: "tc_ingress",
    79: "ip_innoroutes",
}
DROP_REASONS = [_NAMED.get(number, f"made_up_{number}") for number in range(104)]
"""Drop reasons with a kernel's names, for those that tests use."""


def write_description(run: Path, lab_: dict[str, Any], **facts: Any) -> None:
    """Write run.json; `facts` are its other keys (id, seed, point, warmup_ns)."""
    run.mkdir(parents=True, exist_ok=True)
    given = {
        "id": run.name,
        "seed": 1,
        "point": {},
        "scenario": {"name": "synthetic"},
        "kernel": {"drop_reasons": DROP_REASONS},
    }
    (run / "run.json").write_text(json.dumps(given | facts | {"lab": lab_}))


def write_run(
    run: Path, *, limit: int = 40, seconds: float = 5, flows: int = 1, exact: bool = True, **facts: Any
) -> Trace:
    """A whole run directory; without `exact` it has only sampled tables."""
    write_description(run, lab(seconds, flows), **facts)
    trace, files = _tables(limit, seconds, flows, exact)
    for name, content in files.items():
        (run / name).write_bytes(content)
    return trace


@cache
def _tables(limit: int, seconds: float, flows: int, exact: bool) -> tuple[Trace, dict[str, bytes]]:
    """The trace, and the files of its tables; many tests use the same run, so each is made once."""
    trace = simulate(limit, seconds, flows)
    with TemporaryDirectory() as folder:
        run = Path(folder)
        if exact:
            write_table(run, "packets", trace.packets and [_sized(p) for p in trace.packets])
            write_table(run, "acks", trace.acks)
            write_table(run, "tuples", [_tuple(i) for i in range(flows)])
        write_table(run, "pings", trace.pings)
        write_table(run, "sockets", [_socket(a) for a in trace.acks[::20]])
        write_table(run, "queues", _queue_samples(trace, seconds))
        write_table(run, "links", _link_samples(trace, seconds))
        write_table(run, "flows", [_account(e, trace) for e in lab(seconds, flows)["flows"]])
        return trace, {file.name: file.read_bytes() for file in run.iterdir()}


def write_result(path: Path, limits: tuple[int, ...], seconds: float = 5, flows: int = 1) -> None:
    """A result directory with one run per queue limit."""
    axis = "links.bottleneck.queue"
    runs = [{"id": f"r{limit}", "seed": 1, "point": {axis: f"pfifo limit {limit}"}} for limit in limits]
    plan: Any = {"name": "synthetic", "axes": [axis], "runs": runs}
    with create_result(path, scenario_toml='name = "synthetic"\n', plan=plan, manifest={}) as result:
        for run, limit in zip(runs, limits, strict=True):
            with result.making(str(run["id"])) as directory:
                write_run(directory, limit=limit, seconds=seconds, flows=flows, id=run["id"], point=run["point"])
                made = open_run(directory)
                made.write_metrics(analyse_run(directory))
                made.write_status(RunStatus.OK, None, seconds=0.1)
        result.write_summary()


def _sized(packet: dict[str, Any]) -> dict[str, Any]:
    return packet | {"packet_bytes": PACKET_BYTES, "backlog_bytes": packet["length_pkts"] * PACKET_BYTES}


def _tuple(number: int) -> dict[str, Any]:
    flow = _flow(number, "", "", "", 0)
    return {"tuple_id": number, "protocol": 6} | {
        key: flow[key] for key in ("source", "source_port", "destination", "destination_port")
    }


def _socket(ack: dict[str, Any]) -> dict[str, Any]:
    key = {k: v for k, v in _tuple(ack["tuple_id"]).items() if k not in ("tuple_id", "protocol")}
    state = {k: ack[k] for k in ("time_ns", "bytes_acked", "snd_cwnd_pkts")}
    return key | state | {"node": "h1", "rtt_us": ack["srtt_us"], "total_retrans": ack["retransmits"], "state": 1}


def _queue_samples(trace: Trace, seconds: float) -> list[dict[str, Any]]:
    arrived = sorted(p["enqueue_ns"] for p in trace.packets if p["fate"] != 1)
    left = sorted(p["dequeue_ns"] for p in trace.packets if p["fate"] == 0)
    lost = sorted(p["drop_ns"] for p in trace.packets if p["fate"] == 1)
    rows: list[dict[str, Any]] = []
    for at in range(0, round(seconds * SECOND) + 1, SECOND // 10):
        length = bisect_right(arrived, at) - bisect_right(left, at)
        dropped = bisect_right(lost, at)
        for parent, kind in ((0xFFFFFFFF, "htb"), (0x10001, "pfifo")):
            rows.append(
                {
                    "time_ns": at,
                    "interface_index": BOTTLENECK,
                    "parent": parent,
                    "kind": kind,
                    "length_pkts": length,
                    "drops": dropped,
                }
            )
    return rows


def _link_samples(trace: Trace, seconds: float) -> list[dict[str, Any]]:
    out = sorted(p["dequeue_ns"] for p in trace.packets if p["fate"] == 0)
    rows: list[dict[str, Any]] = []
    sent = 0
    for at in range(0, round(seconds * SECOND) + 1, SECOND // 10):
        while sent < len(out) and out[sent] <= at:
            sent += 1
        rows.append({"time_ns": at, "interface_index": BOTTLENECK, "tx_bytes": sent * PACKET_BYTES, "tx_packets": sent})
    return rows


def _account(entry: dict[str, Any], trace: Trace) -> dict[str, Any]:
    acked = [a["bytes_acked"] for a in trace.acks if a["tuple_id"] == entry["id"]]
    return {
        "flow_id": entry["id"],
        "name": entry["name"],
        "tool": entry["tool"],
        "start_ns": 0,
        "connect_ns": 0,
        "end_ns": entry["duration_ns"],
        "sent_bytes": acked[-1] if acked else 0,
        "received_bytes": acked[-1] if acked else 0,
        "busy_us": entry["duration_ns"] // 1000,
        "rwnd_limited_us": 0,
        "sndbuf_limited_us": 0,
    }

"""An explanation in sentences, and as JSON."""

from collections.abc import Iterator

import polars as pl

from netwarp.explain.events import Events
from netwarp.explain.explanation import Explanation
from netwarp.explain.parting import Parting, Row
from netwarp.values.json_values import Json

MAX_SETTINGS = 8
_ECN_CE = 3
_SENT, _DROPPED, _QUEUED, _TAKEN = range(4)


def sentences(found: Explanation) -> Iterator[str]:
    """Yield the explanation's sentences, line by line."""
    yield f"A: {found.a.title}"
    yield f"B: {found.b.title}"
    yield from _settings(found)
    if found.parting is None:
        yield "All packets, ACKs, drops and arrivals of the two runs are the same, to the nanosecond."
        return
    yield f"They diverge at {_seconds(found.parting.time_ns)}: {_event(found, found.parting)}."
    yield from _fates(found, found.parting)
    packet = found.packet
    if packet is not None and not found.parting.of_packet:
        yield f"The first packet that this changed, at {_seconds(packet.time_ns)}: {_event(found, packet)}."
        yield from _fates(found, packet)
    elif packet is None:
        yield "It changed no packet."


def _settings(found: Explanation) -> Iterator[str]:
    if not found.settings:
        yield "Their labs are the same."
        return
    yield "Settings that differ (A → B):"
    yield from (f"   {text}" for text in found.settings[:MAX_SETTINGS])
    if (more := len(found.settings) - MAX_SETTINGS) > 0:
        yield f"   and {more} more"


def _event(found: Explanation, parting: Parting) -> str:
    row = parting.row
    who = _who(found, row)
    if parting.kind == "ack":
        return f"an ACK reached the sender of {who}"
    if parting.kind == "arrival":
        return f"payload of {who} reached its receiver"
    if parting.kind == "drop":
        return f"a packet of {who} was dropped at {row['place']}"
    verb = "came to" if parting.kind == "enqueue" else "left"
    return f"packet {row['number'] + 1:,} of {who} {verb} the queue {row['place']}"


def _who(found: Explanation, row: Row) -> str:
    name = str(row["tuple"])
    known = found.flow_of(name)
    return f"{known} ({name})" if known else name


def _fates(found: Explanation, parting: Parting) -> Iterator[str]:
    for letter, events, row in zip("AB", found.events, (parting.a, parting.b), strict=True):
        yield f"   {letter}: {_fate(events, parting, row)}"


def _fate(events: Events, parting: Parting, row: Row | None) -> str:
    if parting.kind in ("enqueue", "dequeue"):
        packet = packet_of(events, parting.row)
        return "there is no such packet" if packet is None else _life(packet)
    if row is None:
        return "not at this moment"
    if parting.kind == "drop":
        return f"dropped at {_seconds(row['time_ns'])} ({row['reason'] or 'no reason given'})"
    changed = parting.changed or [name for name in row if name.endswith(("_bytes", "_pkts", "_us"))]
    return ", ".join(f"{name} = {row[name]}" for name in changed)


def packet_of(events: Events, row: Row) -> Row | None:
    """The row of a packet in a queue in this run, by place, tuple and number."""
    frame = events.packets.filter(*(pl.col(name) == row[name] for name in ("place", "tuple", "number")))
    return frame.row(0, named=True) if frame.height else None


def _life(packet: Row) -> str:
    arrival = f"came at {_seconds(packet['time_ns'])}"
    if packet["is_dropped"]:
        return (
            f"{arrival} and was dropped ({packet['reason'] or 'no reason given'}), {packet['length_pkts']} in the queue"
        )
    arrival += f", {packet['length_pkts']} in the queue with it"
    if packet["fate"] == _QUEUED:
        return f"{arrival}; still there at the end"
    if packet["drop_ns"] is not None:
        return f"{arrival}; dropped from the queue at {_seconds(packet['drop_ns'])} ({packet['reason']})"
    if packet["dequeue_ns"] is None:
        return arrival
    marked = packet["ecn_out"] == _ECN_CE and packet["ecn_in"] != _ECN_CE
    waited_ms = (packet["dequeue_ns"] - packet["time_ns"]) / 1e6
    left = "; taken elsewhere by a filter" if packet["fate"] == _TAKEN else "; left"
    return f"{arrival}{left} at {_seconds(packet['dequeue_ns'])} after {waited_ms:.3f} ms{', marked' if marked else ''}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.9f} s"


def as_json(found: Explanation) -> dict[str, Json]:
    """The explanation for programs; times in ns from t0, metrics in their own units."""
    return {
        "a": {"title": found.a.title, "run": str(found.a.run.path)},
        "b": {"title": found.b.title, "run": str(found.b.run.path)},
        "settings": list(found.settings),
        "parting": _parting_json(found, found.parting),
        "packet": _parting_json(found, found.packet),
        "effects": [vars(effect) for effect in found.effects],
    }


def _parting_json(found: Explanation, parting: Parting | None) -> dict[str, Json] | None:
    if parting is None:
        return None
    row = parting.row
    name = str(row["tuple"])
    flow = found.flow_of(name)
    facts: dict[str, Json] = {"kind": parting.kind, "time_ns": parting.time_ns, "flow": flow, "tuple": name}
    facts |= {key: row[key] for key in ("place", "number") if key in row}
    return facts | {"a": parting.a, "b": parting.b}

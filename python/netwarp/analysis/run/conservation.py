"""A check after every run that packets are conserved: each sent packet was delivered, dropped, lost or is still held.

A wrong sum means that records are missing, so that no metric can be trusted.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby

import polars as pl

from netwarp.analysis.parts import grouped
from netwarp.analysis.tuples import IPV6_FRAGMENT, UDP, flow_of_tuples
from netwarp.store.codes import Fate, Place
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

_SAMPLING_NS = 1_000_000
_Row = Mapping[str, int]


def conservation_doubts(run: RunDir) -> Iterator[str]:
    """Yield a sentence for every sum that is wrong; only recorded counts are checked."""
    wires = _by_interface(run, "wires")
    counts = _by_interface(run, "interfaces")
    yield from _wires(run, wires)
    yield from _links(run, counts, wires)
    yield from _nodes(run, counts)
    if run.has_rows("packets"):
        yield from _interfaces(run)
        if not any(end.copies or end.corrupts for end in run.description.ends):
            yield from _datagrams(run, wires, counts)


def _by_interface(run: RunDir, table: str) -> dict[int, _Row]:
    """Rows by interface; counts that older records lack are 0, because these records added up without them."""
    return {row["interface_index"]: row for row in run.scan(table).collect().fill_null(0).iter_rows(named=True)}


def _wires(run: RunDir, wires: Mapping[int, _Row]) -> Iterator[str]:
    """Check every wire: sent = delivered + lost + still there; a wire that duplicates may deliver up to twice as much.

    These counters count aggregates differently, except a device's; for links with aggregates the records are checked
    instead (`_links`).
    """
    for end in run.description.ends:
        if (end.offload and not end.device) or (wire := wires.get(end.interface_index)) is None:
            continue
        sent = wire["sent_pkts"]
        accounted = wire["delivered_pkts"] + wire["lost_pkts"] + wire["queued_pkts"]
        if sent != accounted and not (end.copies and sent < accounted <= 2 * sent):
            yield (
                f"packets on the wire from {end.name} do not add up: {sent} sent, {wire['delivered_pkts']} delivered, "
                f"{wire['lost_pkts']} lost, {wire['queued_pkts']} still on it"
            )


def _links(run: RunDir, counts: Mapping[int, _Row], wires: Mapping[int, _Row]) -> Iterator[str]:
    """Check to the byte that all data that left a queue arrived at the link's other end, was lost, or is on the wire.

    Packets sent before recording began are not counted, so that less may be missing than a wire still holds.
    """
    for near, far in _directions(run):
        if near.interface_index not in counts or far.interface_index not in counts:
            continue
        sent, came = counts[near.interface_index], counts[far.interface_index]
        if not sent["sent_pkts"]:
            continue  # unused, or without a queue, so that its departures are not recorded
        on_wire = wires.get(near.interface_index, {}).get("queued_bytes", 0)
        missing = sent["sent_bytes"] - came["arrived_bytes"] - sent["lost_bytes"]
        if not (missing <= on_wire if near.copies else missing == on_wire):
            yield (
                f"bytes from {near.name} to {far.name} do not add up: {sent['sent_bytes']} left its queue "
                f"({sent['sent_pkts']} packets), {came['arrived_bytes']} arrived ({came['arrived_pkts']}), "
                f"{sent['lost_bytes']} were lost ({sent['lost_pkts']}), {on_wire} are still on the wire"
            )


def _directions(run: RunDir) -> Iterator[tuple[End, End]]:
    for _, ends in groupby(run.description.ends, key=lambda end: end.link):
        one, *others = ends
        if not others:
            continue  # an interface without a peer, such as a bridge's own
        (other,) = others
        yield one, other
        yield other, one


def _nodes(run: RunDir, counts: Mapping[int, _Row]) -> Iterator[str]:
    """Check that a node delivered, queued, dropped, sent elsewhere or still holds each packet that it received."""
    for node in dict.fromkeys(end.node for end in run.description.ends):
        if node in run.description.copying:
            continue
        ends = [end.interface_index for end in run.description.ends if end.node == node]
        if not all(index in counts for index in ends):
            continue
        received, delivered, forwarded, dropped, elsewhere, waiting = (
            sum(counts[index][f"{what}_pkts"] for index in ends)
            for what in ("received", "delivered", "forwarded", "dropped", "elsewhere", "waiting")
        )
        if received != delivered + forwarded + dropped + elsewhere + waiting:
            yield (
                f"packets at {node} do not add up: {received} came, {delivered} were delivered to it, {forwarded} "
                f"forwarded to queues, {dropped} dropped, {elsewhere} went to interfaces that are not recorded, "
                f"{waiting} still wait for a neighbour's address or for other fragments"
            )


def _interfaces(run: RunDir) -> Iterator[str]:
    """Check that an interface sent all that left its queue, between the first and the last sample of its counter.

    A sample is taken some microseconds after its time, so that it is unknown whether it includes packets of that
    moment. An interface without any recorded packet has no queue, and is not checked. An aggregate leaves an interface
    with offloads as one packet, a device and others as its segments.
    """
    in_order = pl.col("time_ns", "tx_packets").sort_by("time_ns")
    ends_of = (in_order.first().name.prefix("first_"), in_order.last().name.prefix("last_"))
    samples = run.scan("links").group_by("interface_index").agg(pl.len().alias("samples"), *ends_of).collect()
    several = samples.filter(pl.col("samples") > 1)
    counters = {row["interface_index"]: row for row in several.iter_rows(named=True)}
    spans = several.select(
        "interface_index", pl.col("first_time_ns").alias("first_ns"), pl.col("last_time_ns").alias("last_ns")
    ).lazy()
    left, first, last = pl.col("dequeue_ns"), pl.col("first_ns"), pl.col("last_ns")
    surely = left.is_between(first + _SAMPLING_NS, last, closed="none")
    perhaps = left.is_between(first, last + _SAMPLING_NS)
    size = pl.col("segments").cast(pl.Int64)

    def departures(rows: pl.LazyFrame) -> pl.LazyFrame:
        sent = rows.filter(fate=Fate.SENT).join(spans, on="interface_index")
        return sent.select(
            "interface_index",
            (size * surely).alias("least"),
            (size * perhaps).alias("most"),
            surely.cast(pl.Int64).alias("least_whole"),
            perhaps.cast(pl.Int64).alias("most_whole"),
        )

    sums = dict.fromkeys(("least", "most", "least_whole", "most_whole"), pl.Expr.sum)
    columns = ("interface_index", "fate", "dequeue_ns", "segments")
    counted = grouped(run, "packets", columns, departures, keys=("interface_index",), joined=sums)
    departed = {row["interface_index"]: row for row in counted.iter_rows(named=True)}
    for end in run.description.ends:
        counter, row = counters.get(end.interface_index), departed.get(end.interface_index)
        if counter is None or row is None:
            continue
        grown = counter["last_tx_packets"] - counter["first_tx_packets"]
        suffix = "_whole" if end.offload and not end.device else ""
        least, most = row[f"least{suffix}"], row[f"most{suffix}"]
        if not least <= grown <= most:
            yield f"{end.name} sent {grown} packets, but {least} to {most} were recorded to leave its queue"


def _datagrams(run: RunDir, wires: Mapping[int, _Row], counts: Mapping[int, _Row]) -> Iterator[str]:
    """Check datagrams: sent = received + dropped + still queued + lost or still on the wires.

    The wires do not distinguish flows: no flow may miss a negative number, and all flows together must not miss more
    than the wires on their ways lost or hold, plus packets at interfaces that are not recorded, and in nodes.
    """
    ends = {end.interface_index: end for end in run.description.ends}
    missing, used = 0, set[int]()
    for name, misses, on_way in _missing(run):
        if misses < 0:
            yield f"flow {name} received or dropped {-misses} more datagrams than it sent"
        missing += max(misses, 0)
        used.update(on_way)
    room = sum(wires[index]["lost_pkts"] + wires[index]["queued_pkts"] for index in used if index in wires)
    inside = ("elsewhere_pkts", "waiting_pkts", "unsent_pkts")
    room += sum(row[what] for row in counts.values() for what in inside)
    # Packets at an interface without a queue are not recorded.
    room += sum(
        wire["lost_pkts"] + wire["queued_pkts"]
        for index, wire in wires.items()
        if index in counts and not counts[index]["sent_pkts"]
    )
    if missing > room and used <= wires.keys():
        names = ", ".join(_name(ends.get(index)) for index in sorted(used))
        yield f"{missing} datagrams are unaccounted for, but the wires from {names} lost or hold only {room}"


def _missing(run: RunDir) -> Iterator[tuple[str, int, list[int]]]:
    """Find every UDP flow's name, the number of its datagrams that no queue and no receiver has, and its interfaces.

    Flows whose packets are not their datagrams are left out: those of QUIC, and those that were sent in fragments.
    """
    flows = {flow.id: flow for flow in run.description.flows if flow.kind.datagrams and not flow.kind.quic}
    if not flows:
        return
    tuples = run.scan("tuples").collect()
    fragments = (pl.col("protocol") == IPV6_FRAGMENT) | (pl.col("protocol") == UDP) & (pl.col("source_port") == 0)
    fragmented = {_ends(row) for row in tuples.filter(fragments).iter_rows(named=True)}
    flow_of = {key: value for key, value in flow_of_tuples(tuples, run.description.flows).items() if value in flows}
    mine = pl.col("tuple_id").is_in(list(flow_of))
    kept_in_queue = pl.col("fate").is_in([Fate.DROPPED, Fate.QUEUED, Fate.TAKEN])
    kept = (pl.col("segments").cast(pl.Int64) * kept_in_queue).alias("kept")
    met = grouped(
        run,
        "packets",
        ("tuple_id", "interface_index", "fate", "segments"),
        lambda rows: rows.filter(mine).select("tuple_id", "interface_index", kept),
        keys=("tuple_id", "interface_index"),
        joined={"kept": pl.Expr.sum},
    ).sort("interface_index", maintain_order=True)
    elsewhere = run.scan("drops").filter(mine, pl.col("place") != Place.SENT)
    dropped = dict(elsewhere.group_by("tuple_id").agg(pl.col("segments").sum()).collect().iter_rows())
    arrived = (
        run.scan("datagrams")
        .filter(pl.col("received_ns") <= run.description.duration_ns)
        .group_by("flow_id")
        .agg(pl.col("sequence").n_unique())
        .collect()
    )
    received = dict(arrived.iter_rows())
    sent = dict(run.scan("flows").select("flow_id", "sent_pkts").collect().iter_rows())
    for row in tuples.filter(mine).iter_rows(named=True):
        flow = flows[flow_of[row["tuple_id"]]]
        if _ends(row) in fragmented or sent.get(flow.id) is None:
            continue
        queues = met.filter(tuple_id=row["tuple_id"])
        held = int(queues["kept"].sum()) + dropped.get(row["tuple_id"], 0)
        yield flow.name, sent[flow.id] - received.get(flow.id, 0) - held, queues["interface_index"].to_list()


def _ends(row: Mapping[str, str]) -> tuple[str, str]:
    return row["source"], row["destination"]


def _name(end: End | None) -> str:
    return end.name if end else "?"

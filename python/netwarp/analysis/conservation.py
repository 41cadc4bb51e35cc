"""Packets are conserved: what a run sent, it delivered, dropped, lost or still holds. Checked after every run.

A broken sum means that the records miss something, so that no metric can be trusted.
"""

from collections.abc import Iterator

import polars as pl

from netwarp.analysis.datagrams import DATAGRAM_TOOLS
from netwarp.analysis.queues import DROPPED, QUEUED, SENT
from netwarp.analysis.tuples import UDP, flow_of_tuples
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

_SAMPLING_NS = 1_000_000


def conservation_doubts(run: RunDir) -> Iterator[str]:
    """A sentence for every sum that does not come out; nothing is said of what was not recorded."""
    wires = {row["interface_index"]: row for row in run.scan("wires").collect().iter_rows(named=True)}
    yield from _wires(run, wires)
    if run.has_rows("packets"):
        yield from _interfaces(run)
        if not any(end.copies or end.corrupts for end in run.description.ends):
            yield from _datagrams(run, wires)


def _wires(run: RunDir, wires: dict[int, dict[str, int]]) -> Iterator[str]:
    """On every wire sent = delivered + lost + still there; a wire that duplicates may give up to twice what it took.

    Where packets are aggregates, they are not counted alike everywhere, and nothing can be said.
    """
    for end in run.description.ends:
        if end.offload or (wire := wires.get(end.interface_index)) is None:
            continue
        sent = wire["sent_pkts"]
        told = wire["delivered_pkts"] + wire["lost_pkts"] + wire["queued_pkts"]
        if sent != told and not (end.copies and sent < told <= 2 * sent):
            yield (
                f"packets on the wire from {end.name} do not add up: {sent} sent, {wire['delivered_pkts']} delivered, "
                f"{wire['lost_pkts']} lost, {wire['queued_pkts']} still on it"
            )


def _interfaces(run: RunDir) -> Iterator[str]:
    """Between the first and the last sample of its counter, an interface sent what left its queue.

    A sample is taken some microseconds after its time, so that of packets in that moment it is unknown whether it has
    them. An interface without any recorded packet is one without a queue, which is not recorded.
    """
    samples = run.scan("links").group_by("interface_index").agg(pl.col("time_ns", "tx_packets").sort_by("time_ns"))
    left = run.scan("packets").filter(fate=SENT).select("interface_index", "dequeue_ns").collect()
    times = {int(index): part for (index,), part in left.partition_by("interface_index", as_dict=True).items()}
    counters = {row["interface_index"]: row for row in samples.collect().iter_rows(named=True)}
    for end in run.description.ends:
        counter, part = counters.get(end.interface_index), times.get(end.interface_index)
        if counter is None or part is None or len(counter["time_ns"]) < 2:
            continue
        first, last = counter["time_ns"][0], counter["time_ns"][-1]
        counted = counter["tx_packets"][-1] - counter["tx_packets"][0]
        least = part.filter(pl.col("dequeue_ns").is_between(first + _SAMPLING_NS, last, closed="none")).height
        most = part.filter(pl.col("dequeue_ns").is_between(first, last + _SAMPLING_NS)).height
        if not least <= counted <= most:
            yield f"{end.name} sent {counted} packets, but {least} to {most} were recorded to leave its queue"


def _datagrams(run: RunDir, wires: dict[int, dict[str, int]]) -> Iterator[str]:
    """UDP: sent = received + dropped in queues + still queued + lost or still on the wires.

    The wires do not tell flows apart: what a flow misses elsewhere must be something, and all flows together must miss
    no more than the wires on their ways lost or hold.
    """
    ends = {end.interface_index: end for end in run.description.ends}
    missing, used = 0, set[int]()
    for name, misses, on_way in _missing(run):
        if misses < 0:
            yield f"flow {name} received or dropped {-misses} more datagrams than it sent"
        missing += max(misses, 0)
        used.update(on_way)
    room = sum(wires[index]["lost_pkts"] + wires[index]["queued_pkts"] for index in used if index in wires)
    if missing > room and used <= wires.keys():
        names = ", ".join(_name(ends.get(index)) for index in sorted(used))
        yield f"{missing} datagrams are unaccounted for, but the wires from {names} lost or hold only {room}"


def _missing(run: RunDir) -> Iterator[tuple[str, int, list[int]]]:
    """Of every UDP flow its name, how many datagrams no queue and no receiver knows, and the interfaces on its way.

    A flow whose datagrams were sent in fragments is left out: its packets are no datagrams.
    """
    flows = {flow.id: flow for flow in run.description.flows if flow.tool in DATAGRAM_TOOLS}
    if not flows:
        return
    tuples = run.scan("tuples").collect()
    fragmented = {_ends(row) for row in tuples.filter(protocol=UDP, source_port=0).iter_rows(named=True)}
    flow_of = {key: value for key, value in flow_of_tuples(tuples, run.description.flows).items() if value in flows}
    met = (
        run.scan("packets")
        .filter(pl.col("tuple_id").is_in(list(flow_of)))
        .group_by("tuple_id", "interface_index")
        .agg((pl.col("fate") == DROPPED).sum().alias("dropped"), (pl.col("fate") == QUEUED).sum().alias("queued"))
        .sort("interface_index")
        .collect()
    )
    arrived = (
        run.scan("datagrams")
        .filter(pl.col("received_ns") <= run.description.duration_ns)
        .group_by("flow_id")
        .agg(pl.col("sequence").n_unique())
        .collect()
    )
    received = dict(arrived.iter_rows())
    sent = dict(run.scan("flows").select("flow_id", "sent_pkts").collect().iter_rows())
    for row in tuples.filter(pl.col("tuple_id").is_in(list(flow_of))).iter_rows(named=True):
        flow = flows[flow_of[row["tuple_id"]]]
        if _ends(row) in fragmented or sent.get(flow.id) is None:
            continue
        queues = met.filter(tuple_id=row["tuple_id"])
        kept = int(queues["dropped"].sum()) + int(queues["queued"].sum())
        yield flow.name, sent[flow.id] - received.get(flow.id, 0) - kept, queues["interface_index"].to_list()


def _ends(row: dict[str, str]) -> tuple[str, str]:
    return row["source"], row["destination"]


def _name(end: End | None) -> str:
    return end.name if end else "?"

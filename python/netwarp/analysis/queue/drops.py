"""Drops outside of every recorded queue: their places, and which of them cost a flow a packet."""

from collections.abc import Iterator

import polars as pl

from netwarp.analysis.metric import Metric, rows
from netwarp.stats.weighting import Window
from netwarp.store.codes import Place
from netwarp.store.description import Description
from netwarp.store.rundir import RunDir
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IPV6_HEADER_BYTES, MAX_TCP_HEADER_BYTES

_FILTERS = {(Place.OUTPUT, "tc_egress"): "egress filter", (Place.RECEIVED, "tc_ingress"): "ingress filter"}
_AT_INTERFACE = {Place.OUTPUT: "output", Place.SENT: "wire", Place.RECEIVED: "input"}
_AT_NODE = {Place.LOCAL: "output", Place.DELIVERED: "transport"}
_TRANSPORT = {
    "socket_rcvbuff": "receive buffer",
    "proto_mem": "receive buffer",
    "socket_backlog": "receive buffer",
    "tcp_ofo_queue_prune": "receive buffer",
    "tcp_ofo_drop": "receive buffer",
    "no_socket": "closed port",
    "tcp_csum": "checksum",
    "udp_csum": "checksum",
    "icmp_csum": "checksum",
    "skb_csum": "checksum",
}
_UDP_CHECKS = ("udp_recvmsg", "udpv6_recvmsg", "__first_packet_length")
"""Functions that check a datagram's checksum when it is read: the kernel gives no reason for these drops."""
_MAX_HEADER_BYTES = ETHERNET_HEADER_BYTES + IPV6_HEADER_BYTES + MAX_TCP_HEADER_BYTES
"""Header bytes of Ethernet, IPv6 and TCP with as many options as fit."""
_LOST_BY_TCP = frozenset(("tcp_csum", "tcp_ofo_queue_prune", "tcp_ofo_drop"))


COLUMNS = ("tuple_id", "time_ns", "interface_index", "place", "drop_reason", "function", "packet_bytes", "segments")
"""The columns of drops.arrows by which drops are judged and counted."""


def load_drops(run: RunDir) -> pl.DataFrame:
    """Load drops.arrows with a column `where`, the name of the place; empty without exact records."""
    frame = run.scan("drops").collect()
    return frame.with_columns(pl.Series("where", list(_names(frame, run.description)), dtype=pl.String))


def is_lost(description: Description) -> pl.Expr:
    """Whether a drop cost a flow a packet: not a loss on a wire, nor a packet that TCP no longer needs."""
    known = dict(enumerate(description.drop_reasons)) or {0: "not_dropped"}
    names = pl.col("drop_reason").replace_strict(known, default="", return_dtype=pl.String)
    # TCP discards packets that it no longer needs: copies of data that it has already, old ACKs.
    needless = names.str.starts_with("tcp_") & ~names.is_in(list(_LOST_BY_TCP))
    return (pl.col("place") != Place.SENT) & ~needless & ~_remains(names)


def is_of_the_network(description: Description) -> pl.Expr:
    """Whether a drop is one of the network: on a wire, before a queue, by a filter of tc, at a full socket, a checksum.

    The others are a host's refusal: no route, no forwarding, a firewall, a port at which no program listens.
    """
    known = dict(enumerate(description.drop_reasons)) or {0: "not_dropped"}
    names = pl.col("drop_reason").replace_strict(known, default="", return_dtype=pl.String)
    at_socket = [name for name, what in _TRANSPORT.items() if what != "closed port"]
    filtered = [name for _, name in _FILTERS]
    return pl.col("place").is_in([Place.OUTPUT, Place.SENT]) | names.is_in([*at_socket, *filtered])


def _remains(names: pl.Expr) -> pl.Expr:
    """Whether a packet is a remnant of a closed connection: data in its socket, or a late ACK or reset for it."""
    at_tcp = pl.col("function").fill_null("").str.starts_with("tcp_v")
    without_payload = pl.col("packet_bytes") <= _MAX_HEADER_BYTES
    late = at_tcp & without_payload & names.is_in(["no_socket", "not_specified"])
    return (pl.col("place") == Place.DELIVERED) & (late | (names == "queue_purge"))


def drop_metrics(run: RunDir, window: Window) -> Iterator[Metric]:
    """Drops by place and reason in the window; only places and reasons that occurred."""
    drops = load_drops(run).filter(pl.col("time_ns").is_between(*window.bounds) & is_lost(run.description))
    for (where,), part in drops.sort("where", maintain_order=True).group_by("where", maintain_order=True):
        counts = part.group_by("drop_reason").agg(pl.col("segments").sum()).sort("drop_reason", maintain_order=True)
        by_reason = {f"drops_{run.description.drop_reason(number)}": count for number, count in counts.iter_rows()}
        yield from rows("place", str(where), {"drops": int(part["segments"].sum()), **by_reason})


def _names(frame: pl.DataFrame, description: Description) -> Iterator[str]:
    ends = {end.interface_index: end for end in description.ends}
    columns = frame.select("interface_index", "place", "drop_reason", "function")
    for index, number, reason, function in columns.iter_rows():
        place, end = Place(number), ends.get(index)
        why = "udp_csum" if function in _UDP_CHECKS else description.drop_reason(reason)
        if place in _AT_NODE:
            what = _TRANSPORT.get(why, _AT_NODE[place]) if place is Place.DELIVERED else _AT_NODE[place]
            yield f"{end.node if end else 'unknown node'} {what}"
        else:
            yield f"{end.name if end else 'unknown interface'} {_FILTERS.get((place, why), _AT_INTERFACE[place])}"

"""Connections that TCP gave up: nothing answered what it sent for as long as it retransmits."""

from collections.abc import Iterator, Mapping

import polars as pl

from netwarp.store.description import Flow
from netwarp.store.rows import AccountRow
from netwarp.store.rundir import RunDir
from netwarp.values.units import format_duration

_ENDPOINT = ("source", "source_port")


def lost_connections(run: RunDir, known: Mapping[int, AccountRow]) -> Iterator[str]:
    """Yield a sentence for every flow that always has data to send, and whose socket was gone before its end.

    TCP gives up after net.ipv4.tcp_retries2 retransmissions, or after TCP_USER_TIMEOUT (tcp_write_timeout()), which an
    outage may cause: that is a result, but what the flow achieved is an average over time without a connection. `known`
    are the flows' own accounts by flow id; only flows whose data goes from their source are looked at. Raises
    StoreError if a table cannot be read.
    """
    period_ns = run.lab.record.sample_ns
    flows = {
        (flow.source, flow.source_port): flow
        for flow in run.description.flows
        if not flow.reverse and flow.id in known and _had_more_to_send(flow, known[flow.id])
    }
    if not flows or not period_ns:
        return
    rows = run.scan("sockets").select(*_ENDPOINT, "time_ns").group_by(_ENDPOINT).agg(pl.col("time_ns").max()).collect()
    last_ns = {(source, port): time_ns for source, port, time_ns in rows.iter_rows()}
    for endpoint, flow in flows.items():
        seen_ns = last_ns.get(endpoint)
        if seen_ns is not None and seen_ns + 2 * period_ns <= known[flow.id]["end_ns"]:
            yield (
                f"flow {flow.name} lost its connection between {format_duration(seen_ns)} and "
                f"{format_duration(seen_ns + period_ns)}: TCP retransmitted in vain until it gave up"
            )


def _had_more_to_send(flow: Flow, account: AccountRow) -> bool:
    """Whether a built-in TCP flow that retransmitted cannot have ended before its time."""
    kind = flow.kind
    if not (kind.built_in and kind.greedy) or kind.subflows or flow.transport != "tcp":
        return False
    if account["error"] or not account["retransmits"]:
        return False
    return flow.payload_bytes is None or (account["received_bytes"] or 0) < flow.payload_bytes

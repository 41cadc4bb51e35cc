"""Lost datagrams of a user's program, which have no numbers: each is counted where it ended."""

import polars as pl

from netwarp.analysis.queue.drops import is_lost
from netwarp.analysis.tuples import IPV6_FRAGMENT, UDP, flow_of_tuples
from netwarp.stats.weighting import Window
from netwarp.store.codes import Fate, Place
from netwarp.store.rundir import RunDir


def load_losses(run: RunDir, window: Window) -> dict[int, tuple[int, int]]:
    """Return the numbers of datagrams that were lost in the window and whose fate was decided in it, by flow id.

    Each sent datagram arrives at its socket, is dropped, is lost on a wire, or is still on its way; the last do not
    count. This needs exact records in which a packet is a datagram: flows are left out if datagrams were fragmented,
    because later fragments have no ports, or if a wire duplicates or corrupts.
    """
    flows = tuple(flow for flow in run.description.flows if flow.kind.owns_sockets and flow.transport == "udp")
    if not flows or not run.has_rows("packets"):
        return {}
    if any(end.copies or end.corrupts for end in run.description.ends):
        return {}
    tuples = run.scan("tuples").collect()
    if tuples.filter(_is_fragment()).height:
        return {}
    flow_of = flow_of_tuples(tuples, flows)
    flow_id = pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id")
    own, bounds = pl.col("tuple_id").is_in(list(flow_of)), window.bounds
    queued = run.scan("packets").filter(own, pl.col("fate") == Fate.DROPPED, pl.col("drop_ns").is_between(*bounds))
    elsewhere = run.scan("drops").filter(own, pl.col("time_ns").is_between(*bounds))
    elsewhere = elsewhere.filter(is_lost(run.description) | (pl.col("place") == Place.SENT))
    came = run.scan("arrivals").filter(own, pl.col("time_ns").is_between(*bounds))
    count = pl.col("segments").cast(pl.Int64).alias("pkts")
    parts = [
        queued.select(flow_id, count, pl.lit(value=True).alias("lost")),
        elsewhere.select(flow_id, count, pl.lit(value=True).alias("lost")),
        came.select(flow_id, pl.lit(1, pl.Int64).alias("pkts"), pl.lit(value=False).alias("lost")),
    ]
    totals = pl.concat(parts).group_by("flow_id").agg(pl.col("pkts").filter("lost").sum().alias("lost"), pl.sum("pkts"))
    return {int(flow): (int(lost), int(pkts)) for flow, lost, pkts in totals.collect().iter_rows()}


def _is_fragment() -> pl.Expr:
    over_ipv4 = (pl.col("protocol") == UDP) & (pl.col("source_port") == 0) & (pl.col("destination_port") == 0)
    return over_ipv4 | (pl.col("protocol") == IPV6_FRAGMENT)

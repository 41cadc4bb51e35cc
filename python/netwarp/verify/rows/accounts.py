"""Accounts: laws that hold for any traffic, and the statistics of the generators."""

from __future__ import annotations

from math import sqrt

import polars as pl

from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir
from netwarp.verify.measures import by_axis, packets_at, packets_of
from netwarp.verify.row import Family, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, FRAME_BYTES, dumbbell, flow

_QUEUES = ("pfifo limit 100", "codel", "fq_codel", "cake bandwidth 10mbit")
_QUEUE = "links.bottleneck.queue"
_SECONDS = 200
_ON_MS, _OFF_MS = 50, 150
_ON_SHARE = _ON_MS / (_ON_MS + _OFF_MS)
_CYCLES = _SECONDS * 1000 / (_ON_MS + _OFF_MS)
_POISSON_MBPS = 8
_GAPS = _POISSON_MBPS * 1e6 / 8 / FRAME_BYTES * _SECONDS
_MIXED = "\n".join(
    [flow("bulk", "bulk"), flow("poisson", "poisson", rate="2mbit"), flow("ping", "ping", interval="50ms")]
)


def _littles_ratio(run: RunDir) -> float | None:
    """The mean of the queue's recorded lengths, divided by arrivals × mean wait from the times of its packets."""
    end = run.lab.duration_ns
    packets = packets_at(run, BOTTLENECK).filter(pl.col("enqueue_ns") < end)
    left = pl.coalesce("dequeue_ns", "drop_ns", pl.lit(end)).clip(upper_bound=end)
    waited = packets.select(((left - pl.col("enqueue_ns")) * pl.col("segments")).sum()).item()
    lengths = run.metrics().filter(scope="queue", name=BOTTLENECK, metric="length_pkts_mean")["value"]
    return float(lengths[0]) * end / waited if waited and len(lengths) else None


def _unaccounted(run: RunDir) -> dict[str, float]:
    """Datagrams that were sent, and neither arrived nor were dropped, lost or still on their way at the end."""
    sent = run.scan("flows").collect().row(0, named=True)
    queues = [packets_of(run, "udp", name) for name in ("access:h1", BOTTLENECK)]
    away = sum(one.filter(pl.col("fate").is_in([Fate.DROPPED, Fate.QUEUED])).height for one in queues)
    indices = [one["interface_index"][0] for one in queues]
    wires = run.scan("wires").filter(pl.col("interface_index").is_in(indices)).collect()
    gone = wires.select((pl.col("lost_pkts") + pl.col("queued_pkts")).sum()).item()
    return {"packets": float(sent["sent_pkts"] - sent["received_pkts"] - away - gone)}


def _variation(run: RunDir) -> dict[str, float]:
    gaps = (
        run.scan("datagrams")
        .sort("sequence", maintain_order=True)
        .select(pl.col("sent_ns").diff())
        .collect()["sent_ns"]
        .drop_nulls()
    )
    mean, deviation = gaps.mean(), gaps.std()
    return {"variation": float(str(deviation)) / float(str(mean))} if len(gaps) > 1 else {}


def _share_of_rate(run: RunDir) -> dict[str, float]:
    sent = run.scan("flows").collect()["sent_pkts"][0]
    return {"share": sent * FRAME_BYTES * 8 / 10e6 / _SECONDS}


FAMILY = Family(
    "Accounts",
    (
        Row(
            "littles-law",
            "The mean length of a queue is its arrivals × the mean time that each is in it.",
            "J. D. C. Little: A Proof for the Queuing Formula L = λW, Operations Research 9 (1961)",
            "measured length / λW",
            dict.fromkeys(_QUEUES, 1.0),
            within(1e-6, "both sides are sums of the same whole ns; lengths and times are separate columns"),
            dumbbell(
                "littles-law",
                flows=_MIXED,
                duration="20s",
                sweep=f'"{_QUEUE}" = {list(_QUEUES)}',
            ),
            by_axis(_QUEUE, _littles_ratio),
        ),
        Row(
            "conservation",
            "Every packet that was sent arrived, was dropped or lost, or is still on its way at the end.",
            "conservation: sent − arrived − dropped − lost − queued",
            "packets",
            {"packets": 0.0},
            within(0, "packets are counted"),
            dumbbell("conservation", flows=flow("udp", "cbr", rate="12mbit"), duration="20s", loss="5%"),
            _unaccounted,
        ),
        Row(
            "poisson-gaps",
            "The gaps of a Poisson source vary by their mean: they are exponential.",
            "the exponential distribution, whose standard deviation is its mean",
            "standard deviation / mean",
            {"variation": 1.0},
            within(4 * 2 / sqrt(_GAPS), f"four standard errors, each less than 2 / √n, of n = {_GAPS:,.0f} gaps"),
            dumbbell(
                "poisson-gaps",
                flows=flow("udp", "poisson", rate=f"{_POISSON_MBPS}mbit"),
                duration=f"{_SECONDS}s",
                seeds=3,
            ),
            _variation,
        ),
        Row(
            "on-off-share",
            "A source that is on for 50 ms and off for 150 ms on average sends a quarter of its rate.",
            "renewal theory: on / (on + off)",
            "share of the rate",
            {"share": _ON_SHARE},
            share(
                4 * (1 - _ON_SHARE) * sqrt(2 / _CYCLES),
                f"four standard deviations of a ratio of {_CYCLES:,.0f} exponential times each",
            ),
            dumbbell(
                "on-off-share",
                flows=flow(
                    "udp", "on_off", rate="10mbit", on=f"{_ON_MS}ms exponential", off=f"{_OFF_MS}ms exponential"
                ),
                duration=f"{_SECONDS}s",
                seeds=3,
            ),
            _share_of_rate,
        ),
    ),
)

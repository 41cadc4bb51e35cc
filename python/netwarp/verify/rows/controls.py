"""Congestion controls: the constants of their standards."""

from __future__ import annotations

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Range, Row, Size, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow

_BBR_MIN_PKTS = 4


def _retransmits(run: RunDir) -> dict[str, float]:
    """The retransmissions of a flow whose losses are all marks; absent if nothing was marked."""
    acks = run.scan("acks").sort("time_ns", maintain_order=True).collect()
    marked = acks["delivered_ce_pkts"].max()
    return {"retransmissions": float(acks["retransmits"].max() or 0)} if marked else {}  # type: ignore[arg-type]


def _least_window(run: RunDir) -> dict[str, float]:
    acks = run.scan("acks").filter(pl.col("time_ns") > 2 * 10**9).collect()
    least = acks["snd_cwnd_pkts"].min()
    return {} if least is None else {"least window": float(str(least))}


FAMILY = Family(
    "Congestion controls",
    (
        Row(
            "ecn-without-loss",
            "Where packets are marked instead of dropped, nothing is sent again.",
            "RFC 3168, sections 5 and 6.1.2",
            "packets",
            {"retransmissions": 0.0},
            within(0, "a mark is not a loss"),
            dumbbell(
                "ecn-without-loss",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="30s",
                queue="codel limit 10000 ecn",
                settings=tuple(f'nodes.{node}.sysctl={{ "net.ipv4.tcp_ecn" = 1 }}' for node in ("h1", "h2")),
            ),
            _retransmits,
        ),
        Row(
            "copa-queue",
            "Copa senders keep a queue of 1.25 packets for each packet of the sum of their 1/δ, which is 2 each.",
            "V. Arun, H. Balakrishnan: Copa (NSDI 2018), section 3; netwarp's module from the paper, docs/gallery.md",
            "packets",
            {"2": 5.0, "4": 10.0},
            Range(0.5, 1.0, "the paper analyses a fluid, without delayed ACKs: a factor of two", relative=True),
            dumbbell(
                "copa-queue",
                flows=flow("bulk", "bulk", cc="file:tcp_copa.c", count=2),
                duration="30s",
                warmup="10s",
                rate="50mbit",
                delay="20ms",
                queue="pfifo limit 400",
                sweep='"flows.bulk.count" = [2, 4]',
                seeds=3,
            ),
            metric("queue", BOTTLENECK, "length_pkts_mean", "flows.bulk.count"),
            size=Size.USUAL,
        ),
        Row(
            "bbr-probe-rtt",
            "To measure the path's RTT, BBR reduces its window to four packets.",
            "N. Cardwell et al.: BBR, ACM Queue 14 (2016); net/ipv4/tcp_bbr.c, bbr_cwnd_min_target",
            "packets",
            {"least window": float(_BBR_MIN_PKTS)},
            within(0, "windows are whole packets"),
            dumbbell("bbr-probe-rtt", flows=flow("bulk", "bulk", cc="bbr"), duration="25s"),
            _least_window,
        ),
    ),
)

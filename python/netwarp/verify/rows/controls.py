"""Congestion controls: the constants of their standards."""

from __future__ import annotations

from statistics import median

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Range, Row, Size, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow

_SETTLED_NS = 10 * 10**9
_BBR_MIN_PKTS = 4
_RECOVERY = 3


def _decrease(run: RunDir) -> dict[str, float]:
    """The slow-start threshold after a loss, as a part of the window before it: the median over all losses."""
    acks = run.scan("acks").filter(pl.col("time_ns") > _SETTLED_NS).sort("time_ns").collect()
    acks = acks.with_columns(before=pl.col("snd_cwnd_pkts").shift(1))
    begins = (pl.col("ca_state") == _RECOVERY) & (pl.col("ca_state").shift(1) != _RECOVERY)
    ratios = acks.filter(begins).select(pl.col("snd_ssthresh_pkts") / pl.col("before")).to_series()
    label = axis_text(run.description.point["flows.bulk.cc"])
    return {label: median(ratios.to_list())} if len(ratios) else {}


def _retransmits(run: RunDir) -> dict[str, float]:
    """The retransmissions of a flow whose losses are all marks; absent if nothing was marked."""
    acks = run.scan("acks").sort("time_ns").collect()
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
            "decrease",
            "A loss reduces the window to its half with Reno, to 0.7 of it with CUBIC.",
            "RFC 5681, section 3.1; RFC 9438, section 4.6",
            "share of the window before",
            {"reno": 0.5, "cubic": 0.7},
            within(0.02, "windows are whole packets, here of about 60 and 100"),
            dumbbell(
                "decrease",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="60s",
                sweep='"flows.bulk.cc" = ["reno", "cubic"]',
            ),
            _decrease,
        ),
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
            Range(0.5, 1.0, "the paper's analysis is of a fluid, without delayed ACKs: a factor of two", relative=True),
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

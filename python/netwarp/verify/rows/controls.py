"""Congestion controls: the constants of their standards."""

from __future__ import annotations

from statistics import median

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.verify.row import Experiment, Family, Row, within
from netwarp.verify.rows.networks import dumbbell, flow

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
            Experiment(
                "decrease",
                dumbbell(
                    "decrease",
                    flows=flow("bulk", "bulk", cc="reno"),
                    duration="60s",
                    sweep='"flows.bulk.cc" = ["reno", "cubic"]',
                ),
            ),
            _decrease,
        ),
        Row(
            "bbr-probe-rtt",
            "To measure the path's RTT, BBR reduces its window to four packets.",
            "N. Cardwell et al.: BBR, ACM Queue 14 (2016); net/ipv4/tcp_bbr.c, bbr_cwnd_min_target",
            "packets",
            {"least window": float(_BBR_MIN_PKTS)},
            within(0, "windows are whole packets"),
            Experiment(
                "bbr-probe-rtt",
                dumbbell("bbr-probe-rtt", flows=flow("bulk", "bulk", cc="bbr"), duration="25s"),
            ),
            _least_window,
        ),
    ),
)

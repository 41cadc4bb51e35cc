"""BBR: its gains, its cycle, and its goodput under random losses."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Range, Row, Size, share, within
from netwarp.verify.rows.networks import FRAME_BYTES, SEGMENT_BYTES, dumbbell, flow

_PAPER = "N. Cardwell et al.: BBR, ACM Queue 14 (2016)"
_UNIT = 256
_GAINS = {"startup": 739, "drain": 88, "up": 320, "down": 192, "cruise": 256}
"""Gains in 1/256: 2/ln 2 and its inverse, 5/4, 3/4 and 1 (net/ipv4/tcp_bbr.c: bbr_high_gain, bbr_drain_gain,
bbr_pacing_gain)."""
_PROBE_RTT_PKTS = 4
_STARTED_NS = 2 * 10**9
_LOSS = "links.bottleneck.loss.forward"
_LOSSES = {"1%": 0.01, "5%": 0.05, "10%": 0.1}
_ALONE = dumbbell("bbr-alone", flows=flow("bulk", "bulk", cc="bbr"), duration="45s", queue="pfifo limit 200")


def _acks(run: RunDir) -> pl.DataFrame:
    return run.scan("acks").sort("time_ns", maintain_order=True).collect().drop_nulls("bbr_pacing_gain")


def _gains(run: RunDir) -> dict[str, float]:
    """The gains of the paper that the sender had."""
    found = set(_acks(run)["bbr_pacing_gain"].to_list())
    return {name: gain / _UNIT for name, gain in _GAINS.items() if gain in found}


def _begins(gain: int) -> pl.Expr:
    return (pl.col("bbr_pacing_gain") == gain) & (pl.col("bbr_pacing_gain").shift(1) != gain)


def _cycle(run: RunDir) -> dict[str, float]:
    """The time from one phase of 5/4 to the next, in the least round trips of the path: the median."""
    acks = _acks(run).filter(pl.col("time_ns") > _STARTED_NS)
    begins = acks.filter(_begins(_GAINS["up"]))
    gaps = [later - earlier for earlier, later in pairwise(begins["time_ns"].to_list())]
    return {"cycle": median(gaps) / 1e3 / acks["min_rtt_us"][-1]} if gaps else {}


def _probe_rtts(run: RunDir) -> list[tuple[int, int]]:
    """When each ProbeRTT began to have a window of four packets, and when it had a larger one again."""
    acks = _acks(run).filter(pl.col("time_ns") > _STARTED_NS)
    small = pl.col("snd_cwnd_pkts") == _PROBE_RTT_PKTS
    changes = acks.filter(small != small.shift(1))
    times = changes["time_ns"].to_list()
    first = 0 if changes.height and changes["snd_cwnd_pkts"][0] == _PROBE_RTT_PKTS else 1
    return list(zip(times[first::2], times[first + 1 :: 2], strict=False))


def _interval(run: RunDir) -> dict[str, float]:
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(_probe_rtts(run))]
    return {"interval": median(gaps) / 1e9} if gaps else {}


def _length(run: RunDir) -> dict[str, float]:
    lengths = [end - begin for begin, end in _probe_rtts(run)]
    return {"length": median(lengths) / 1e6} if lengths else {}


def _margin(run: RunDir) -> dict[str, float]:
    """The pacing rate over gain × the estimated bandwidth while it cruises: the median."""
    cruises = _acks(run).filter(pl.col("bbr_pacing_gain") == _UNIT, pl.col("time_ns") > _STARTED_NS)
    part = cruises.select((pl.col("pacing_rate_bps") / pl.col("bbr_bw_bps")).median()).item()
    return {} if part is None else {"pacing / bandwidth": part}


FAMILY = Family(
    "BBR",
    (
        Row(
            "bbr-gains",
            "BBR starts with a gain of 2 / ln 2, drains with its inverse, and probes with 5/4, 3/4 and 1.",
            f"{_PAPER}; net/ipv4/tcp_bbr.c, bbr_high_gain, bbr_drain_gain, bbr_pacing_gain",
            "times the bandwidth",
            {"startup": 2.885, "drain": 0.347, "up": 1.25, "down": 0.75, "cruise": 1.0},
            within(0.005, "gains are whole 1/256"),
            _ALONE,
            _gains,
        ),
        Row(
            "bbr-cycle",
            "It probes for more bandwidth once in eight round trips.",
            f"{_PAPER}; net/ipv4/tcp_bbr.c, CYCLE_LEN",
            "least round trips",
            {"cycle": 8.0},
            Range(
                0.0,
                1.5,
                "a phase ends at the first ACK after its round trip; that of 5/4 lasts until a quarter more is in "
                "flight, which takes up to a round trip more",
            ),
            _ALONE,
            _cycle,
        ),
        Row(
            "bbr-probe-interval",
            "Ten seconds after the last small round trip, ProbeRTT begins.",
            f"{_PAPER}; net/ipv4/tcp_bbr.c, bbr_min_rtt_win_sec",
            "s",
            {"interval": 10.0},
            Range(0.0, 0.1, "it begins with an ACK, and the window shrinks as packets are acknowledged"),
            _ALONE,
            _interval,
        ),
        Row(
            "bbr-probe-length",
            "It lasts for 200 ms, and at least a round trip.",
            f"{_PAPER}; net/ipv4/tcp_bbr.c, bbr_probe_rtt_mode_ms",
            "ms",
            {"length": 200.0},
            Range(
                0.0, 60.0, "the 200 ms begin when four packets are in flight, and end at the first ACK of a round trip"
            ),
            _ALONE,
            _length,
        ),
        Row(
            "bbr-margin",
            "It paces at 99 % of the estimated bandwidth, so that a queue drains.",
            "net/ipv4/tcp_bbr.c, bbr_pacing_margin_percent; the estimate counts payload, as pacing does",
            "share",
            {"pacing / bandwidth": 0.99},
            within(0.005, "both are rounded to whole bytes per ms"),
            _ALONE,
            _margin,
        ),
        Row(
            "bbr-random-loss",
            "Random losses of p take this share of the rate from BBR, and no more.",
            f"{_PAPER}, figure 8: to 15 % of loss; arithmetic: (1 − p) × rate × 1448 / 1514",
            "Mbit/s",
            {label: (1 - p) * 20 * SEGMENT_BYTES / FRAME_BYTES for label, p in _LOSSES.items()},
            share(0.05, "a phase of 3/4 in eight may leave the link idle where losses have emptied the queue: 3 %"),
            dumbbell(
                "bbr-random-loss",
                flows=flow("bulk", "bulk", cc="bbr"),
                duration="60s",
                warmup="10s",
                rate="20mbit",
                delay="20ms",
                queue="pfifo limit 200",
                sweep=f'"{_LOSS}" = {list(_LOSSES)}',
            ),
            metric("flow", "bulk", "goodput_mbps", _LOSS),
            explained=Range(
                max(_LOSSES.values()) + 0.033,
                0.0,
                "BBR estimates the rate at which packets arrive, (1 − p) × rate, sends at 99 % of that between probes, "
                "and 1 − p of it arrives: from (1 − p)² on, which probes of 5/4 raise; ProbeRTT takes 230 ms of 10 s",
                relative=True,
            ),
            size=Size.USUAL,
        ),
    ),
)

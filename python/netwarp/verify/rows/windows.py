"""Windows of congestion controls: their growth and reduction, and the resulting use of a link."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from statistics import mean, median

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.verify.measures import by_axis, metric
from netwarp.verify.row import Family, Range, Row, Size, share, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow, frame_ms

_OPEN, _RECOVERY, _CWR = 0, 3, 2
_CC = "flows.bulk.cc"
_QUEUE = "links.bottleneck.queue"
_SETTLED_NS = 10 * 10**9
_DELAY_MS = 60
_RTT_MS = 2 * _DELAY_MS + frame_ms(10) + frame_ms(1000)
_PIPE_PKTS = _RTT_MS / frame_ms(10)
"""The capacity of the sawtooth rows' path, with the packet on the link: 100 packets."""
_BUFFERS_PKTS = (25, 50, 100)
_RENO_BETA, _CUBIC_BETA, _CUBIC_C = 0.5, 0.7, 0.4
_PARTS = (0.25, 0.5, 0.75, 1.0)
_FAST_CONVERGENCE = (1 + _CUBIC_BETA) / 2
_RANDOM = {"1%": 0.01, "0.1%": 0.001}
_DELAY = "links.bottleneck.delay"
_LOSS = "links.bottleneck.loss.forward"


def _acks(run: RunDir) -> pl.DataFrame:
    """The sender's states after slow start, with the state and the window before each."""
    acks = run.scan("acks").filter(pl.col("time_ns") > _SETTLED_NS).sort("time_ns", maintain_order=True).collect()
    return acks.with_columns(before=pl.col("snd_cwnd_pkts").shift(1), state=pl.col("ca_state").shift(1))


def _begins(state: int) -> pl.Expr:
    """Whether a state begins at this ACK."""
    return (pl.col("ca_state") == state) & (pl.col("state") != state)


def decrease(run: RunDir, state: int = _RECOVERY) -> dict[str, float]:
    """The slow-start threshold as a part of the window before, at the begin of a state: the median of all."""
    begins = _acks(run).filter(_begins(state))
    ratios = begins.select(pl.col("snd_ssthresh_pkts") / pl.col("before")).to_series()
    return {axis_text(run.description.point[_CC]): median(ratios.to_list())} if len(ratios) else {}


def _marked(run: RunDir) -> dict[str, float]:
    return decrease(run, _CWR)


def _growth(run: RunDir) -> float | None:
    """Packets that the window grows by in each round trip between two reductions: the median of all such epochs.

    A round trip is the delivery of a window. An epoch is measured from its first change to its last, in its second to
    ninth tenth.
    """
    acks = _acks(run)
    times = acks.filter(_begins(_RECOVERY))["time_ns"].to_list()
    slopes = []
    for begin, end in pairwise(times):
        edge = (end - begin) // 10
        inside = pl.col("time_ns").is_between(begin + 2 * edge, end - edge)
        epoch = acks.filter(inside, pl.col("ca_state") == _OPEN)
        part = pl.col("delivered_pkts").cast(pl.Int64).diff().fill_null(0) / pl.col("snd_cwnd_pkts")
        changes = epoch.with_columns(rounds=part.cum_sum()).filter(pl.col("snd_cwnd_pkts") != pl.col("before"))
        if changes.height > 2:
            grown, rounds = (changes[name][-1] - changes[name][0] for name in ("snd_cwnd_pkts", "rounds"))
            slopes.append(grown / rounds)
    return median(slopes) if slopes else None


def _losses_s(run: RunDir) -> list[float]:
    return [one / 1e9 for one in _acks(run).filter(_begins(_RECOVERY))["time_ns"].to_list()]


def _period_s(run: RunDir) -> float | None:
    gaps = [later - earlier for earlier, later in pairwise(_losses_s(run))]
    return mean(gaps) if gaps else None


def _between_losses(run: RunDir) -> float | None:
    delivered = _acks(run).filter(_begins(_RECOVERY))["delivered_pkts"].cast(pl.Int64).diff().drop_nulls()
    return float(str(delivered.mean())) if len(delivered) else None


def _threshold(run: RunDir) -> float | None:
    """The slow-start threshold as it is first set."""
    rows = run.metrics().filter(scope="flow", name="bulk", metric="cwnd_pkts_slow_start_end")
    return float(rows["value"][0]) if rows.height else None


def _cubic_curve(run: RunDir) -> dict[str, float]:
    """The window's position between its start (-1) and its origin (0) in an epoch of CUBIC, at parts of K: the median.

    The origin is the window before the loss, or 0.85 of that if it was below the origin before (RFC 9438, 4.7).
    """
    acks = _acks(run)
    losses = acks.filter(_begins(_RECOVERY))
    places: dict[str, list[float]] = {f"{part:g} K": [] for part in _PARTS}
    peaks = losses["before"].to_list()
    for number in range(1, len(peaks) - 1):
        origin = peaks[number] * (_FAST_CONVERGENCE if peaks[number] < peaks[number - 1] else 1)
        begin, end = losses["time_ns"][number], losses["time_ns"][number + 1]
        epoch = acks.filter(pl.col("time_ns").is_between(begin, end, closed="left"), pl.col("ca_state") == _OPEN)
        if epoch.is_empty():
            continue
        start = epoch["snd_cwnd_pkts"][0]
        k_ns = ((origin - start) / _CUBIC_C) ** (1 / 3) * 1e9 if origin > start else 0
        for part in _PARTS:
            at = epoch["time_ns"][0] + part * k_ns
            if k_ns > 0 and at < end:
                now = epoch.filter(pl.col("time_ns") <= at)["snd_cwnd_pkts"][-1]
                places[f"{part:g} K"].append((now - origin) / (origin - start))
    return {label: median(found) for label, found in places.items() if found}


def _cycle(buffer: int) -> float:
    """1 + β + β² of a buffer of β pipes."""
    part = buffer / _PIPE_PKTS
    return 1 + part + part**2


def _by_buffer(values: dict[int, float]) -> dict[str, float]:
    return {f"pfifo limit {buffer}": value for buffer, value in values.items()}


_SAWTOOTH = dumbbell(
    "reno-sawtooth",
    flows=flow("bulk", "bulk", cc="reno"),
    duration="300s",
    warmup="40s",
    delay=f"{_DELAY_MS}ms",
    sweep=f'"{_QUEUE}" = {[f"pfifo limit {buffer}" for buffer in _BUFFERS_PKTS]}',
)
_RENO = "RFC 5681, section 3.1: one packet more each round trip, half the window at a loss"
_FLUID = "the queue takes bursts of two packets, 8 % of the smallest buffer; a recovery takes a round trip of 75"

FAMILY = Family(
    "Windows",
    (
        Row(
            "decrease",
            "A loss reduces the window to its half with Reno, to 0.7 of it with CUBIC.",
            "RFC 5681, section 3.1; RFC 9438, section 4.6",
            "share of the window before",
            {"reno": _RENO_BETA, "cubic": _CUBIC_BETA},
            within(0.02, "windows are whole packets, here of about 60 and 100"),
            dumbbell(
                "decrease",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="60s",
                sweep=f'"{_CC}" = ["reno", "cubic"]',
            ),
            decrease,
        ),
        Row(
            "decrease-scalable",
            "Scalable TCP gives up an eighth of its window.",
            "T. Kelly: Scalable TCP, ACM CCR 33(2), 2003, section 3; net/ipv4/tcp_scalable.c",
            "share of the window before",
            {"scalable": 0.875},
            within(0.02, "windows are whole packets, here of about 110"),
            dumbbell(
                "decrease-scalable",
                flows=flow("bulk", "bulk", cc="scalable"),
                duration="60s",
                sweep=f'"{_CC}" = ["scalable"]',
            ),
            decrease,
        ),
        Row(
            "decrease-marked",
            "A mark reduces the window as a loss does.",
            "RFC 3168, section 6.1.2; RFC 9438, section 4.6",
            "share of the window before",
            {"reno": _RENO_BETA, "cubic": _CUBIC_BETA},
            within(0.02, "windows are whole packets, here of 40 and more"),
            dumbbell(
                "decrease-marked",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="60s",
                delay="40ms",
                queue="codel limit 10000 ecn",
                sweep=f'"{_CC}" = ["reno", "cubic"]',
                settings=tuple(f'nodes.{node}.sysctl={{ "net.ipv4.tcp_ecn" = 1 }}' for node in ("h1", "h2")),
            ),
            _marked,
        ),
        Row(
            "slow-start-threshold",
            "Slow start overshoots what path and queue hold by two, so that half of the window is what they hold.",
            "RFC 5681, section 3.1, equation 4; arithmetic: (20 ms + frames) × 10 Mbit/s + the limit",
            "packets",
            _by_buffer({limit: (20 + frame_ms(10)) / frame_ms(10) + limit for limit in (50, 100, 200)}),
            Range(2, 6, "a flight comes in pairs; the window grows until three packets more have arrived"),
            dumbbell(
                "slow-start-threshold",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="8s",
                sweep=f'"{_QUEUE}" = {[f"pfifo limit {limit}" for limit in (50, 100, 200)]}',
            ),
            by_axis(_QUEUE, _threshold),
        ),
        Row(
            "reno-growth",
            "Reno's window grows by one packet in each round trip.",
            "RFC 5681, section 3.1, equation 3",
            "packets / round trip",
            _by_buffer(dict.fromkeys(_BUFFERS_PKTS, 1.0)),
            within(0.03, "windows are whole packets, of which an epoch has at least 40"),
            _SAWTOOTH,
            by_axis(_QUEUE, _growth),
            size=Size.USUAL,
        ),
        Row(
            "reno-utilisation",
            "With a buffer of β × what the path holds, Reno uses ¾ (1 + β)² / (1 + β + β²) of the link.",
            f"{_RENO}; the integral of the window over a sawtooth",
            "share of the rate",
            _by_buffer({one: 0.75 * (1 + one / _PIPE_PKTS) ** 2 / _cycle(one) for one in _BUFFERS_PKTS}),
            within(0.02, _FLUID),
            _SAWTOOTH,
            metric("link", BOTTLENECK, "utilisation", _QUEUE),
            size=Size.USUAL,
        ),
        Row(
            "reno-period",
            "Its losses are (1 + β + β²) / 2 × what the path holds × its round trip apart.",
            f"{_RENO}; the integral of the round trip over a sawtooth",
            "s",
            _by_buffer({one: _cycle(one) / 2 * _PIPE_PKTS * _RTT_MS / 1000 for one in _BUFFERS_PKTS}),
            share(0.1, _FLUID),
            _SAWTOOTH,
            by_axis(_QUEUE, _period_s),
            size=Size.USUAL,
        ),
        Row(
            "reno-packets-per-loss",
            "Between two losses it delivers ⅜ W² packets, where W is what path and queue hold.",
            "M. Mathis et al.: The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997), section 2",
            "packets",
            _by_buffer({one: 3 / 8 * (_PIPE_PKTS + one) ** 2 for one in _BUFFERS_PKTS}),
            share(0.1, _FLUID),
            _SAWTOOTH,
            by_axis(_QUEUE, _between_losses),
            size=Size.USUAL,
        ),
        Row(
            "reno-random-loss",
            "At random losses of a share p, Reno's mean window is 1.31 / √p.",
            "T. Ott, J. Kemperman, M. Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance (1996); Mathis "
            "et al. (1997), table 1",
            "packets",
            {label: 1.31 / sqrt(p) for label, p in _RANDOM.items()},
            share(0.15, "of 600 losses at 0.1 %, four standard errors are 10 %; recoveries take a round trip each"),
            dumbbell(
                "reno-random-loss",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="300s",
                warmup="10s",
                rate="100mbit",
                delay="10ms",
                queue="pfifo limit 1000",
                sweep=f'"{_LOSS}" = {list(_RANDOM)}',
            ),
            metric("flow", "bulk", "cwnd_pkts_mean", _LOSS),
            size=Size.USUAL,
        ),
        Row(
            "cubic-curve",
            "In an epoch CUBIC's window is W_max + C (t − K)³: (t / K − 1)³ of the way back to W_max.",
            "RFC 9438, sections 4.2 and 4.7; C = 0.4",
            "share of the reduction",
            {f"{part:g} K": (part - 1) ** 3 for part in _PARTS},
            within(0.05, "the window follows its target within a round trip, of which K has 60 or more: 3 / 60"),
            dumbbell(
                "cubic-curve",
                flows=flow("bulk", "bulk", cc="cubic"),
                duration="150s",
                rate="100mbit",
                delay="50ms",
                queue="pfifo limit 400",
                sweep=f'"{_CC}" = ["cubic"]',
            ),
            _cubic_curve,
            size=Size.USUAL,
        ),
        Row(
            "cubic-reno-friendly",
            "Where Reno is faster, CUBIC's window grows by 3 (1 − β) / (1 + β) = 0.529 packets in a round trip. It is "
            "back after 46 of them, 0.8 s, CUBIC's own curve after 4 s.",
            "RFC 9438, section 4.3",
            "packets / round trip",
            dict.fromkeys(("2ms", "5ms"), 3 * (1 - _CUBIC_BETA) / (1 + _CUBIC_BETA)),
            share(
                0.05,
                "the kernel counts ACKs in eighths (15 / 8: 0.533), and keeps a rate of growth for 31 ms (HZ / 32), in "
                "which the window grows by one of the 20 packets of an epoch",
            ),
            dumbbell(
                "cubic-reno-friendly",
                flows=flow("bulk", "bulk", cc="cubic"),
                duration="30s",
                rate="50mbit",
                queue="pfifo limit 40",
                sweep=f'"{_DELAY}" = ["2ms", "5ms"]',
            ),
            by_axis(_DELAY, _growth),
        ),
        Row(
            "vegas-queue",
            "Vegas keeps two to four packets in the queue.",
            "L. Brakmo, L. Peterson: TCP Vegas, IEEE JSAC 13(8), 1995, section 3.2; net/ipv4/tcp_vegas.c: alpha, beta",
            "packets",
            {"length_pkts_mean": 3.0},
            within(1.5, "alpha and beta, and half of a pair that arrives at once"),
            dumbbell("vegas-queue", flows=flow("bulk", "bulk", cc="vegas"), duration="40s", warmup="20s"),
            metric("queue", BOTTLENECK, "length_pkts_mean"),
        ),
    ),
)

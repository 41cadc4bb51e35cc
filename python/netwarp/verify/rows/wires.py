"""Wires: losses, copies, reordering, and delays."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import by_axis, metric
from netwarp.verify.row import Family, Measure, Row, share, within
from netwarp.verify.rows.networks import FRAME_BYTES, dumbbell, flow

_MBPS = 8
_SECONDS = 100
_PACKETS = _MBPS * 1e6 / 8 / FRAME_BYTES * _SECONDS
_DEVIATIONS = 4
_INTO, _OUT_OF = 0.01, 0.1
"""Probabilities of a burst of losses: that one begins, and that it ends, at each packet."""
_BAD = _INTO / (_INTO + _OUT_OF)
_JITTERS = {"2ms": 2 / sqrt(3), "2ms normal": 2.0}
"""Jitter → the standard deviation of the delay in ms: uniform within ± 2 ms, or normal."""
_RAMP_MBPS = (2, 10)


def _binomial(probability: float, factor: float = 1.0) -> float:
    """Four standard deviations, in percent, of a share of the packets; `factor` times the variance of independent
    ones."""
    return 100 * _DEVIATIONS * sqrt(factor * probability * (1 - probability) / _PACKETS)


def _of_binomial(what: str) -> str:
    return f"{_DEVIATIONS} standard deviations of a binomial count of {_PACKETS:,.0f} {what}"


def _share(name: str, claim: str, expected: Mapping[str, float], setting: str, measure: Measure) -> Row:
    """The row of a share, in percent, of independent packets."""
    (pct,) = expected.values()
    return Row(
        name,
        claim,
        "tc-netem(8)",
        "%",
        expected,
        within(_binomial(pct / 100), _of_binomial("packets")),
        dumbbell(
            name,
            flows=flow("udp", "cbr", rate=f"{_MBPS}mbit"),
            duration=f"{_SECONDS}s",
            seeds=3,
            settings=(f"links.bottleneck.{setting}",),
        ),
        measure,
    )


def _loss(pct: float) -> Row:
    return _share(
        f"loss-{pct:g}pct".replace(".", "_"),
        f"A wire with a random loss of {pct:g} % loses this share of the packets.",
        {"loss_pct": pct},
        f"loss={pct:g}%",
        metric("flow", "udp", "loss_pct"),
    )


def _lost(run: RunDir) -> list[int]:
    """The lengths of the bursts of losses: the gaps in the numbers that arrived."""
    numbers = run.scan("datagrams").select(pl.col("sequence").sort()).collect()["sequence"]
    gaps = numbers.diff().drop_nulls() - 1
    return [int(one) for one in gaps if one > 0]


def _burst(run: RunDir) -> dict[str, float]:
    bursts = _lost(run)
    return {"packets": sum(bursts) / len(bursts)} if bursts else {}


def _outage(run: RunDir) -> dict[str, float]:
    return {"lost": float(sum(_lost(run)))}


def _duplicates(run: RunDir) -> dict[str, float]:
    numbers = run.scan("datagrams").collect()["sequence"]
    return {"copied": 100 * (len(numbers) / numbers.n_unique() - 1)} if len(numbers) else {}


def _times_ms(run: RunDir) -> pl.Series:
    return run.scan("datagrams").select((pl.col("received_ns") - pl.col("sent_ns")) / 1e6).collect().to_series()


def _overtaking(run: RunDir) -> dict[str, float]:
    """The share of the packets that took less than the delay of the wire."""
    times = _times_ms(run)
    return {"early": 100 * float((times < 10).sum()) / len(times)} if len(times) else {}


def _deviation(run: RunDir) -> float | None:
    found = _times_ms(run).std()
    return None if found is None else float(str(found))


def _ramped(run: RunDir) -> dict[str, float]:
    """The mean rate, in Mbit/s of frames, while the rate of the link grows."""
    during = pl.col("received_ns").is_between(5 * 10**9, 25 * 10**9)
    arrived = run.scan("datagrams").filter(during).select(pl.len()).collect().item()
    return {"mean rate": arrived * FRAME_BYTES * 8 / 20 / 1e6}


_BURSTS = dumbbell(
    "gilbert-elliott",
    flows=flow("udp", "cbr", rate=f"{_MBPS}mbit"),
    duration=f"{_SECONDS}s",
    loss=f"gemodel {100 * _INTO:g}% {100 * _OUT_OF:g}%",
    seeds=3,
)

FAMILY = Family(
    "Wires",
    (
        *(_loss(pct) for pct in (0.1, 1.0, 10.0)),
        Row(
            "gilbert-loss",
            "A wire that begins a burst of losses with 1 % and ends it with 10 % loses 1 / 11 of the packets.",
            "E. N. Gilbert: Capacity of a Burst-Noise Channel, BSTJ 39 (1960): p / (p + r); tc-netem(8), loss gemodel",
            "%",
            {"loss_pct": 100 * _BAD},
            within(
                _binomial(_BAD, (2 - _INTO - _OUT_OF) / (_INTO + _OUT_OF)),
                f"{_of_binomial('packets')}, whose states are correlated by 1 − p − r from one to the next",
            ),
            _BURSTS,
            metric("flow", "udp", "loss_pct"),
        ),
        Row(
            "gilbert-burst",
            "Its bursts have ten packets on average.",
            "E. N. Gilbert: Capacity of a Burst-Noise Channel, BSTJ 39 (1960): 1 / r",
            "packets",
            {"packets": 1 / _OUT_OF},
            share(
                _DEVIATIONS * sqrt((1 - _OUT_OF) / (_PACKETS * (1 - _BAD) * _INTO)),
                f"{_DEVIATIONS} standard deviations of a mean of {_PACKETS * (1 - _BAD) * _INTO:.0f} geometric lengths",
            ),
            _BURSTS,
            _burst,
        ),
        _share(
            "duplicates",
            "A wire that duplicates 1 % delivers this share of the packets twice.",
            {"copied": 1.0},
            "duplicate=1%",
            _duplicates,
        ),
        _share(
            "corruption",
            "A wire that flips a bit in 1 % of the packets loses these to checksums.",
            {"loss_pct": 1.0},
            "corrupt=1%",
            metric("flow", "udp", "loss_pct"),
        ),
        _share(
            "reordering",
            "A wire that reorders 5 % sends this share of the packets without the delay.",
            {"early": 5.0},
            "reorder=5%",
            _overtaking,
        ),
        Row(
            "jitter",
            "A jitter of 2 ms makes delays vary within ± 2 ms, or normally by this deviation.",
            "tc-netem(8), delay TIME JITTER, distribution; the uniform distribution's deviation is its half / √3",
            "ms",
            _JITTERS,
            share(_DEVIATIONS * sqrt(2 / 4 / 1e4), "four standard errors of a deviation of 10,000 normal values"),
            dumbbell(
                "jitter",
                flows=flow("udp", "cbr", rate="1.2112mbit"),
                duration="100s",
                delay="20ms",
                sweep=f'"links.bottleneck.jitter" = {list(_JITTERS)}',
            ),
            by_axis("links.bottleneck.jitter", _deviation),
            phases="it is the jitter of the path, of which the noise is a part",
        ),
        Row(
            "outage",
            "An outage of a second loses the packets of a second.",
            "arithmetic: 8 Mbit/s × 1 s / 1514 bytes",
            "packets",
            {"lost": _MBPS * 1e6 / 8 / FRAME_BYTES},
            within(1, "whole packets: the first and the last may be on either side"),
            dumbbell(
                "outage",
                flows=flow("udp", "cbr", rate=f"{_MBPS}mbit"),
                duration="10s",
                more='[[changes]]\nat = "5s"\nlink = "bottleneck"\noutage = "1s"',
            ),
            _outage,
        ),
        Row(
            "ramp",
            "A rate that grows from 2 to 10 Mbit/s in 20 s sends 6 Mbit/s on average.",
            "arithmetic: the mean of a line",
            "Mbit/s",
            {"mean rate": sum(_RAMP_MBPS) / 2},
            within((_RAMP_MBPS[1] - _RAMP_MBPS[0]) / 50 / 2 + 0.02, "half of one of 50 steps, and a few packets"),
            dumbbell(
                "ramp",
                flows=flow("udp", "cbr", rate="12mbit"),
                duration="30s",
                rate=f"{_RAMP_MBPS[0]}mbit",
                more=f'[[changes]]\nat = "5s"\nlink = "bottleneck"\nover = "20s"\nrate = "{_RAMP_MBPS[1]}mbit"',
            ),
            _ramped,
        ),
        Row(
            "trace",
            "A link that follows a trace of rates sends all that the trace allows.",
            "the shipped trace lte: the integral of its rates over a minute",
            "share of what the rates allow",
            {"utilisation": 1.0},
            within(0.002, "a full queue is never idle; a packet that began at an old rate ends at it, at each step"),
            dumbbell(
                "trace",
                flows=flow("udp", "cbr", rate="90mbit"),
                duration="60s",
                warmup="1s",
                queue="pfifo limit 1000",
                settings=("links.bottleneck.trace.forward=lte", "links.bottleneck.rate={ reverse = '10mbit' }"),
            ),
            metric("link", "bottleneck:r1", "utilisation"),
        ),
    ),
)

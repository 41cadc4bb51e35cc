"""Wires: what they lose and how long they take."""

from __future__ import annotations

from math import sqrt

from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Row, within
from netwarp.verify.rows.networks import FRAME_BYTES, dumbbell, flow

_MBPS = 8
_SECONDS = 100
_PACKETS = _MBPS * 1e6 / 8 / FRAME_BYTES * _SECONDS
_DEVIATIONS = 4


def _loss(pct: float) -> Row:
    """The row of a random loss. The number of losses is binomial."""
    share = pct / 100
    name = f"loss-{pct:g}pct".replace(".", "_")
    return Row(
        name,
        f"A wire with a random loss of {pct:g} % loses this share of the packets.",
        "tc-netem(8), loss random",
        "%",
        {"loss_pct": pct},
        within(
            100 * _DEVIATIONS * sqrt(share * (1 - share) / _PACKETS),
            f"{_DEVIATIONS} standard deviations of a binomial count of {_PACKETS:,.0f} packets",
        ),
        dumbbell(
            name,
            flows=flow("udp", "cbr", rate=f"{_MBPS}mbit"),
            duration=f"{_SECONDS}s",
            loss=f"{pct:g}%",
            seeds=3,
        ),
        metric("flow", "udp", "loss_pct"),
    )


FAMILY = Family("Wires", tuple(_loss(pct) for pct in (0.1, 1.0, 10.0)))

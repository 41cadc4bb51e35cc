"""The E-model of speech quality: the rating R and the mean opinion score (ITU-T G.107, 06/2015).

All parameters have the Recommendation's default values (table 2) except the delay, which is that of a connection whose
echo is perfectly cancelled, and the equipment impairment of the codec with its losses.
"""

from __future__ import annotations

from math import log2

_DEFAULT_RATING = 93.2
"""R with all defaults (7.1, and B.1): Ro − Is without impairments by delay and equipment, and without advantage A."""
_SHORT_MS = 100.0
"""A delay that does not impair: mT, for the default delay sensitivity class (7.4)."""
MOST_LOSS_PCT = 20.0
"""The most packets that may be lost, Ppl, in the permitted range of table 2: 0 to 20 %."""
_BURSTS = (1.0, 2.0)
"""The permitted range of BurstR (table 2)."""


def delay_impairment(delay_ms: float) -> float:
    """Idd, the impairment by a long mouth-to-ear delay Ta (equations 7-27 and 7-28, with sT = 1)."""
    if delay_ms <= _SHORT_MS:
        return 0.0
    x = log2(delay_ms / _SHORT_MS)
    return float(25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2))


def equipment_impairment(impairment: float, robustness: float, loss_pct: float, burst_ratio: float = 1.0) -> float:
    """Ie,eff (equation 7-29), of a codec with Ie and Bpl that loses Ppl percent of its packets.

    The burst ratio is the mean length of bursts of losses in place of that of independent ones; it is limited to the
    permitted range. Raises ValueError above `MOST_LOSS_PCT`, where the equation has no meaning.
    """
    if loss_pct > MOST_LOSS_PCT:
        raise ValueError(f"the E-model is defined for losses of up to {MOST_LOSS_PCT:g} %, not of {loss_pct:g} %")
    ratio = min(max(burst_ratio, _BURSTS[0]), _BURSTS[1])
    return impairment + (95 - impairment) * loss_pct / (loss_pct / ratio + robustness)


def rating(delay_ms: float, equipment: float) -> float:
    """R with this mouth-to-ear delay and Ie,eff (equation 7-1)."""
    return _DEFAULT_RATING - delay_impairment(delay_ms) - equipment


def mean_opinion_score(r: float) -> float:
    """MOS of a conversation with this R (equations B-4)."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6

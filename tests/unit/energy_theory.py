"""Closed forms of the models of energy; times in ns.

A direction that sleeps is an M/G/1 queue with close-down and set-up times: the server serves a share ρ of the time
(work is conserved), and a cycle has one period D = Ts + sleep + Tw without service, so that cycles last E[D] / (1 − ρ).
"""

from __future__ import annotations

import math

from netwarp.energy.model import Coalescing, LowPowerIdle, Radio


def asleep_share(idle: LowPowerIdle, rate: float, load: float, coalescing: Coalescing | None = None) -> float:
    """The share of time asleep under Poisson arrivals (`rate` per ns) at a load, for any distribution of lengths."""
    falls, wakes = idle.sleep_us * 1e3, idle.wake_us * 1e3
    asleep = _asleep_in_cycle(falls, rate, coalescing)
    return (1 - load) * asleep / (falls + asleep + wakes)


def _asleep_in_cycle(falls: float, rate: float, coalescing: Coalescing | None) -> float:
    """E[(W − Ts)⁺], with W from the last departure to the arrival that wakes, or the end of the wait for others.

    W is the first of the N-th arrival and of a time T after the first arrival: P(W > t) = P(fewer than N in t) for
    t ≤ T, and P(none in t − T) · P(fewer than N in T) for t > T.
    """
    if coalescing is None:
        return math.exp(-rate * falls) / rate
    patience, most = coalescing.time_us * 1e3, coalescing.frames
    if most is None:
        return patience - falls + 1 / rate if falls < patience else math.exp(-rate * (falls - patience)) / rate
    fewer = sum(_poisson(k, rate * patience) for k in range(most))
    late = max(falls, patience)
    early = _fewer_until(most, rate, falls) - _fewer_until(most, rate, late)
    return early + fewer * math.exp(-rate * (late - patience)) / rate


def _fewer_until(most: int, rate: float, since: float) -> float:
    """The integral of P(fewer than N arrivals in t) from `since` on: sums of Erlang's distribution."""
    return sum(sum(_poisson(j, rate * since) for j in range(k + 1)) for k in range(most)) / rate


def _poisson(number: int, mean: float) -> float:
    return math.exp(number * math.log(mean) - mean - math.lgamma(number + 1)) if mean else float(number == 0)


def wake_delay(idle: LowPowerIdle, rate: float) -> float:
    """The mean delay that sleeping adds to M/G/1 without coalescing, E[A(A − 1)] / (2 E[A] λ), with A arrivals in D
    (decomposition: S. Fuhrmann, R. Cooper, Operations Research 33(5), 1985)."""
    falling, waking = rate * idle.sleep_us * 1e3, rate * idle.wake_us * 1e3
    first = falling + math.exp(-falling)
    pairs = falling**2 + 2 * first * waking + waking**2
    return pairs / (2 * (first + waking) * rate)


def radio_watts(model: Radio, rate: float, uplink_bits: float) -> float:
    """The mean power of a radio that sends packets of this many bits, which arrive as a Poisson process.

    Each packet begins a renewal: it is active, then in each tail while no other packet comes, then idle. A promotion
    ends as a packet does; packets that arrive during it do not prolong it.
    """
    since = model.inactivity_ms * 1e6
    energy = model.active_mw / 1e3 * (1 - math.exp(-rate * since)) / rate
    for tail in model.tails:
        until = since + tail.duration_ms * 1e6
        energy += tail.mean_w * (math.exp(-rate * since) - math.exp(-rate * until)) / rate
        since = until
    idle, promotion = math.exp(-rate * since), model.promotion_ms * 1e6
    energy += idle * (model.idle.mean_w / rate + model.promotion_mw / 1e3 * promotion)
    return energy / (1 / rate + idle * promotion) + rate * uplink_bits * model.uplink_mj_per_mbit

"""Generate the shipped traces: `python -m netwarp.traces.generate [FOLDER]`. Seeded; the same bytes every time.

They are models, not measurements: each has the shape that the literature reports for its kind of link, and no data of
an operator's network. Each function documents its model.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

LENGTH_S = 60
STEP_MS = 100
STEPS = LENGTH_S * 1000 // STEP_MS
FRAME_BITS = 1514 * 8
MIN_BPS = FRAME_BITS * 1000 // STEP_MS
"""One full frame per step: at a lower rate a frame would occupy the link beyond its step."""


def _rounded(rate_bps: float) -> int:
    """A rate of at least one frame a step, in whole kbit/s."""
    return 1000 * max(round(rate_bps / 1000), -(-MIN_BPS // 1000))


def lte() -> Iterator[str]:
    """A walking user's LTE downlink.

    Shadowing is a log-normal of 8 dB that is correlated over 2 s, around a median of 12 Mbit/s (rates vary tenfold
    within seconds: K. Winstein et al., Sprout, NSDI 2013, figure 1); fast fading multiplies each step by an exponential
    of mean 1 that is averaged over 4 draws, as a scheduler does over resource blocks; and about every 15 s the user
    passes through a hole of 0.5 to 2 s with a tenth of the rate.
    """
    rng = random.Random("netwarp lte 1")
    keep = math.exp(-STEP_MS / 2000)
    shadow, hole = 0.0, 0
    yield "time,rate"
    for step in range(STEPS):
        shadow = keep * shadow + math.sqrt(1 - keep * keep) * rng.gauss(0, 8)
        fading = sum(rng.expovariate(1) for _ in range(4)) / 4
        if hole == 0 and rng.random() < STEP_MS / 15000:
            hole = rng.randint(500 // STEP_MS, 2000 // STEP_MS)
        depth = 0.1 if hole else 1.0
        hole = max(hole - 1, 0)
        rate = min(12e6 * 10 ** (shadow / 20) * fading * depth, 75e6)
        yield f"{_seconds(step)},{_rounded(rate)}"
    yield f"{LENGTH_S},"


def wifi() -> Iterator[str]:
    """An 802.11n station (20 MHz, one stream, long guard interval) among others.

    The modulation walks along the eight rates of IEEE 802.11-2012, table 20-30, one step up or down about once a
    second; 65 % of its bits are left after the medium's overhead; and while neighbours are active (on for 2 s, off for
    4 s on average, exponential), the station gets a third to a half of the air time.
    """
    rng = random.Random("netwarp wifi 1")
    rates = (6.5e6, 13e6, 19.5e6, 26e6, 39e6, 52e6, 58.5e6, 65e6)
    index, busy, left = 5, False, 30
    yield "time,rate"
    for step in range(STEPS):
        if rng.random() < STEP_MS / 1000:
            index = min(max(index + rng.choice((-1, 1)), 0), len(rates) - 1)
        left -= 1
        if left <= 0:
            busy = not busy
            left = 1 + int(rng.expovariate(1 / (2000 if busy else 4000)) / STEP_MS)
        share = rng.uniform(0.33, 0.5) if busy else rng.uniform(0.9, 1.0)
        yield f"{_seconds(step)},{_rounded(rates[index] * 0.65 * share)}"
    yield f"{LENGTH_S},"


def satellite() -> Iterator[str]:
    """A low-orbit satellite downlink that hands over every 15 s.

    The network assigns satellites again every 15 s; the one-way delay then jumps (here to 12 to 30 ms) and drifts by a
    few ms as the satellite moves, and rates differ from slot to slot (here 60 to 180 Mbit/s, ± 15 % from second to
    second), as measured by N. Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024. During a handover
    nothing gets through for 100 ms, and one packet in two hundred is lost for 400 ms more.
    """
    rng = random.Random("netwarp satellite 4")
    slot_s, rate, delay_ms, drift = 15, 0.0, 0.0, 0.0
    yield "time,rate,delay,loss"
    for second in range(LENGTH_S):
        handover = second % slot_s == 0
        if handover:
            rate, delay_ms, drift = rng.uniform(60e6, 180e6), rng.uniform(12, 30), rng.uniform(-0.2, 0.2)
        now = f"{_rounded(rate * rng.uniform(0.85, 1.15))},{delay_ms:.3f}ms"
        delay_ms += drift
        if handover and second:
            yield f"{second},{now},100%"
            yield f"{second}.1,,,0.5%"
            yield f"{second}.5,,,0%"
        else:
            yield f"{second},{now},0%"
    yield f"{LENGTH_S},,,"


def _seconds(step: int) -> str:
    return f"{step * STEP_MS / 1000:g}"


TRACES: dict[str, Callable[[], Iterator[str]]] = {"lte": lte, "wifi": wifi, "satellite": satellite}


def text_of(name: str) -> str:
    """The whole file of a trace: its description as a comment, and its rows."""
    maker = TRACES[name]
    about = (maker.__doc__ or "").strip().splitlines()[0]
    head = f"# {about} A model, made by netwarp.traces.generate, which says of what.\n"
    return head + "".join(f"{line}\n" for line in maker())


def main() -> None:
    """Write all traces beside this file, or into the folder named on the command line."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name in TRACES:
        (folder / f"{name}.csv").write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()

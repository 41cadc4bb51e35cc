"""The players of videos once more, by their papers: decisions from the records of earlier segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl

SECOND = 10**9
HORIZON = 5
Decision = tuple[int, float | None]
"""The number of a bitrate in the ladder, and the throughput that it is decided for."""


def decisions(own: Mapping[str, Any], segments: pl.DataFrame) -> Iterator[Decision]:
    """Decide each of these segments as the player with these fields of a lab does, in bit/s."""
    ladder: Sequence[int] = own["bitrates_bps"]
    seen: list[float] = []
    errors: list[float] = []
    previous = 0
    for buffer_ns, level, throughput in segments.select("buffer_ns", "level", "throughput_bps").iter_rows():
        buffer_s = buffer_ns / SECOND
        mean = len(seen[-5:]) / sum(1 / bps for bps in seen[-5:]) if seen else None
        if own["player"] == "buffer":
            yield (
                buffer_based(ladder, own["reservoir_ns"] / SECOND, own["cushion_ns"] / SECOND, buffer_s, previous),
                None,
            )
        elif mean is None:
            yield 0, None
        elif own["player"] == "rate":
            usable = own["safety"] * mean
            yield max([n for n, bps in enumerate(ladder) if bps <= usable], default=0), usable
        else:
            least = mean / (1 + max(errors[-5:], default=0))
            times = own["segment_ns"] / SECOND, own["buffer_ns"] / SECOND
            yield hybrid(ladder, least, (buffer_s, *times), previous), least
        if throughput is not None:
            if mean is not None:
                errors.append(abs(mean - throughput) / throughput)
            seen.append(throughput)
        previous = level


def buffer_based(ladder: Sequence[int], reservoir_s: float, cushion_s: float, buffer_s: float, previous: int) -> int:
    """Algorithm 1 of Huang et al. 2014."""
    if buffer_s <= reservoir_s:
        return 0
    if buffer_s >= reservoir_s + cushion_s:
        return len(ladder) - 1
    mapped = ladder[0] + (buffer_s - reservoir_s) / cushion_s * (ladder[-1] - ladder[0])
    if mapped >= ladder[min(previous + 1, len(ladder) - 1)]:
        return max(n for n, bps in enumerate(ladder) if bps < mapped)
    if mapped <= ladder[max(previous - 1, 0)]:
        return min(n for n, bps in enumerate(ladder) if bps > mapped)
    return previous


def hybrid(ladder: Sequence[int], throughput: float, times_s: tuple[float, float, float], previous: int) -> int:
    """RobustMPC of Yin et al. 2015, by all sequences of five bitrates; of equally good ones the first.

    `times_s`: what is in the buffer, a segment's playback, and the most that the buffer holds.
    """
    buffer_s, segment_s, most_s = times_s
    best, chosen = float("-inf"), 0
    for plan in product(range(len(ladder)), repeat=HORIZON):
        score, level_s, last = 0.0, buffer_s, ladder[previous]
        for number in plan:
            bps = ladder[number]
            has_s, takes_s = min(level_s, most_s - segment_s), bps * segment_s / throughput
            score += bps / 1e6 - abs(bps - last) / 1e6 - 3 * max(takes_s - has_s, 0.0)
            level_s, last = max(has_s - takes_s, 0.0) + segment_s, bps
        # Sums of the same numbers in another order differ in their last digits.
        if score > best + 1e-9:
            best, chosen = score, plan[0]
    return chosen

"""Helpers of tests of links that are devices: exact times of frames, and the driver's random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
from e2e_traffic import FORWARD, datagrams_of, packets_of
from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir
from numpy.typing import NDArray

MS = 10**6
DEVICE = 'wire = "device"'
Numbers = NDArray[np.int64]
_GAMMA = 0x9E3779B97F4A7C15
_64 = 2**64 - 1
STREAMS = ("state", "loss", "copy", "flip", "bit", "skip", "jitter")
"""The streams of random numbers of a direction, in the driver's order."""


@dataclass(frozen=True)
class Frames:
    """The frames of a UDP flow that left its queue, in order: sequence, time of leaving, size."""

    sequence: Numbers
    left_ns: Numbers
    size_bytes: Numbers

    @property
    def numbers(self) -> Numbers:
        """Their numbers on the wire, if the flow is alone."""
        return np.arange(1, len(self.sequence) + 1)

    def known(self, run: RunDir) -> int:
        """How many were surely delivered or lost before the run's end: those that left earlier than 50 ms before."""
        return int(np.searchsorted(self.left_ns, run.description.duration_ns - 50 * MS))


def frames_of(run: RunDir, name: str, interface: int = FORWARD) -> Frames:
    """The frames of a flow at an interface; the flow's datagrams come there in order."""
    rows = packets_of(run, name, interface).with_row_index("sequence")
    sent = rows.filter(fate=Fate.SENT).sort("dequeue_ns", maintain_order=True)
    sequence, left_ns, size = (
        sent[what].to_numpy().astype(np.int64) for what in ("sequence", "dequeue_ns", "packet_bytes")
    )
    return Frames(sequence, left_ns, size)


def arrivals_of(run: RunDir, name: str) -> dict[int, list[int]]:
    """When each datagram of a flow arrived, by its sequence number: twice, if it was copied."""
    rows = datagrams_of(run, name).group_by("sequence", maintain_order=True).agg(pl.col("received_ns"))
    return {int(sequence): list(times) for sequence, times in rows.iter_rows()}


def in_order_ns(due_ns: Numbers, took_ns: Numbers) -> Numbers:
    """When frames arrive that are due at these times and took so long to leave.

    One that would overtake arrives behind the one in front, after this time.
    """
    found, last = [], -(2**62)
    for due, took in zip(due_ns.tolist(), took_ns.tolist(), strict=True):
        last = max(due, last + took)
        found.append(last)
    return np.array(found, np.int64)


def last_bits_ns(begin_ns: int, sizes: Sequence[int], rates: Sequence[tuple[int, int]]) -> list[int]:
    """When the last bit of each frame of a busy period leaves, up to the next whole nanosecond.

    `rates` are (from when in ns, bit/s), the first one from the period's beginning on.
    """
    now, done, found = Fraction(begin_ns), 0, []
    steps = [*rates, (2**62, 1)]
    place = 0
    for size in sizes:
        left = Fraction(size * 8 * 10**9)
        while left:
            rate, until = steps[place][1], steps[place + 1][0]
            passed = min(left, (until - now) * rate)
            now, left = now + passed / rate, left - passed
            if left:
                place += 1
        done += size
        found.append(ceil(now))
    return found


def draws(seed: int, stream: str, numbers: Numbers) -> Numbers:
    """The 32-bit draws of a stream for frames with these numbers: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood: Fast
    Splittable Pseudorandom Number Generators, OOPSLA 2014), whose state the stream's number sets."""
    first = _mixed((seed + (STREAMS.index(stream) + 1) * _GAMMA) & _64)
    return np.array([_mixed((first + int(number) * _GAMMA) & _64) >> 32 for number in numbers], np.int64)


def _mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _64
    return x ^ (x >> 31)


def happens(seed: int, stream: str, numbers: Numbers, probability: float) -> NDArray[np.bool_]:
    """The frames that a property with this probability affects, as a mask."""
    return draws(seed, stream, numbers) < round(probability * 2**32)


def seed_of(run: RunDir, interface: int = FORWARD) -> int:
    """The seed of a direction."""
    (found,) = (end.wire.seed for end in run.lab.ends if end.index == interface)
    return int(found)


def wire(run: RunDir, interface: int = FORWARD) -> dict[str, int]:
    """The sums of a direction."""
    return run.scan("wires").filter(interface_index=interface).collect().row(0, named=True)

"""A queueing discipline as data: its kind and its options, which are those of tc.

A limit may also be relative to its path: `limit 0.5BDP`, a part of rate × RTT, or `limit 20ms`, the amount that is sent
at that rate in that time. The lab has it in the unit in which the discipline counts, packets or bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

COUNTS_BYTES = frozenset(("bfifo", "red", "gred", "tbf", "plug"))
"""Disciplines whose `limit` is in bytes."""
COUNTS_PACKETS = frozenset(
    ("pfifo", "codel", "fq_codel", "pie", "fq_pie", "fq", "sfq", "choke", "sfb", "hhf", "netem", "dualpi2")
)
"""Disciplines whose `limit` is in packets."""
_IN_BYTES = ("memlimit", "memory_limit")
"""Options that limit a discipline's memory in bytes (of CAKE and fq_codel)."""
_RELATIVE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(BDP|ns|us|ms|s)", re.IGNORECASE)
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_BIT_NS_PER_BYTE = 8 * 10**9


class Described(Protocol):
    """A queueing discipline in a lab."""

    @property
    def kind(self) -> str:
        """The name of the discipline."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options in tc's syntax."""


@dataclass(frozen=True)
class Qdisc:
    """A queueing discipline: `pfifo limit 100` has the kind `pfifo` and the options `limit`, `100`."""

    kind: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Qdisc:
        """Parse a queue of a scenario, in tc's syntax."""
        kind, *options = text.split()
        return cls(kind, tuple(options))

    @classmethod
    def of(cls, queue: Described | None) -> Qdisc | None:
        """Convert a queue of a lab; None if there is none."""
        return cls(queue.kind, queue.options) if queue else None

    def __str__(self) -> str:
        """The discipline in tc's syntax."""
        return " ".join((self.kind, *self.options))

    def option(self, name: str) -> str | None:
        """The value of an option, which is the word after its name; None if it is missing."""
        values = (value for key, value in zip(self.options, self.options[1:], strict=False) if key == name)
        return next(values, None)

    def resolved(self, rate_bps: int, rtt_ns: int, frame_bytes: int) -> Qdisc:
        """The discipline with its relative limits as numbers.

        They count packets of `frame_bytes`, at least one, or bytes, at least those of one such packet.
        """
        options = list(self.options)
        for at in range(1, len(options)):
            match = _RELATIVE.fullmatch(options[at]) if _is_limit(options[at - 1]) else None
            if match is None:
                continue
            span_ns = Fraction(match[1]) * (rtt_ns if match[2].upper() == "BDP" else _NS[match[2].lower()])
            size = span_ns * rate_bps / _BIT_NS_PER_BYTE
            if options[at - 1] in _IN_BYTES or self.kind in COUNTS_BYTES:
                options[at] = str(max(_nearest(size), frame_bytes))
            else:
                options[at] = str(max(_nearest(size / frame_bytes), 1))
        return Qdisc(self.kind, tuple(options))


def _is_limit(word: str) -> bool:
    return word == "limit" or word in _IN_BYTES


def _nearest(value: Fraction) -> int:
    """The nearest whole number; halves are rounded up."""
    return int(value + Fraction(1, 2))


def written(words: Sequence[str]) -> list[str]:
    """A queue's words with each relative limit as one word (`0.5 bdp` → `0.5BDP`).

    Raises ValueError if one is 0, or if the unit in which the discipline counts is unknown.
    """
    found: list[str] = []
    for word in words:
        if len(found) > 2 and _is_limit(found[-2]) and re.fullmatch(r"\d+(\.\d+)?", found[-1]):
            joined = _RELATIVE.fullmatch(f"{found[-1]} {word}")
            if joined is not None:
                found[-1] = _spelt(joined, words[0], found[-2])
                continue
        match = _RELATIVE.fullmatch(word) if found and _is_limit(found[-1]) else None
        found.append(word if match is None else _spelt(match, words[0], found[-1]))
    return found


def _spelt(match: re.Match[str], kind: str, option: str) -> str:
    text = match[1] + ("BDP" if match[2].upper() == "BDP" else match[2].lower())
    if not Fraction(match[1]):
        raise ValueError(f'"{option} {text}" holds nothing; a limit is more than 0, such as "0.5BDP" or "20ms"')
    if option == "limit" and kind not in COUNTS_BYTES | COUNTS_PACKETS:
        raise ValueError(
            f'"{option} {text}" cannot be used, since netwarp does not know whether "{kind}" counts packets or bytes; '
            "write it as a number"
        )
    return text

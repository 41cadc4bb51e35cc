"""Losses by plan, exact to the packet: `every 100`, `packets 17, 18, 40`, `from 3s to 3.2s`.

They count the unicast packets that the direction's interface has begun to send since it exists, the first one is 1. The
others, which the kernel sends by itself (MLD), do not count and are never lost.
"""

from __future__ import annotations

from typing import Literal, TypeGuard

from pydantic import BaseModel, ConfigDict

from netwarp.values.units import format_duration, parse_duration

MAX_NUMBERS = 1000
"""The most packets that one plan names: the attribute that holds their numbers has 64 kB."""
MAX_EVERY = 2**32 - 1
MAX_NUMBER = 2**63 - 1
PLAN_WORDS = ("every", "packets", "from")
"""The words with which a plan begins."""
_USAGE = '"every 100", "packets 17, 18, 40" or "from 3s to 3.2s"'


class _Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EveryLoss(_Plan):
    """Loss of each packet whose number is a multiple of `every`."""

    model: Literal["every"] = "every"
    every: int

    def words(self) -> str:
        """The value as a scenario writes it."""
        return f"every {self.every}"


class NumberedLoss(_Plan):
    """Loss of the packets with these numbers, in ascending order."""

    model: Literal["packets"] = "packets"
    numbers: tuple[int, ...]

    def words(self) -> str:
        """The value as a scenario writes it."""
        return "packets " + ", ".join(map(str, self.numbers))


class IntervalLoss(_Plan):
    """Loss of each packet that begins to leave between two times of the run, the second one excluded."""

    model: Literal["interval"] = "interval"
    from_ns: int
    to_ns: int

    def words(self) -> str:
        """The value as a scenario writes it."""
        return f"from {format_duration(self.from_ns)} to {format_duration(self.to_ns)}"


PlannedLoss = EveryLoss | NumberedLoss | IntervalLoss


def is_plan(value: object) -> TypeGuard[PlannedLoss]:
    """Whether a loss of a scenario is planned."""
    return isinstance(value, EveryLoss | NumberedLoss | IntervalLoss)


def parse_plan(text: str) -> PlannedLoss | None:
    """Parse a plan of losses; None if the text does not begin with the first word of one. Raises ValueError."""
    match text.replace(",", " ").split():
        case ["every", number]:
            return EveryLoss(every=_number(number, MAX_EVERY))
        case ["packets", *numbers] if numbers:
            return NumberedLoss(numbers=_ascending([_number(number, MAX_NUMBER) for number in numbers]))
        case ["from", start, "to", end]:
            return _interval(parse_duration(start), parse_duration(end))
        case [word, *_] if word in PLAN_WORDS:
            raise ValueError(f'"{text}" is not a plan of losses; expected {_USAGE}')
    return None


def _number(word: str, most: int) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= most):
        raise ValueError(f'"{word}" is not the number of a packet: whole numbers from 1 to {most}, as in {_USAGE}')
    return int(word)


def _ascending(numbers: list[int]) -> tuple[int, ...]:
    found = tuple(sorted(set(numbers)))
    if len(found) < len(numbers):
        raise ValueError("a plan of losses names a packet twice; name each once")
    if len(found) > MAX_NUMBERS:
        raise ValueError(f"a plan of losses names {len(found)} packets; the maximum is {MAX_NUMBERS}")
    return found


def _interval(from_ns: int, to_ns: int) -> IntervalLoss:
    if from_ns >= to_ns:
        raise ValueError(
            f"the losses end at {format_duration(to_ns)}, which is not after their start "
            f"({format_duration(from_ns)}); write the earlier time first"
        )
    return IntervalLoss(from_ns=from_ns, to_ns=to_ns)

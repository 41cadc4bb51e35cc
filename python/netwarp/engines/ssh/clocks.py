"""Clocks of machines relative to this one's: readings before and after a run, as in NTP, and correction of times."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netwarp.engines.ssh.answers import Clock
from netwarp.engines.ssh.session import NodeError, Session
from netwarp.store.streams import Row

_QUESTIONS = 40
MAX_WALL_NS = 300 * 10**9
"""The maximum difference between the dates of machines; a larger one means that a clock was never set."""


@dataclass(frozen=True)
class Reading:
    """The lead of a node's clock over this machine's at an instant, known to half the round trip (RFC 5905, 8)."""

    here_ns: int
    offset_ns: int
    round_trip_ns: int
    wall_ahead_ns: int


def read_clock(session: Session) -> Reading:
    """Read the clock several times, and return the reading with the shortest round trip. Raises NodeError."""
    return min((_read(session) for _ in range(_QUESTIONS)), key=lambda reading: reading.round_trip_ns)


def _read(session: Session) -> Reading:
    wall = time.time_ns() - time.monotonic_ns()
    sent = time.monotonic_ns()
    answer = session.ask(Clock, "clock")
    got = time.monotonic_ns()
    offset = (answer.heard_ns - sent + answer.said_ns - got) // 2
    here = (sent + got) // 2
    return Reading(here, offset, got - sent - (answer.said_ns - answer.heard_ns), answer.wall_ns - (here + wall))


def refuse_wrong_date(session: Session, reading: Reading) -> None:
    """Refuse a node whose date differs by more than MAX_WALL_NS. Raises NodeError."""
    ahead_s = reading.wall_ahead_ns / 1e9
    if abs(reading.wall_ahead_ns) > MAX_WALL_NS:
        raise NodeError(
            f"{session.node}: its clock is {_duration(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} this "
            "machine's; set it (timedatectl set-ntp true)"
        )


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds / 60:.3g} min"


@dataclass(frozen=True)
class NodeClock:
    """A node's clock over a run that began at `t0_here_ns` of this machine's clock and `t0_ns` of the node's.

    Between the two readings it is assumed to gain evenly; with only one reading, not at all.
    """

    before: Reading
    after: Reading | None
    t0_here_ns: int
    t0_ns: int

    @property
    def drift(self) -> float:
        """Its gain per unit of this machine's time."""
        if self.after is None:
            return 0.0
        return (self.after.offset_ns - self.before.offset_ns) / (self.after.here_ns - self.before.here_ns)

    @property
    def begin_ns(self) -> float:
        """The beginning of the run on the node, after t0 of the common clock."""
        elapsed = self.t0_ns - self.before.offset_ns - self.before.here_ns
        return self.before.here_ns - self.t0_here_ns + elapsed / (1 + self.drift)

    @property
    def rate(self) -> float:
        """The common time that passes in one unit of the node's time, less one."""
        return 1 / (1 + self.drift) - 1

    def common_ns(self, time_ns: int) -> int:
        """Convert a time of the run from the node's clock to the common one."""
        return time_ns + round(self.begin_ns + time_ns * self.rate)

    def row(self, node: str, late_ns: int, limit_ns: int) -> Row:
        """Return its row of clocks.arrows; `late_ns`: how late it began, by its own clock."""
        return {
            "node": node,
            "start_ns": self.common_ns(0),
            "late_ns": late_ns,
            "offset_before_ns": self.before.offset_ns,
            "round_trip_before_ns": self.before.round_trip_ns,
            "offset_after_ns": self.after.offset_ns if self.after else None,
            "round_trip_after_ns": self.after.round_trip_ns if self.after else None,
            "drift_ppm": self.drift * 1e6 if self.after else None,
            "limit_ns": limit_ns,
        }

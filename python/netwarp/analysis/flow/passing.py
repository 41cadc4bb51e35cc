"""Connections that come and go by the thousand: their states together, without an object for each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.stats.weighting import Times, TimeWeighted, Values, Window


@dataclass(frozen=True)
class Held:
    """A state of each connection: rows by connection, and in order of time within each. A value holds until the next
    row of its connection; `last` marks its last row, which holds for no time."""

    times_ns: Times
    last: NDArray[np.bool_]
    values: Values

    def within(self, window: Window) -> TimeWeighted:
        """The values with the time for which each held in the window."""
        until_ns = np.where(self.last, self.times_ns, np.roll(self.times_ns, -1))
        bounds = window.start_ns, max(window.end_ns, window.start_ns)
        weights = np.clip(until_ns, *bounds) - np.clip(self.times_ns, *bounds)
        kept = weights > 0
        return TimeWeighted(self.values[kept], weights[kept])


@dataclass(frozen=True)
class Passing:
    """ACKs of all connections of a flow, by connection and in order of time.

    A five-tuple may have several connections, one after the other: the count of acknowledged bytes begins again.
    """

    frame: pl.DataFrame
    first: NDArray[np.bool_]

    @classmethod
    def of(cls, acks: pl.DataFrame) -> "Passing":
        """The connections in rows of `acks`, with `tuple_id`."""
        frame = acks.sort("tuple_id", "time_ns", maintain_order=True)
        acked = frame["bytes_acked"].cast(pl.Int64).to_numpy()
        tuples = frame["tuple_id"].to_numpy()
        begins = (tuples[1:] != tuples[:-1]) | (acked[1:] < acked[:-1])
        return cls(frame, np.concatenate([[True], begins])[: len(frame)])

    @property
    def last(self) -> NDArray[np.bool_]:
        """The rows that are the last of their connections, as a mask."""
        return np.append(self.first[1:], True)[: len(self.first)]

    @property
    def times_ns(self) -> Times:
        """The times of the rows."""
        times: Times = self.frame["time_ns"].to_numpy()
        return times

    def held(self, column: str, scale: float = 1.0) -> Held:
        """A column that every row has, times a factor."""
        return Held(self.times_ns, self.last, self.frame[column].cast(pl.Float64).to_numpy() * scale)

    def samples(self, column: str, scale: float) -> Held:
        """A column that has a value only where it is not negative, times a factor."""
        known = (self.frame[column] >= 0).fill_null(False).to_numpy()
        connection = np.cumsum(self.first)[known]
        last = np.append(connection[1:] != connection[:-1], True)[: len(connection)]
        return Held(self.times_ns[known], last, self.frame[column].cast(pl.Float64).to_numpy()[known] * scale)

    def counted(self, column: str) -> NDArray[np.int64]:
        """The sum of a counter over all connections so far, in order of time."""
        counted: NDArray[np.int64] = self._sum(self.frame[column].cast(pl.Int64).to_numpy())
        return counted

    def present(self, column: str) -> Values:
        """The sum of a state over the connections that are open, in order of time: closed ones have none."""
        states: Values = self._sum(np.where(self.last, 0.0, self.frame[column].cast(pl.Float64).to_numpy()))
        return states

    def _sum(self, values: NDArray[Any]) -> NDArray[Any]:
        steps = np.where(self.first, values, np.diff(values, prepend=0))
        return np.cumsum(steps[self.order])

    @property
    def order(self) -> NDArray[np.intp]:
        """The order of the rows in time."""
        return np.argsort(self.times_ns, kind="stable")

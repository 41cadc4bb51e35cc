"""A measurement, and the list of all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MEASURES: list[Callable[[Path], Iterator[Row]]] = []


@dataclass(frozen=True)
class Row:
    """One line of the table: real seconds (or another unit) beside the maximum that they should be."""

    name: str
    measured: float
    bar: float | None = None
    unit: str = "s"
    virtual_s: float | None = None
    packets: int | None = None
    cpu_s: float | None = None
    more_is_better: bool = False

    @property
    def cells(self) -> list[str]:
        """The line's text, cell by cell."""
        real_s = self.measured if self.unit == "s" else None
        return [
            self.name,
            f"{self.measured:.3g} {self.unit}",
            f"{'≥' if self.more_is_better else '≤'} {self.bar:g} {self.unit}" if self.bar is not None else "",
            f"{self.measured / self.bar:.2f}" if self.bar is not None else "",
            f"{self.virtual_s / real_s:.1f}" if self.virtual_s and real_s else "",
            f"{self.packets / real_s:,.0f}" if self.packets and real_s else "",
            f"{self.cpu_s:.3g} s" if self.cpu_s is not None else "",
            f"{os.getloadavg()[0]:.1f}",
        ]


def measure(function: Callable[[Path], Iterator[Row]]) -> Callable[[Path], Iterator[Row]]:
    """Add a function to the bench; it gets its own directory."""
    MEASURES.append(function)
    return function

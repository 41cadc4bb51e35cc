"""The setting in which rows are measured: the kernel, the noise, and the wires."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netwarp.values.json_values import Json
from netwarp.verify.row import Row

_NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Setting:
    """The kernel's `release`, such as 6.12.117-netwarp; with `noise`, links and starts vary (`variants.py`).

    With `netem`, no link is a device unless it says so.
    """

    release: str
    noise: bool = False
    netem: bool = False

    @property
    def words(self) -> str:
        """The setting in words, for the page."""
        return (
            f"Linux {self.release}{', with noise' if self.noise else ''}{', on links of netem' if self.netem else ''}"
        )

    @property
    def head(self) -> dict[str, Json]:
        """The head of `validation.json`."""
        return {"release": self.release, "noise": self.noise, "netem": self.netem}

    def leaves_out(self, row: Row) -> str:
        """The reason why a row is not judged here; empty if it is."""
        series = _series(self.release)
        if (row.since and series < _series(row.since)) or (row.before and series >= _series(row.before)):
            return f"it applies to {row.kernels}; this is {self.release}"
        if self.noise and row.phases:
            return f"it depends on exact times: {row.phases}"
        if row.needs and not row.needs.is_installed():
            return f"{row.needs.name} is not installed"
        return ""


def _series(release: str) -> tuple[int, int]:
    """The series of a release: 6.12.117-netwarp → (6, 12); (0, 0) if it has none."""
    found = _NUMBERS.match(release)
    return (int(found[1]), int(found[2])) if found else (0, 0)

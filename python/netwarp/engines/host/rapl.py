"""The energy of the processors' packages, where the machine counts it (RAPL, by Linux's powercap).

Counters cover the whole machine, have the kernel's name for a package, are in µJ, and wrap around at a maximum.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"intel-rapl:\d+")
"""The zones of packages, also on processors of AMD; their parts have a second number."""


class Counter(NamedTuple):
    """A package's counter, and the value at which it begins again."""

    energy_uj: int
    range_uj: int


def counters(root: Path = POWERCAP) -> dict[str, Counter]:
    """The counters of all packages by their names; empty if there are none, or this user may not read them."""
    found = {}
    for zone in sorted(root.glob("intel-rapl:*")):
        if not _PACKAGE.fullmatch(zone.name):
            continue
        try:
            name = (zone / "name").read_text().strip()
            numbers = (int((zone / file).read_text()) for file in ("energy_uj", "max_energy_range_uj"))
            found[name] = Counter(*numbers)
        except (OSError, ValueError):
            continue  # since Linux 5.10 root alone may read them
    return found


def spent_j(before: Mapping[str, Counter], after: Mapping[str, Counter]) -> dict[str, float]:
    """The joules of each package that both readings have. A counter that is lower than before began again once."""
    spent = {}
    for name in before.keys() & after.keys():
        grown = after[name].energy_uj - before[name].energy_uj
        spent[name] = (grown if grown >= 0 else grown + after[name].range_uj) / 1e6
    return dict(sorted(spent.items()))

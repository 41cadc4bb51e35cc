"""Assignment of units to arms by a salted hash, which every machine can compute without a list.

The unit's place in [0, 1) is the first 64 bits of SHA-256("SALT:UNIT") / 2⁶⁴. The first arm takes the places from 0 up
to its share, the second those after it; the remaining ones are in no arm. Another salt is an independent assignment, so
that experiments that run at the same time do not share theirs.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable

from netwarp.studies.ab_test.experiment import Experiment, network_of


def place(salt: str, unit: str) -> float:
    """The unit's place in [0, 1)."""
    digest = hashlib.sha256(f"{salt}:{unit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def arm_of(experiment: Experiment, unit: str, salt: str | None = None) -> str | None:
    """The arm of a unit; None if it is in none. With `salt` in place of the experiment's."""
    at = place(experiment.salt if salt is None else salt, unit) * 100
    below = 0.0
    for name, arm in experiment.arms.items():
        below += arm.share
        if at < below:
            return name
    return None


def assigned(experiment: Experiment, units: Iterable[str]) -> dict[str, str]:
    """The arm of each unit that is in one, in the order of the units."""
    return {unit: arm for unit in units if (arm := arm_of(experiment, unit)) is not None}


def route_of(experiment: Experiment, address: str) -> str | None:
    """The destination of the longest route of the experiment that matches an address; None without one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    networks = [(network_of(route), route) for route in experiment.routes]
    # An address is in no network of the other family.
    matching = [(network.prefixlen, name) for network, name in networks if found in network]
    return max(matching)[1] if matching else None

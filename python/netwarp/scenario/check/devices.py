"""Checks of what carries a link's packets: a device has a rate, a delay and planned losses; netem has the rest."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.lab_format.wires import PROPERTIES
from netwarp.lab_format.wires.delay import DELAY
from netwarp.lab_format.wires.loss import LOSS
from netwarp.lab_format.wires.planned import is_plan
from netwarp.scenario.model import Link, Scenario
from netwarp.scenario.source import Keys

Found = tuple[Keys, str]
_NO_DEVICE = "leave out `wire`, so that netem carries its packets"


def check_wire(name: str, link: Link, scenario: Scenario) -> Iterator[Found]:
    """Check that what carries the packets of this link has all that the scenario gives it."""
    keys: Keys = ("links", name)
    if link.wire == "device":
        yield from _check_device(keys, link)
        for index, change in enumerate(scenario.changes):
            if change.link == name:
                yield ("changes", index, "link"), f'the link "{name}" is a device, which does not change; {_NO_DEVICE}'
        return
    if any(is_plan(link.loss.of(direction)) for direction in (0, 1)):
        yield (*keys, "loss"), 'losses by plan need a link that is a device; add wire = "device"'


def _check_device(keys: Keys, link: Link) -> Iterator[Found]:
    if any(link.trace.of(direction) for direction in (0, 1)):
        yield (*keys, "trace"), f"a link that is a device follows no trace; {_NO_DEVICE}"
    if link.offload:
        yield (*keys, "offload"), f"a link that is a device has no offloads; {_NO_DEVICE}"
    for found in PROPERTIES:
        values = [getattr(link, found.name).of(direction) for direction in (0, 1)]
        if found is LOSS and any(found.does(value) and not is_plan(value) for value in values):
            plans = '"every 100", "packets 17, 18" or "from 3s to 3.2s"'
            yield (*keys, "loss"), f"a link that is a device loses packets only by plan: {plans}; or {_NO_DEVICE}"
        elif found not in (DELAY, LOSS) and any(map(found.does, values)):
            yield (*keys, found.name), f"a link that is a device has no {found.name}; {_NO_DEVICE}"

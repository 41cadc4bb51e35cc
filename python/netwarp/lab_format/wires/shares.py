"""`duplicate`, `corrupt` and `reorder`: effects of a wire on a share of its packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.lab_format.wires.planned import PlannedShare
from netwarp.lab_format.wires.property import Attribute, WireProperty, plan_field, share_field


@dataclass(frozen=True)
class _Reorder(WireProperty):
    def problem(self, values: Mapping[str, Any], direction: str) -> str | None:
        """Check that there is a delay for packets to skip."""
        if not values["reorder"] or values["delay"] != 0:
            return None
        return f"reordering ({direction}) lets packets overtake delayed ones, so it needs a delay above 0"


DUPLICATE = WireProperty(
    name="duplicate",
    meaning='Share of packets that the wire delivers twice. With `wire = "device"` also a plan, as for `loss`.',
    examples=("0.1%",),
    refused=(0.1,),
    kind=PlannedShare,
    fields=(share_field("duplicate"), plan_field("duplicate")),
    plan="duplicate_plan",
    verb="duplicates",
    short="dup",
    copies=True,
)

CORRUPT = WireProperty(
    name="corrupt",
    meaning="Share of packets in which the wire flips a bit.",
    examples=("0.1%",),
    refused=("-1%",),
    fields=(share_field("corrupt"),),
    attribute=Attribute("TCA_NETEM_CORRUPT", 4, ("share", "zero32")),
    verb="corrupts",
    copies_aggregates=True,
    corrupts=True,
)

REORDER = _Reorder(
    name="reorder",
    meaning='Share of packets that skip the delay, and so overtake earlier ones. With `wire = "device"` also a '
    "plan, as for `loss`.",
    examples=("1%",),
    refused=("150%",),
    kind=PlannedShare,
    fields=(share_field("reorder", "probability that a packet is not delayed"), plan_field("reorder")),
    plan="reorder_plan",
    beside={"delay": "10ms"},
    verb="reorders",
    skips_delay=True,
)

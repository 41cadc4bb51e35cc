"""`duplicate`, `corrupt` and `reorder`: effects of a wire on a share of its packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.lab_format.wires.property import Attribute, WireProperty, share_field


@dataclass(frozen=True)
class _Reorder(WireProperty):
    def problem(self, values: Mapping[str, Any], direction: str) -> str | None:
        """Check that there is a delay for packets to skip."""
        if values["reorder"] <= 0 or values["delay"] != 0:
            return None
        return f"reordering ({direction}) lets packets overtake delayed ones, so it needs a delay above 0"


DUPLICATE = WireProperty(
    name="duplicate",
    meaning="Share of packets that the wire delivers twice.",
    examples=("0.1%",),
    refused=(0.1,),
    fields=(share_field("duplicate"),),
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
    meaning="Share of packets that skip the delay, and so overtake earlier ones.",
    examples=("1%",),
    refused=("150%",),
    fields=(share_field("reorder", "probability that a packet is not delayed"),),
    beside={"delay": "10ms"},
    verb="reorders",
    skips_delay=True,
)

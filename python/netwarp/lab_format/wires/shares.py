"""`duplicate`, `corrupt` and `reorder`: what a wire does to a share of its packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.lab_format.wires.property import Attribute, WireProperty, share_field


@dataclass(frozen=True)
class _Reorder(WireProperty):
    def problem(self, values: Mapping[str, Any], direction: str) -> str | None:
        """There must be a delay that packets can skip."""
        if values["reorder"] <= 0 or values["delay"] != 0:
            return None
        return (
            f"reordering ({direction}) lets packets overtake those that wait out the delay, so it needs a delay above 0"
        )


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
    meaning="Share of packets that overtake those before them: they skip the delay.",
    examples=("1%",),
    refused=("150%",),
    fields=(share_field("reorder", "probability that a packet is not delayed"),),
    beside={"delay": "10ms"},
    verb="reorders",
    skips_delay=True,
)

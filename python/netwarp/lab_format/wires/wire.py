"""A wire of a lab: its fields are those of all its properties."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Rate, UInt32, UInt64

if TYPE_CHECKING:
    from dataclasses import dataclass

    @dataclass(frozen=True, slots=True, kw_only=True)
    class WireBase(LabObject):
        """The fields of every wire; `made_of` adds those of its properties."""

        rate_bps: int | None = None
        limit_pkts: int = 0
        seed: int = 0

        def __init__(self, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


def made_of(*fields: tuple[str, Any, Any]) -> Any:
    """Make the class of wires with these fields (name, type, default), between the rate and the netem's own fields."""
    rate = Annotated[Rate | None, Field(description="null: no serialisation delay, as with opportunities")]
    limit = Annotated[UInt32, Field(description="limit of the netem; more than it can ever hold")]
    every = (
        ("rate_bps", rate, None),
        *fields,
        ("limit_pkts", limit, 0),
        ("seed", Annotated[UInt64, Field(description="of its random numbers")], 0),
    )
    return make_dataclass(
        "LabWire",
        [(name, kind, field(default=default)) for name, kind, default in every],
        bases=(LabObject,),
        frozen=True,
        slots=True,
        kw_only=True,
    )

"""The properties of a wire, one record each. Stages ask these records, and do not name single properties.

CONTRIBUTING.md says how to add one.
"""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from netwarp.lab_format.wires.delay import DELAY, JITTER
from netwarp.lab_format.wires.loss import LOSS
from netwarp.lab_format.wires.property import LabField, WireProperty
from netwarp.lab_format.wires.shares import CORRUPT, DUPLICATE, REORDER
from netwarp.lab_format.wires.wire import made_of

PROPERTIES = (DELAY, JITTER, LOSS, DUPLICATE, CORRUPT, REORDER)
"""All properties, in the order in which they are passed to netem and shown; add a new one here."""
CHANGING = tuple(found for found in PROPERTIES if found.change)
"""The properties that `[[changes]]` may set."""
BY_NAME = {found.name: found for found in PROPERTIES}

if TYPE_CHECKING:
    from netwarp.lab_format.wires.wire import WireBase as LabWire
else:
    LabWire = made_of(
        *(
            (
                field.name,
                Annotated[field.type, Field(description=field.meaning)] if field.meaning else field.type,
                field.default,
            )
            for found in PROPERTIES
            for field in found.fields
        )
    )
    LabWire.__module__ = __name__
    LabWire.__doc__ = """One direction of a link's wire: a netem on the peer's interface in the hidden namespace.

    `rate_bps` None: no serialisation delay, because delivery opportunities pass whole packets.
    """

__all__ = ["BY_NAME", "CHANGING", "PROPERTIES", "LabField", "LabWire", "WireProperty"]

"""The properties of a wire: one record each, which all stages ask; none names a property where a record can answer.

CONTRIBUTING.md says how to add one.
"""

from netwarp.lab_format.wires.delay import DELAY, JITTER
from netwarp.lab_format.wires.loss import LOSS
from netwarp.lab_format.wires.property import LabField, LabWire, WireProperty
from netwarp.lab_format.wires.shares import CORRUPT, DUPLICATE, REORDER

PROPERTIES = (DELAY, JITTER, LOSS, DUPLICATE, CORRUPT, REORDER)
"""All of them, in the order in which netem and people are told; a new one has its line here."""
CHANGING = tuple(found for found in PROPERTIES if found.change)
"""Those that `[[changes]]` may set."""
BY_NAME = {found.name: found for found in PROPERTIES}

__all__ = ["BY_NAME", "CHANGING", "PROPERTIES", "LabField", "LabWire", "WireProperty"]

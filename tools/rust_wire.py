"""Write the effects of a lab's wire and its netem options, by the records of its properties: `agent/src/wire.rs`."""

from collections.abc import Iterator

from netwarp.lab_format.wires import PROPERTIES
from netwarp.lab_format.wires.property import Attribute, LabField

from tools.rust_lab import rust_type

_SET = {"u64": "self.{name} > 0", "f64": "self.{name} > 0.0"}
_CALL_WIDTH = 60
"""Maximum length of a call's arguments before rustfmt breaks it."""
_ZEROS = {"zero32": 4, "zero64": 8}
_HEAD = """\
//! The properties of one direction of a link's wire. Made by `make generate` from `python/netwarp/lab_format/wires/`.

use crate::cells::Cell::{Share, Time, Zero};
use crate::cells::{Attribute, attribute};
use crate::lab::Wire;

impl Wire {
    /// Whether it does more than to pass packets on.
    pub fn acts(&self) -> bool {
        ["""
_ATTRIBUTES = """\
        ]
        .contains(&true)
    }

    /// The attributes of netem that hold one property alone.
    pub fn attributes(&self) -> Vec<Attribute> {
        vec!["""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from (f"            {_set(found.fields[0])}," for found in PROPERTIES)
    yield _ATTRIBUTES
    for found in PROPERTIES:
        if found.attribute:
            yield f"            // {found.attribute.name}"
            yield from _attribute(found.attribute, found.fields[0].name)
    yield "        ]"
    yield "    }"
    yield "}"


def _set(field: LabField) -> str:
    return _SET.get(rust_type(field.type), "self.{name}.is_some()").format(name=field.name)


def _attribute(found: Attribute, field: str) -> Iterator[str]:
    cells: list[str] = []
    zeros = 0
    for cell in found.cells:
        zeros += _ZEROS.get(cell, 0)
        if cell not in _ZEROS:
            cells += [f"Zero({zeros})"] if zeros else []
            cells.append(f"{cell.capitalize()}(self.{field})")
            zeros = 0
    cells += [f"Zero({zeros})"] if zeros else []
    values = [str(found.number), str(found.repeated).lower(), f"&[{', '.join(cells)}]"]
    if len(", ".join(values)) <= _CALL_WIDTH:
        yield f"            attribute({', '.join(values)}),"
    else:
        yield "            attribute("
        yield from (f"                {value}," for value in values)
        yield "            ),"

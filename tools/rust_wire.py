"""A wire of the lab for the agent, by the records of its properties: `agent/src/wire.rs`."""

from collections.abc import Iterator
from typing import get_args, get_type_hints

from netwarp.lab_format.wires import PROPERTIES, LabWire
from netwarp.lab_format.wires.loss import LabLoss
from netwarp.lab_format.wires.property import Attribute, LabField

TYPES = {int: "u64", float: "f64", bool: "bool", str | None: "Option<String>", LabLoss | None: "Option<Loss>"}
"""The types of a wire's fields, in Rust."""
_SET = {"u64": "self.{name} > 0", "f64": "self.{name} > 0.0"}
_CALL_WIDTH = 60
"""Maximum length of a call's arguments before rustfmt breaks it."""
_ZEROS = {"zero32": 4, "zero64": 8}
_HEAD = """\
//! One direction of a link's wire. Made by `make generate` from `python/netwarp/lab_format/wires/`.

use serde::Deserialize;

use crate::cells::Cell::{Share, Time, Zero};
use crate::cells::{Attribute, attribute};

/// netem's models of loss, see tc-netem(8).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Loss {"""
_STRUCT = """\
}

/// One direction of a link between its two interfaces. Probabilities are 0 to 1. Without a rate it takes no time to
/// send a packet.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Wire {
    pub rate_bps: Option<u64>,"""
_ACTS = """\
    pub limit_pkts: u32,
    pub seed: u64,
}

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
    for model in get_args(LabLoss):
        hints = get_type_hints(model)
        yield f"    {get_args(hints.pop('model'))[0].capitalize()} {{"
        yield from (f"        {name}: {TYPES[kind]}," for name, kind in hints.items())
        yield "    },"
    yield _STRUCT
    yield from (f"    pub {field.name}: {_type(field)}," for found in PROPERTIES for field in found.fields)
    yield _ACTS
    yield from (f"            {_set(found.fields[0])}," for found in PROPERTIES)
    yield _ATTRIBUTES
    for found in PROPERTIES:
        if found.attribute:
            yield f"            // {found.attribute.name}"
            yield from _attribute(found.attribute, found.fields[0].name)
    yield "        ]"
    yield "    }"
    yield "}"


def _type(field: LabField) -> str:
    return TYPES[get_type_hints(LabWire)[field.name]]


def _set(field: LabField) -> str:
    return _SET.get(_type(field), "self.{name}.is_some()").format(name=field.name)


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

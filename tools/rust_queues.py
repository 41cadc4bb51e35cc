"""Write the variables of queueing disciplines' inner state as `agent/src/record/queue_variables.rs`."""

import json
from collections.abc import Iterator

from netwarp.store.queue_variables import REPORTED, Reported, Variable

_HEAD = """\
//! Variables of queueing disciplines' inner state. Made by `make generate` from
//! `python/netwarp/store/queue_variables.py`.

/// The part of a discipline that a variable describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Discipline,
    Class,
    Tin,
}

/// The type of a number.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    U32,
    S32,
    U64,
}

/// One number: in a structure `at` is its place in bytes, otherwise the attribute's type.
pub struct Variable {
    pub name: &'static str,
    pub number: Number,
    pub at: usize,
    pub scale: f64,
}

/// Numbers in one attribute of TCA_STATS2 (of tins, in one of TCA_STATS_APP); `nested`: they are attributes in it.
pub struct Reported {
    pub discipline: &'static str,
    pub part: Part,
    pub attribute: u16,
    pub nested: bool,
    pub variables: &'static [Variable],
}

const fn variable(name: &'static str, number: Number, at: usize, scale: f64) -> Variable {
    Variable {
        name,
        number,
        at,
        scale,
    }
}

/// All that is recorded.
pub const REPORTED: &[Reported] = &["""


def source() -> str:
    """The file as it is committed."""
    return "\n".join([_HEAD, *(line for one in REPORTED for line in _reported(one)), "];"]) + "\n"


def _reported(one: Reported) -> Iterator[str]:
    yield "    Reported {"
    yield f"        discipline: {json.dumps(one.discipline)},"
    yield f"        part: Part::{one.part.capitalize()},"
    yield f"        attribute: {one.attribute},"
    yield f"        nested: {str(one.nested).lower()},"
    yield "        // " + one.source
    yield "        variables: &["
    for variable in one.variables:
        yield f"            {_variable(variable)},"
    yield "        ],"
    yield "    },"


def _variable(one: Variable) -> str:
    return f"variable({json.dumps(one.name)}, Number::{one.number.upper()}, {one.at}, {float(one.scale)!r})"

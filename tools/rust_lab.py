"""The lab as the agent reads it, by the classes of `lab_format/`: `agent/src/lab/objects.rs`; and the fields of each
kind of flow, by the classes of `flows/`: `agent/src/traffic/fields.rs`.

Classes become structs without the `Lab` of their name, literals and unions the enum of the name that their module gives
them. A number has the smallest type of Rust that holds the bounds of its quantity. An engine gets all fields, so
there are no defaults; fields that are found after a run do not exist here.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, MaxLen
from netwarp.flows import KINDS
from netwarp.lab_format import model, nodes
from netwarp.lab_format.model import Lab
from netwarp.lab_format.objects import is_found, is_spread, spelt
from netwarp.lab_format.quantities import Address, Settings
from netwarp.lab_format.wires import loss, planned
from pydantic.fields import FieldInfo

from tools.meanings import meanings

_PLAIN = {bool: "bool", float: "f64", str: "String"}
_INTEGERS = {
    "u16": (0, 2**16),
    "u32": (0, 2**32),
    "u64": (0, 2**64),
    "i32": (-(2**31), 2**31),
    "i64": (-(2**63), 2**63),
}
"""The types of whole numbers, the first that fits first: the least, and the first that is too large."""
_IS_ADDRESS = get_args(Address)[-1]
_WIDTH = 120
_HEAD = """\
//! The objects of a lab. Made by `make generate` from `python/netwarp/lab_format/`.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::settings::Settings;"""
_HEAD_OF_FLOWS = """\
//! The fields of each kind of flow in the lab. Made by `make generate` from `python/netwarp/flows/`.

#![allow(dead_code, reason = "some fields are for readers of records")]

use serde::Deserialize;

use crate::lab::Distribution;"""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def flows_source() -> str:
    """The file with the fields of flows as it is committed."""
    structs = ("\n".join(["", *_struct(kind)]) for kind in dict.fromkeys(kind.lab for kind in KINDS.values()))
    return "\n".join([_HEAD_OF_FLOWS, *structs]) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    for kind in _kinds():
        yield ""
        if is_dataclass(kind):
            yield from _struct(kind)
        elif get_origin(kind) is Literal:
            yield from _names(kind)
        else:
            yield from _variants(kind)


def _kinds() -> list[Any]:
    """The types that get a definition in the lab, each after the object that first refers to it."""
    found: list[Any] = []

    def visit(kind: Any) -> None:
        if kind in found:
            return
        found.append(kind)
        for hint in _fields(kind).values() if is_dataclass(kind) else ():
            for part in _parts(hint):
                visit(part)

    visit(Lab)
    return found


def _parts(hint: Any) -> Iterator[Any]:
    """The types in a type that are structs or enums."""
    if _has_name(hint):
        yield hint
    else:
        for part in get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint):
            yield from _parts(part)


def _has_name(hint: Any) -> bool:
    """Whether a type becomes a struct or an enum: the union of a type and None does not."""
    is_enum = get_origin(hint) is Literal or (_is_union(hint) and NoneType not in get_args(hint))
    return is_dataclass(hint) or is_enum


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _fields(kind: Any) -> Mapping[str, Any]:
    """The types of the fields that an engine gets."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind) if not (is_found(one) or is_spread(one))}


def _struct(kind: Any) -> Iterator[str]:
    others = any(map(is_spread, fields(kind)))
    yield from _comment(inspect.getdoc(kind) or "", "")
    yield "#[derive(Debug, Clone, PartialEq, Deserialize)]"
    yield "#[cfg_attr(test, derive(serde::Serialize))]"
    yield from () if others else ["#[serde(deny_unknown_fields)]"]
    yield f"pub struct {_name(kind)} {{"
    for name, hint in _fields(kind).items():
        yield from _comment(_description(hint), "    ")
        yield f"    pub {spelt(name)}: {rust_type(hint)},"
    if others:
        yield "    #[serde(flatten)]"
        yield "    pub own: Map<String, Value>,"
    yield "}"


def _names(kind: Any) -> Iterator[str]:
    """An enum of names."""
    yield from _comment(_alias(kind)[1], "")
    yield "#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]"
    yield "#[cfg_attr(test, derive(serde::Serialize))]"
    yield '#[serde(rename_all = "lowercase")]'
    yield f"pub enum {_name(kind)} {{"
    yield from (f"    {value.capitalize()}," for value in get_args(kind))
    yield "}"


def _variants(kind: Any) -> Iterator[str]:
    """An enum of objects; `model` says which one it is."""
    yield from _comment(_alias(kind)[1], "")
    yield "#[derive(Debug, Clone, PartialEq, Deserialize)]"
    yield "#[cfg_attr(test, derive(serde::Serialize))]"
    yield '#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]'
    yield f"pub enum {_name(kind)} {{"
    for member in get_args(kind):
        hints = dict(_fields(member))
        (model_name,) = get_args(hints.pop("model"))
        yield from _comment(inspect.getdoc(member) or "", "    ")
        yield f"    {model_name.capitalize()} {{"
        for name, hint in hints.items():
            yield from _comment(_description(hint), "        ")
            yield f"        {name}: {rust_type(hint)},"
        yield "    },"
    yield "}"


def rust_type(hint: Any) -> str:
    """A type of Rust."""
    if isinstance(hint, type) and hint in _PLAIN:
        return _PLAIN[hint]
    if hint == Settings:
        return "Settings"
    if _has_name(hint):
        return _name(hint)
    if hint is int or get_origin(hint) is Annotated:
        base, *about = get_args(hint) or (int,)
        return _annotated(base, about)
    (inner,) = (rust_type(one) for one in get_args(hint) if one not in (NoneType, Ellipsis))
    return f"Option<{inner}>" if _is_union(hint) else f"Vec<{inner}>"


def _annotated(base: Any, about: Sequence[Any]) -> str:
    if base is int:
        return _integer(about)
    if any(one is _IS_ADDRESS for one in about):
        return "IpAddr"
    length = next((one.max_length for one in _bounds(about) if isinstance(one, MaxLen)), None)
    if get_origin(base) is tuple and length is not None:
        return f"[{rust_type(get_args(base)[0])}; {length}]"
    return rust_type(base)


def _integer(about: Sequence[Any]) -> str:
    """The Rust type by the bounds of a quantity. A field may narrow these; the type stays that of its quantity."""
    least: int | None = None
    beyond: int | None = None
    for bound in _bounds(about[:1]):
        match bound:
            case Ge(int(number)):
                least = number
            case Gt(int(number)):
                least = number + 1
            case Lt(int(number)):
                beyond = number
            case Le(int(number)):
                beyond = number + 1
    for name, (first, end) in _INTEGERS.items():
        if least is not None and beyond is not None and first <= least and beyond <= end:
            return name
    raise ValueError(f"a whole number of a lab needs bounds that fit 64 bits, not {least} to {beyond}")


def _bounds(about: Sequence[Any]) -> list[Any]:
    return [bound for one in about if isinstance(one, FieldInfo) for bound in one.metadata]


def _name(kind: Any) -> str:
    name = kind.__name__ if isinstance(kind, type) and is_dataclass(kind) else _alias(kind)[0]
    return name.removeprefix("Lab") or "Lab"


def _alias(kind: Any) -> tuple[str, str]:
    """The name that a module gives a literal or a union, and the text below."""
    return next(
        (name, meanings(module)[name])
        for module in (model, nodes, loss, planned)
        for name, value in vars(module).items()
        if name.startswith("Lab") and value == kind
    )


def _description(hint: Any) -> str:
    about = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    found = [one.description for one in about if isinstance(one, FieldInfo) and one.description]
    return found[-1].replace("null", "None") if found else ""


def _comment(text: str, indent: str) -> Iterator[str]:
    """Text in paragraphs as a comment for documentation."""
    start = f"{indent}/// "
    for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n") if text else ()):
        yield from [start.rstrip()] if number else []
        yield from textwrap.wrap(
            paragraph, _WIDTH, initial_indent=start, subsequent_indent=start, break_long_words=False
        )

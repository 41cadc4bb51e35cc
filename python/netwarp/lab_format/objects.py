"""Objects of a lab and their JSON, which has the fields in their order.

A `found` field is absent from the JSON while it has its default; the content of a `spread` field is further fields of
its object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from netwarp.values.json_values import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOUND = {"found": True}
"""Metadata of a field that is found in the records of a run: engines never get it, and its default is not written."""
SPREAD = {"spread": True}
"""Metadata of a field whose content is the further fields of its object."""


def is_found(one: Field[Any]) -> bool:
    """Whether a field is found in the records of a run."""
    return "found" in one.metadata


def is_spread(one: Field[Any]) -> bool:
    """Whether a field holds further fields of its object."""
    return "spread" in one.metadata


def spelt(name: str) -> str:
    """The name of a field in JSON: `from` is a keyword in Python."""
    return name.removesuffix("_")


@cache
def _fields(kind: type[DataclassInstance]) -> tuple[tuple[str, str, bool, bool, object], ...]:
    return tuple((one.name, spelt(one.name), is_found(one), is_spread(one), one.default) for one in fields(kind))


def _members(value: DataclassInstance) -> Iterator[tuple[str, Json]]:
    for name, key, only_found, holds_others, default in _fields(type(value)):
        content = getattr(value, name)
        if holds_others:
            yield from as_json(content).items()
        elif not (only_found and content == default):
            yield key, _json(content)


def _json(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (tuple, list)):
        return [_json(one) for one in value]
    return as_json(value)


def as_json(value: DataclassInstance | Mapping[str, object]) -> dict[str, Json]:
    """An object of a lab as JSON, for `json.dumps`."""
    if isinstance(value, Mapping):
        return {key: _json(one) for key, one in value.items()}
    return dict(_members(value))


def known_and_others(value: Any, kind: type[DataclassInstance]) -> Any:
    """Move unknown fields of a JSON object into its `spread` field; any other value is returned as it is."""
    if not isinstance(value, Mapping):
        return value
    holder = next(one.name for one in fields(kind) if is_spread(one))
    known = {spelt(one.name) for one in fields(kind) if one.name != holder}
    others = {key: one for key, one in value.items() if key not in known}
    return {**{key: one for key, one in value.items() if key in known}, holder: others}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabObject:
    """The base of all objects of a lab."""

    def as_json(self) -> dict[str, Json]:
        """The object as JSON, for `json.dumps`."""
        return as_json(self)

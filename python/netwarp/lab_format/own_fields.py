"""The fields that a flow of a lab has of its kind, beside those that every flow has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from netwarp.lab_format.quantities import Int64, Text

FieldValue: TypeAlias = bool | int | float | str | Sequence[str] | None
OwnFields: TypeAlias = Mapping[str, FieldValue]
"""By name; numbers have their unit in it."""


class _Read(TypedDict, total=False):
    """Those that readers of results ask for, of whatever kind a flow is; others may be anything."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    bytes: Int64 | None
    args: list[Text] | None
    protocol: Text | None
    cc: Text | None


@cache
def _reader() -> TypeAdapter[_Read]:
    return TypeAdapter(_Read)


def read_own(value: OwnFields) -> OwnFields:
    """The fields of a stored flow, once those that are read have their type. Raises ValidationError."""
    _reader().validate_python(value)
    return value


def words_of(value: FieldValue) -> Sequence[str]:
    """Words of a command line; none where the field is absent."""
    return () if value is None or isinstance(value, (str, int, float)) else value

"""The fields of a lab's flow that depend on its kind, beside those that every flow has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from netwarp.lab_format.quantities import Int64, Text

FieldValue: TypeAlias = bool | int | float | str | Sequence[str] | Sequence[float] | None
OwnFields: TypeAlias = Mapping[str, FieldValue]
"""The fields by name; names of numbers contain their unit."""


class _Read(TypedDict, total=False):
    """The fields that readers of results use, of all kinds of flows; others are not checked."""

    __pydantic_config__ = ConfigDict(strict=True, extra="allow")  # type: ignore[misc]

    bytes: Int64 | None
    args: list[Text] | None
    protocol: Text | None
    cc: Text | None
    interval_ns: Int64 | None
    playout_ns: Int64
    deadline_ns: Int64 | None
    codec: Text


@cache
def _reader() -> TypeAdapter[_Read]:
    return TypeAdapter(_Read)


def read_own(value: OwnFields) -> OwnFields:
    """Check the types of a stored flow's fields that are read, and return all fields. Raises ValidationError."""
    _reader().validate_python(value)
    return value


def words_of(value: FieldValue) -> Sequence[str]:
    """The words of a command line; empty if the field is absent."""
    if value is None or isinstance(value, (str, int, float)):
        return ()
    return [word for word in value if isinstance(word, str)]

"""The kinds of value that a lab holds: each a type with its unit and its bounds.

The bounds of a number also choose its type in the agent (`tools/rust_lab.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from netwarp.values.names import is_plain

_MAX_TEXT = 10_000
MAX_RUN_NS = 30 * 24 * 3600 * 10**9
"""The longest run; readers of records make time series of this length."""
MAX_DELAY_NS = 366 * 24 * 3600 * 10**9
Time = Annotated[int, Field(strict=True, ge=-MAX_RUN_NS, le=MAX_RUN_NS)]
"""An instant of a run, or a duration in it, in ns."""
Delay = Annotated[int, Field(strict=True, ge=0, le=MAX_DELAY_NS)]
"""A duration, such as a packet's on a wire, in ns."""
Rate = Annotated[int, Field(strict=True, ge=0, le=10**14)]
"""A rate in bit/s."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A probability, or a part of a whole: 0 to 1."""
Int64 = Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
UInt32 = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
UInt64 = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
Text = Annotated[str, Field(strict=True, max_length=_MAX_TEXT)]
Settings = Mapping[str, str]
"""Names and values."""
Words = tuple[str, ...]
"""A program and its arguments, or options in the syntax of a program."""
Yes = Annotated[bool, Field(strict=True)]
"""A boolean."""


def meaning(text: str) -> Any:
    """Describe a field, for `docs/lab.md` and the JSON Schema."""
    return Field(description=text)


def _plain(text: str) -> str:
    if not is_plain(text):
        raise ValueError("should be one printable line that does not begin with =, +, -, @ or a blank")
    return text


Label = Annotated[Text, AfterValidator(_plain)]
"""The name of a case (`values/names.py`)."""
Name = Annotated[Label, Field(max_length=200, pattern=r"^[^/]+$")]
"""A name that may become a part of a file's name."""


def _address(text: str) -> str:
    ip_address(text)
    return text


Address = Annotated[Text, AfterValidator(_address)]
Port = Annotated[int, Field(strict=True, ge=0, lt=2**16)]

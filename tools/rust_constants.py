"""The agent's constants from `python/netwarp/constants.py`: `agent/src/constants.rs`."""

import ast
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from netwarp import constants

TYPES = {
    "LAB_FORMAT": "u32",
    "KERNEL_SUFFIX": "&str",
    "ETHERNET_HEADER_BYTES": "u32",
    "IPV4_HEADER_BYTES": "u32",
    "IPV6_HEADER_BYTES": "u32",
    "UDP_HEADER_BYTES": "u32",
    "MIN_PAYLOAD_BYTES": "u32",
    "WIRE_ALLOWANCE_BYTES_PER_S": "u64",
    "UNLIMITED_WIRE_BYTES_PER_S": "u64",
}
"""The agent's constants, with their types in Rust."""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "//! Numbers that netwarp and its agent must have alike. Made by `make generate` from"
    yield "//! `python/netwarp/constants.py`."
    meanings = _meanings()
    for name, kind in TYPES.items():
        yield ""
        yield from (f"/// {line}" for line in meanings[name].splitlines())
        value = getattr(constants, name)
        literal = json.dumps(value) if isinstance(value, str) else f"{value:_}"
        yield f"pub const {name}: {kind} = {literal};"


def _meanings() -> dict[str, str]:
    """The text below each assignment, by the names that it documents."""
    body = ast.parse(Path(constants.__file__).read_text()).body
    return {
        name.id: str(text.value.value)
        for assigned, text in pairwise(body)
        if isinstance(assigned, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        for target in assigned.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }

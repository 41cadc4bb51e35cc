"""The constants that the agent has from `python/netwarp/constants.py`: `agent/src/constants.rs`."""

import json
from collections.abc import Iterator

from netwarp import constants

from tools.meanings import meanings

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
"""Those that the agent has, with their type in Rust."""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "//! Numbers that netwarp and its agent must have alike. Made by `make generate` from"
    yield "//! `python/netwarp/constants.py`."
    about = meanings(constants)
    for name, kind in TYPES.items():
        yield ""
        yield from (f"/// {line}" for line in about[name].splitlines())
        value = getattr(constants, name)
        literal = json.dumps(value) if isinstance(value, str) else f"{value:_}"
        yield f"pub const {name}: {kind} = {literal};"

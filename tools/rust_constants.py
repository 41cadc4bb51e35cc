"""Write what the agent shares with netwarp: numbers (`agent/src/constants.rs`), ends of runs (`agent/src/end.rs`)."""

import json
from collections.abc import Iterator

from netwarp.engines.reports import End
from netwarp.values import constants

from tools.meanings import meanings

TYPES = {
    "LAB_FORMAT": "u32",
    "EPOCH_S": "u64",
    "CAPTURE_LEAD_NS": "i64",
    "PROGRAM_DESCRIPTOR": "i32",
    "KERNEL_SUFFIX": "&str",
    "ETHERNET_HEADER_BYTES": "u32",
    "IPV4_HEADER_BYTES": "u32",
    "IPV6_HEADER_BYTES": "u32",
    "UDP_HEADER_BYTES": "u32",
    "RTP_HEADER_BYTES": "u32",
    "MIN_PAYLOAD_BYTES": "u32",
    "QOE_SWITCH_COST": "f64",
    "QOE_STALL_COST_MBPS": "f64",
    "WIRE_ALLOWANCE_BYTES_PER_S": "u64",
    "UNLIMITED_WIRE_BYTES_PER_S": "u64",
}
"""The agent's constants, with their types in Rust."""


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def end_source() -> str:
    """The enum of `End` as it is committed."""
    return "\n".join(_end_lines()) + "\n"


def _end_lines() -> Iterator[str]:
    yield "//! How runs end. Made by `make generate` from `python/netwarp/engines/reports.py`."
    yield ""
    yield "use serde::Serialize;"
    yield ""
    yield f"/// {(End.__doc__ or '').strip()}"
    yield "#[derive(Clone, Copy, PartialEq, Eq, Serialize)]"
    yield '#[serde(rename_all = "snake_case")]'
    yield "pub enum End {"
    about = meanings(End)
    for end in End:
        yield from (f"    /// {line}" for line in about.get(end.name, "").splitlines())
        yield f"    {''.join(word.capitalize() for word in end.value.split('_'))},"
    yield "}"


def _lines() -> Iterator[str]:
    yield "//! Numbers that netwarp and its agent must have alike. Made by `make generate` from"
    yield "//! `python/netwarp/values/constants.py`."
    about = meanings(constants)
    for name, kind in TYPES.items():
        yield ""
        yield from (f"/// {line}" for line in about[name].splitlines())
        value = getattr(constants, name)
        literal = json.dumps(value) if isinstance(value, str) else f"{value:_}"
        yield f"pub const {name}: {kind} = {literal};"

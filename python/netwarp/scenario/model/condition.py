"""A state of a flow's sender that a change of a link waits for: `bulk.snd_cwnd_pkts >= 100`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from netwarp.scenario.errors import did_you_mean
from netwarp.values import units
from netwarp.values.fields import Model, kind

COLUMNS = (
    "bytes_acked",
    "snd_cwnd_pkts",
    "snd_ssthresh_pkts",
    "rtt_us",
    "srtt_us",
    "rttvar_us",
    "min_rtt_us",
    "in_flight_pkts",
    "lost_pkts",
    "retrans_out_pkts",
    "retransmits",
    "delivered_pkts",
    "delivered_ce_pkts",
    "ca_state",
    "pacing_rate_bps",
    "bbr_bw_bps",
    "bbr_pacing_gain",
    "bbr_cwnd_gain",
)
"""The columns of `acks` that a condition may name. Keep in sync with `probed` of the kernel's netwarp_probe.c."""
_PATTERN = r"^\s*([A-Za-z0-9_-]+(?:\.(?:0|[1-9]\d*))?)\.([a-z][a-z0-9_]*)\s*(<=|>=|==|!=|<|>)\s*(\S+)\s*$"
_NS_PER_US = 1000
_BEYOND = 1 << 63
_MAX_NAME = 63
"""The longest name of an exported variable that the kernel reads."""


class Condition(Model):
    """A relation between a variable of one flow's sender and a value, in the unit of its column."""

    flow: str
    variable: str
    relation: str
    value: int

    def __str__(self) -> str:
        """The condition in a scenario's syntax, with the value in the unit of its column."""
        return f"{self.flow}.{self.variable} {self.relation} {self.value}"


def _value(variable: str, text: str) -> int:
    """A value as it is written: a rate, a duration or a size may have its unit. Raises ValueError."""
    if re.fullmatch(r"-?\d+", text):
        if -_BEYOND < int(text) < _BEYOND:
            return int(text)
        raise ValueError(f'"{text}" is beyond the 64 bits that the kernel compares')
    if variable not in COLUMNS:
        known = did_you_mean(variable, COLUMNS)
        raise ValueError(
            f'a sender has no variable "{variable}" with a unit{known}; what a control exports is a number'
        )
    if variable.endswith("_bps"):
        return units.parse_rate(text)
    if variable.endswith("_us"):
        return _whole_us(text)
    if variable.startswith("bytes_"):
        return units.parse_size(text)
    raise ValueError(f'"{text}" is not a whole number, which the value of {variable} is')


def _whole_us(text: str) -> int:
    us, rest = divmod(units.parse_duration(text), _NS_PER_US)
    if rest:
        raise ValueError(f'"{text}" is not a whole number of microseconds, which the kernel compares')
    return us


def _read(value: object) -> object:
    if isinstance(value, Condition):
        return value
    found = re.match(_PATTERN, value) if isinstance(value, str) else None
    if not found or len(found[2]) > _MAX_NAME:
        raise ValueError('must be a flow, a variable of its sender, a relation, a value: "bulk.snd_cwnd_pkts >= 100"')
    return {
        "flow": found[1],
        "variable": found[2],
        "relation": found[3],
        "value": _value(found[2], found[4]),
    }


State = Annotated[
    Condition,
    BeforeValidator(_read),
    PlainSerializer(str),
    kind("state of a flow", "bulk.snd_cwnd_pkts >= 100", "bulk.bbr_pacing_gain < 128", pattern=_PATTERN),
]

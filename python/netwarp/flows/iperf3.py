"""`iperf3`: the real program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator

from netwarp.flows.kind import TOOL, CongestionControl, FlowBase, FlowKind, FlowPath, Transport
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields, words_of
from netwarp.lab_format.quantities import Rate, Text, UInt64, meaning
from netwarp.values import units
from netwarp.values.constants import NS_PER_S
from netwarp.values.fields import Line, PositiveSize, about, kind, quantity_pattern

_UDP_BPS = 10**6
"""The default rate of UDP (iperf3(1), -b)."""
_REVERSE = frozenset(("-R", "--reverse"))


def _rate(value: object) -> int:
    """The tool's -b in bit/s; 0 means no limit, as there."""
    return 0 if value == "unlimited" else units.parse_positive_rate(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iperf3Fields(LabObject):
    """The options of iperf3 in the lab, from which the agent makes its command line."""

    protocol: Annotated[Text, meaning("tcp or udp")]
    rate_bps: Annotated[Rate | None, meaning("its -b; 0: no limit, null: its default")]
    cc: Text | None
    bytes: Annotated[UInt64 | None, meaning("its -n")]
    args: Annotated[tuple[Text, ...], meaning("further arguments of the client")]


class Iperf3Flow(FlowBase):
    """The real iperf3. `rate` is its -b (`"unlimited"` is -b 0); `args` are passed to the client unchanged."""

    tool: Literal["iperf3"] = about(TOOL, "iperf3")
    protocol: Literal["tcp", "udp"] = about("Transport protocol.", "udp", refused=["sctp"], default="tcp")
    cc: CongestionControl | None = about(
        "Congestion control of TCP (-C); default: the kernel's.", "reno", refused=["BBR"], default=None
    )
    rate: (
        Annotated[
            int,
            BeforeValidator(_rate),
            kind(
                "rate of iperf3",
                "unlimited",
                "10mbit",
                pattern=f"{quantity_pattern(units.RATE_UNITS, any_case=True)}|^unlimited$",
            ),
        ]
        | None
    ) = about(
        'Its -b: a rate, or `"unlimited"` (-b 0). Default: that of iperf3, no limit for TCP and 1 Mbit/s for UDP.',
        "unlimited",
        refused=["10mbps"],
        default=None,
    )
    bytes: PositiveSize | None = about("How much to send (-n).", "10MB", refused=[0], default=None)
    args: tuple[Line, ...] = about(
        "Further arguments of the client, passed unchanged.", ["-P", "4"], refused=["-P 4"], default=()
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that a congestion control is used with TCP."""
        if self.protocol == "udp" and self.cc is not None:
            yield "cc", 'UDP has no congestion control; leave `cc` out or use protocol = "tcp"'

    def lab_fields(self, path: FlowPath) -> Iperf3Fields:
        """Its options."""
        return Iperf3Fields(protocol=self.protocol, rate_bps=self.rate, cc=self.cc, bytes=self.bytes, args=self.args)

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """Its rate for this time, or the amount to send, if options set it; further arguments may override it."""
        rate = _UDP_BPS if self.rate is None and self.protocol == "udp" else self.rate
        found = [float(self.bytes)] if self.bytes else []
        found += [rate * active_ns / (8 * NS_PER_S)] if rate else []
        return min(found) if found and not self.args else None


class _Iperf3Kind(FlowKind):
    """A kind whose transport and direction are options of each test."""

    def transport_of(self, lab_fields: OwnFields) -> Transport:
        """TCP, or UDP with -u."""
        return "udp" if lab_fields.get("protocol") == "udp" else "tcp"

    def is_reverse(self, lab_fields: OwnFields) -> bool:
        """Whether the server sends (-R)."""
        return bool(_REVERSE.intersection(words_of(lab_fields.get("args"))))


KIND = _Iperf3Kind(
    "iperf3",
    Iperf3Flow,
    Iperf3Fields,
    greedy=True,
    counts_for_fairness=True,
    connects=True,
    ports=(False, True),
    control_connection=True,
    whole_seconds=True,
    programs={"iperf3": "iperf3"},
    argument_fields=("args",),
)

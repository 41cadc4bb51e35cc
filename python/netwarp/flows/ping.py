"""`ping`: ICMP echo requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from netwarp.flows.kind import TOOL, Datagram, FlowBase, FlowKind, FlowPath
from netwarp.flows.options import option_fields
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Time, meaning
from netwarp.values.constants import ETHERNET_HEADER_BYTES
from netwarp.values.fields import PositiveDuration, about

MAX_PAYLOAD_BYTES = 65507
_ICMP_HEADER_BYTES = 8
_TYPES, _FIELDS = option_fields("icmp")


_Size = Annotated[int, Field(strict=True, ge=0, le=MAX_PAYLOAD_BYTES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PingFields(LabObject):
    """The fields of echo requests in the lab."""

    interval_ns: Time
    size: Annotated[_Size, meaning("bytes of payload")]


class PingFlow(FlowBase):
    """Echo requests every `interval` with `size` bytes of payload."""

    tool: Literal["ping"] = about(TOOL, "ping")
    interval: PositiveDuration = about("The time between two requests.", "10ms", refused=["0s"], default=100_000_000)
    size: int = about(
        "Payload of a request in bytes.",
        1000,
        refused=[15, "1kB"],
        default=56,
        ge=16,
        le=MAX_PAYLOAD_BYTES,
        strict=True,
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= _TYPES
        vars().update(_FIELDS)

    @property
    def datagram(self) -> Datagram:
        """A request. Over IPv6 the kernel makes fragments once a router has said that one is too big."""
        return Datagram("size", self.size, self.size + _ICMP_HEADER_BYTES, learns_mtu=self.family == "ipv6")

    def lab_fields(self, path: FlowPath) -> PingFields:
        """Interval and payload."""
        return PingFields(interval_ns=self.interval, size=self.size)

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """A request in each interval."""
        return self.frame_bytes(path) * active_ns / self.interval

    def frame_bytes(self, path: FlowPath) -> float:
        """The payload with its headers."""
        return self.size + _ICMP_HEADER_BYTES + self.ip_header_bytes + ETHERNET_HEADER_BYTES


KIND = FlowKind("ping", PingFlow, PingFields, transport="icmp", built_in=True, probe=True, ports=(True, False))

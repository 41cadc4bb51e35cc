"""The common part of flows over HTTP: the version, TLS, and the congestion control of both ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

from netwarp.flows.kind import CongestionControl, FlowKind, FlowPath, Transport
from netwarp.flows.options import given_options
from netwarp.flows.quic_connection import QuicControl
from netwarp.flows.tcp import TcpFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields
from netwarp.lab_format.quantities import Text, UInt32, Yes, meaning
from netwarp.values.constants import UDP_HEADER_BYTES
from netwarp.values.fields import about


def _version(value: object) -> object:
    """A version that is written as a number, as on a command line: 1.1, 2 or 3."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFields(LabObject):
    """The fields of all flows over HTTP in the lab."""

    protocol: Annotated[Text, meaning("tcp, or udp for HTTP/3")]
    version: Annotated[Text, meaning("1.1, 2 or 3")]
    tls: Annotated[Yes, meaning("TLS 1.3 over TCP; HTTP/3 always has it")]
    cc: Annotated[Text, meaning("of both ends: the kernel's, or quinn's for HTTP/3")]
    datagram_size_bytes: Annotated[UInt32, meaning("of HTTP/3: UDP's payload of every full packet")]


class WebFlow(TcpFlow):
    """A flow over HTTP."""

    version: Annotated[Literal["1.1", "2", "3"], BeforeValidator(_version)] = about(
        "The version of HTTP: 1.1 or 2 over TCP, of which 1.1 has one request at a time on a connection, or 3 over "
        "QUIC.",
        "3",
        refused=["1.0"],
        default="2",
    )
    tls: bool = about(
        "Whether HTTP/1.1 is encrypted (TLS 1.3); HTTP/2 and HTTP/3 always are.",
        False,
        refused=["no"],
        beside={"version": "1.1"},
        default=True,
        strict=True,
    )
    cc: CongestionControl = about(
        "The congestion control of both ends: any that the kernel or one of `modules` provides; with HTTP/3 one of "
        "quinn's, `cubic`, `newreno` or `bbr`.",
        "bbr",
        refused=["BBR"],
        default="cubic",
    )

    @property
    def has_own_control(self) -> bool:
        """Whether it is quinn's: with HTTP/3."""
        return self.version == "3"

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check what versions have."""
        if not self.tls and self.version != "1.1":
            yield "tls", f'HTTP/{self.version} is always encrypted here; leave `tls` out, or write version = "1.1"'
        if not self.has_own_control:
            return
        controls = get_args(QuicControl)
        if self.cc not in controls:
            known = ", ".join(controls)
            yield "cc", f"HTTP/3 has quinn's congestion controls, {known}; choose one, or another version of HTTP"
        for option, _ in given_options(self):
            if "udp" not in option.transports:
                yield option.name, "is an option of TCP, and HTTP/3 is over UDP; leave it out, or choose version 2"

    def web_fields(self, path: FlowPath) -> dict[str, Any]:
        """The values of `WebFields`, with the size of HTTP/3's datagrams."""
        return {
            "protocol": "udp" if self.has_own_control else "tcp",
            "version": self.version,
            "tls": self.tls,
            "cc": self.cc,
            "datagram_size_bytes": path.mtu - self.ip_header_bytes - UDP_HEADER_BYTES,
        }


class WebKind(FlowKind):
    """A kind whose transport depends on the version of HTTP."""

    def transport_of(self, lab_fields: OwnFields) -> Transport:
        """UDP for HTTP/3, otherwise TCP."""
        return "udp" if lab_fields.get("protocol") == "udp" else "tcp"

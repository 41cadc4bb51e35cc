"""`mptcp`: one connection of Multipath TCP that always has data to send, over several links (RFC 8684)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowKind, FlowPath
from netwarp.flows.options.routes import DELAYED_ACKS, ECN, INITIAL_WINDOW
from netwarp.flows.options.sockets import DSCP, PRIORITY, RECEIVE_BUFFER_SIZE, SEND_BUFFER_SIZE
from netwarp.flows.sized import SizedFlow
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.quantities import Text, UInt64, Yes, meaning
from netwarp.values.constants import ETHERNET_HEADER_BYTES, MPTCP_OPTION_BYTES, TCP_HEADER_BYTES
from netwarp.values.fields import Name, about

_OPTIONS = (DSCP, ECN, PRIORITY, INITIAL_WINDOW, SEND_BUFFER_SIZE, RECEIVE_BUFFER_SIZE, DELAYED_ACKS)
"""The options of TCP that the kernel passes on to subflows, or that are a route's."""
_GIVEN = {option.name: option.field() for option in _OPTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class MptcpFields(LabObject):
    """The fields of an MPTCP connection in the lab; the endpoints of its subflows are its node's."""

    cc: Text
    bytes: Annotated[UInt64 | None, meaning("null: as much as possible")]
    receiver_is_mptcp: Annotated[Yes, meaning("whether the receiver's socket is MPTCP's; otherwise it is TCP's")]


class MptcpFlow(SizedFlow):
    """Multipath TCP that always has data to send, until `duration` is over or `bytes` are sent.

    The connection begins on the path of its routes. The kernel's path manager then adds a subflow from the address of
    each other link of `from`. Its scheduler is the kernel's only one, `default`: each segment goes to the subflow that
    can send it soonest. Each subflow has its own congestion control, `cc`, which does not know the others.
    """

    tool: Literal["mptcp"] = about(TOOL, "mptcp")
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")
    links: list[Name] | None = about(
        "The links of `from` that carry subflows, beside the one on which the connection begins; default: all of them. "
        "They are the same for all MPTCP flows from one node, since its kernel has one list.",
        [],
        refused=["wifi", ["no-link"]],
        default=None,
    )
    backup: list[Name] = about(
        "Of these, the links whose subflows send only while no other can (RFC 8684, section 3.3.8).",
        [],
        refused=["wifi", ["no-link"]],
        default=[],
    )
    receiver: Literal["mptcp", "tcp"] = about(
        "The protocol of the receiver's socket. With `tcp` the connection falls back to TCP and has one path, which "
        "the result reports.",
        "tcp",
        refused=["sctp"],
        default="mptcp",
    )
    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ |= {name: kind for name, (kind, _) in _GIVEN.items()}
        vars().update({name: field for name, (_, field) in _GIVEN.items()})

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that backups are among the links that carry subflows."""
        for name in self.backup:
            if self.links is not None and name not in self.links:
                yield "backup", f'"{name}" carries no subflow, since `links` does not name it; add it there'

    @property
    def named_links(self) -> Mapping[str, Sequence[str] | None]:
        """Those of subflows, and those of backups."""
        return {"links": self.links, "backup": self.backup}

    def carries(self, link: str) -> bool:
        """Whether `links` has it, or is not given."""
        return self.links is None or link in self.links

    def is_backup(self, link: str) -> bool:
        """Whether `backup` has it."""
        return link in self.backup

    def lab_fields(self, path: FlowPath) -> MptcpFields:
        """The fields of a connection."""
        return MptcpFields(cc=self.cc, bytes=self.size, receiver_is_mptcp=self.receiver == "mptcp")

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The amount to send, with headers; None if the scenario does not limit it."""
        headers = ETHERNET_HEADER_BYTES + self.ip_header_bytes + TCP_HEADER_BYTES + MPTCP_OPTION_BYTES
        frame = self.frame_bytes(path)
        return None if self.size is None else self.size * frame / (frame - headers)


KIND = FlowKind(
    "mptcp",
    MptcpFlow,
    MptcpFields,
    transport="tcp",
    built_in=True,
    greedy=True,
    counts_for_fairness=True,
    connects=True,
    subflows=True,
)

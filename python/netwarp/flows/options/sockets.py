"""Options that setsockopt(2) sets, at both ends of a flow. Numbers are those of the kernel's headers for x86-64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from netwarp.common.words import did_you_mean
from netwarp.flows.kind import Transport
from netwarp.flows.options.option import Family, FlowOption
from netwarp.lab_format.model import LabSocketOption
from netwarp.values import fields
from netwarp.values.fields import PositiveSize, kind

SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP, IPPROTO_IPV6 = 1, 0, 6, 41
SEND_BUFFER, RECEIVE_BUFFER, UNSENT = "SO_SNDBUFFORCE", "SO_RCVBUFFORCE", "TCP_NOTSENT_LOWAT"
"""Options that limit a sender, or its receiver's window."""
_MAX_VALUE = 2**32 - 1
_MAX_BUFFER_BYTES = 2**30 - 1
"""The kernel doubles a buffer's size, and counts it in 31 bits (__sock_set_rcvbuf())."""
_DSCP: dict[str, int] = {
    "DF": 0,
    "LE": 1,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{number}{drop}": 8 * number + 2 * drop for number in range(1, 5) for drop in range(1, 4)},
    "VA": 44,
    "EF": 46,
}
"""Code points by name: RFC 4594 (CS, AF, EF, DF), RFC 5865 (VA), RFC 8622 (LE)."""


def _dscp(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = int(value) if re.fullmatch(r"\d{1,2}", value, re.ASCII) else _DSCP.get(value.upper())
    if found is None:
        known = "names are DF, LE, CS0 to CS7, AF11 to AF43, VA and EF"
        raise ValueError(f'"{value[:20]}" is not a code point; {known}{did_you_mean(value.upper(), _DSCP)}')
    return found


def _priority(value: object) -> object:
    """Parse a number, or a class as tc writes it, `1:10` (hexadecimal)."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})", value, re.ASCII)
    if match is None:
        raise ValueError(f'"{value[:20]}" is not a priority; write a whole number, or a class of tc such as "1:10"')
    return int(match[1], 16) << 16 | int(match[2], 16)


def _calls(value: object) -> object:
    """Parse `LEVEL OPTION VALUE`, one or several."""
    lines = [value] if isinstance(value, str) else value
    if not isinstance(lines, list | tuple):
        raise ValueError('is a list of "LEVEL OPTION VALUE", such as ["6 16 1"]')
    return tuple(_call(line) for line in lines)


def _call(line: object) -> object:
    if isinstance(line, tuple):
        return line
    words = line.split() if isinstance(line, str) else []
    numbers = [int(word) for word in words if re.fullmatch(r"-?\d{1,10}", word, re.ASCII)]
    if len(words) != 3 or len(numbers) != 3:
        raise ValueError(f'"{str(line)[:40]}" is not "LEVEL OPTION VALUE" in whole numbers, such as "6 16 1"')
    level, option, content = numbers
    if not (0 <= level < 2**31 and 0 <= option < 2**31 and -(2**31) <= content < 2**32):
        raise ValueError(f'"{str(line)[:40]}" does not fit 32 bits')
    return level, option, content


def _within(least: int, most: int, in_words: str) -> AfterValidator:
    """Refuse other values, with the bounds in words."""

    def check(value: int) -> int:
        if not least <= value <= most:
            raise ValueError(f"must be from {in_words}")
        return value

    return AfterValidator(check)


@dataclass(frozen=True, kw_only=True)
class SocketOption(FlowOption):
    """An option that is one whole number: its level, its number and its name in C."""

    level: int
    option: int
    c_name: str
    divisor: int = 1
    """The divisor of the scenario's value: 8 if the scenario has bits and the kernel bytes."""

    def sockets(self, value: Any, transport: Transport | None, family: Family) -> Iterator[LabSocketOption]:
        """The option with its value."""
        yield LabSocketOption(name=self.c_name, level=self.level, option=self.option, value=value // self.divisor)


def traffic_class(value: int, family: Family) -> LabSocketOption:
    """The option that sets the octet of DSCP and ECN in a packet's header (RFC 2474, RFC 3168)."""
    if family == "ipv4":
        return LabSocketOption(name="IP_TOS", level=IPPROTO_IP, option=1, value=value)
    return LabSocketOption(name="IPV6_TCLASS", level=IPPROTO_IPV6, option=67, value=value)


@dataclass(frozen=True, kw_only=True)
class _Dscp(FlowOption):
    def sockets(self, value: Any, transport: Transport | None, family: Family) -> Iterator[LabSocketOption]:
        """The upper six bits of the octet."""
        yield traffic_class(value << 2, family)


@dataclass(frozen=True, kw_only=True)
class _Calls(FlowOption):
    def sockets(self, value: Any, transport: Transport | None, family: Family) -> Iterator[LabSocketOption]:
        """The calls that the scenario lists."""
        for level, option, content in value:
            yield LabSocketOption(name=f"option {option} of level {level}", level=level, option=option, value=content)


DSCP = _Dscp(
    name="dscp",
    meaning=(
        "The DSCP of its packets in both directions: a number from 0 to 63 or a name such as `EF`. Over IPv4 four of "
        "its bits also set a priority, at each node again (rt_tos2priority()); see [flow-options.md](flow-options.md)."
    ),
    examples=("EF", "AF41", 8),
    refused=("EFF", 64),
    kind=Annotated[
        int, BeforeValidator(_dscp), Field(strict=True, ge=0, le=63), kind("code point", "EF", "AF41", "CS1", number=0)
    ],
    transports=("tcp", "udp", "icmp", "sctp"),
)

PRIORITY = SocketOption(
    name="priority",
    meaning=(
        "The priority of its packets in the queue of the node that sends them (SO_PRIORITY): a number, or a class of "
        "that queue such as `1:10`. It is not in the packet, so routers do not see it; `dscp` is."
    ),
    examples=(6, "1:10"),
    refused=("high", -1),
    kind=Annotated[
        int,
        BeforeValidator(_priority),
        Field(strict=True, ge=0, le=2**31 - 1),
        kind("priority", "6", "1:10", number=0),
    ],
    transports=("tcp", "udp", "icmp", "sctp"),
    level=SOL_SOCKET,
    option=12,
    c_name="SO_PRIORITY",
)

PACING_RATE = SocketOption(
    name="pacing_rate",
    meaning=(
        "The most that each connection sends (SO_MAX_PACING_RATE), in payload: TCP paces its segments without their "
        "headers (tcp_update_skb_after_send())."
    ),
    examples=("4mbit",),
    refused=("1kbit", "40gbit"),
    kind=Annotated[fields.Rate, _within(8_000, 8 * _MAX_VALUE - 1, "8kbit to 34gbit")],
    level=SOL_SOCKET,
    option=47,
    c_name="SO_MAX_PACING_RATE",
    divisor=8,
)

MSS = SocketOption(
    name="mss",
    meaning=(
        "The largest segment that both ends announce (TCP_MAXSEG), in bytes; with timestamps 12 of these are theirs. "
        "A path's MTU may make it smaller."
    ),
    examples=(536,),
    refused=(87, 40_000),
    kind=Annotated[int, Field(strict=True, ge=88, le=32_767)],
    level=IPPROTO_TCP,
    option=2,
    c_name="TCP_MAXSEG",
)

NOTSENT_LOWAT = SocketOption(
    name="notsent_lowat",
    meaning=(
        "How many bytes may wait unsent in a socket before the sender gives it no more (TCP_NOTSENT_LOWAT). One write "
        "may exceed it by a segment as large as the stack makes them."
    ),
    examples=("16kB",),
    refused=("0B",),
    kind=Annotated[PositiveSize, _within(1, _MAX_BUFFER_BYTES, "1B to 1GB")],
    level=IPPROTO_TCP,
    option=25,
    c_name=UNSENT,
)

_BUFFER = (
    "in bytes, which the kernel doubles for its own overhead and then no longer changes. It does not depend on "
    "`net.core.{limit}` unless the engine `host` is without the right to exceed it; then a smaller buffer is an error."
)

SEND_BUFFER_SIZE = SocketOption(
    name="send_buffer",
    meaning=f"The send buffer of each connection (SO_SNDBUF), {_BUFFER.format(limit='wmem_max')}",
    examples=("64kB",),
    refused=("1kB",),
    kind=Annotated[PositiveSize, _within(2_304, _MAX_BUFFER_BYTES, "2304B to 1GB")],
    level=SOL_SOCKET,
    option=32,
    c_name=SEND_BUFFER,
    transports=("tcp", "sctp"),
)

RECEIVE_BUFFER_SIZE = SocketOption(
    name="receive_buffer",
    meaning=f"The receive buffer of each connection (SO_RCVBUF), {_BUFFER.format(limit='rmem_max')}",
    examples=("64kB",),
    refused=("1kB",),
    kind=Annotated[PositiveSize, _within(2_304, _MAX_BUFFER_BYTES, "2304B to 1GB")],
    level=SOL_SOCKET,
    option=33,
    c_name=RECEIVE_BUFFER,
    transports=("tcp", "sctp"),
)

SETSOCKOPT = _Calls(
    name="setsockopt",
    meaning=(
        "Further options of its sockets, each as the three numbers of setsockopt(2): level, option, value. They are "
        "for options without a field here, and for those of a changed kernel; a congestion control has none in Linux, "
        "its parameters are its module's ([modules.md](modules.md))."
    ),
    examples=(["6 16 1"],),
    refused=(["TCP_THIN_LINEAR_TIMEOUTS 1"], 16),
    kind=Annotated[
        tuple[tuple[int, int, int], ...],
        BeforeValidator(_calls),
        fields.listed("calls of setsockopt(2)", "6 16 1"),
    ],
    transports=("tcp", "udp", "icmp", "sctp"),
)

"""The headers of the packets in a run's captures."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from netwarp.store.rundir import RunDir

UDP, TCP, ICMP = 17, 6, 1


@dataclass(frozen=True)
class Seen:
    """A packet of a capture: its header's octet of DSCP and ECN, its ports, and of TCP its flags and options."""

    time_ns: int
    protocol: int
    octet: int
    source_port: int
    destination_port: int
    flags: int = 0
    window: int = 0
    payload_bytes: int = 0
    options: bytes = b""

    def option(self, kind: int) -> bytes | None:
        """The content of a TCP option; None if it is not there."""
        at = 0
        while at < len(self.options) and self.options[at] != 0:
            if self.options[at] == 1:
                at += 1
                continue
            if self.options[at] == kind:
                return self.options[at + 2 : at + self.options[at + 1]]
            at += self.options[at + 1]
        return None


def seen(run: RunDir, name: str = "wire-h1") -> list[Seen]:
    """The packets of a capture of a link, in both directions."""
    data = (run.path / "captures" / f"{name}.pcap").read_bytes()
    found, at = [], 24
    while at < len(data):
        seconds, ns, captured, _ = struct.unpack_from("<4I", data, at)
        found.append(_packet(seconds * 10**9 + ns, data[at + 16 + 14 : at + 16 + captured]))
        at += 16 + captured
    return found


def _packet(time_ns: int, packet: bytes) -> Seen:
    """A packet of IP, of which the capture has only the first bytes."""
    if packet[0] >> 4 == 6:
        octet = (packet[0] & 15) << 4 | packet[1] >> 4
        protocol, body = packet[6], packet[40:]
        (length,) = struct.unpack_from(">H", packet, 4)
    else:
        octet, protocol = packet[1], packet[9]
        body = packet[4 * (packet[0] & 15) :]
        length = struct.unpack_from(">H", packet, 2)[0] - 4 * (packet[0] & 15)
    if protocol != TCP:
        return Seen(time_ns, protocol, octet, *struct.unpack_from(">HH", body))
    source, destination, _, _, words, flags, window = struct.unpack_from(">HHIIBBH", body)
    header = 4 * (words >> 4)
    options = bytes(body[20:header])
    return Seen(time_ns, protocol, octet, source, destination, flags, window, length - header, options)


def octets(packets: list[Seen], protocol: int) -> set[int]:
    """The octets of DSCP and ECN that packets of a protocol have."""
    return {packet.octet for packet in packets if packet.protocol == protocol}

"""Numbers that several stages, or netwarp and its agent, must have alike.

`make generate` writes the agent's `constants.rs` from those that it has too.
"""

LAB_FORMAT = 7
"""The version of labs, which an agent of another version refuses."""

KERNEL_SUFFIX = "-netwarp"
"""What the release of netwarp's own kernels ends with; `init` runs under no other."""

ETHERNET_HEADER_BYTES = 14
"""Of a frame, which queues and wires count with every packet."""

IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
"""Of an IP header without options, extensions."""

IP_HEADER_BYTES = {4: IPV4_HEADER_BYTES, 6: IPV6_HEADER_BYTES}
"""Of an IP header by version."""

UDP_HEADER_BYTES = 8
"""Of a UDP header."""

TCP_HEADER_BYTES = 32
"""Of a TCP header with timestamps."""

SCTP_HEADER_BYTES = 28
"""Of an SCTP packet and its one chunk of data."""

MAX_TCP_HEADER_BYTES = 60
"""Of a TCP header with all the options that there is room for."""

MIN_PAYLOAD_BYTES = 16
"""What a datagram of a UDP generator holds at least: struct netwarp_payload of `linux/netwarp.h`."""

WIRE_ALLOWANCE_BYTES_PER_S = 1
"""By how much a wire's netem is faster than the shaper before it, whose own rounding down (psched_l2t_ns()) could
otherwise make a nanosecond's queue grow on the wire with every packet."""

UNLIMITED_WIRE_BYTES_PER_S = 10**15
"""The rate at which netem takes no time for a packet (packet_time_ns()). It needs some rate: without one it lets jitter
overtake (netem_enqueue())."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of every program in a lab, whatever the PATH of who runs netwarp: the same everywhere."""

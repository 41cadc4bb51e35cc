"""Constants that several stages, or netwarp and its agent, must share.

`make generate` makes the agent's `constants.rs` from the shared ones.
"""

NS_PER_S = 10**9
NS_PER_MS = 10**6

LAB_FORMAT = 7
"""The version of labs, which an agent of another version refuses."""

EPOCH_S = 1_767_225_600
"""A guest's wall clock at boot, an arbitrary fixed moment in seconds: 2026-01-01T00:00:00Z."""

CAPTURE_LEAD_NS = NS_PER_S
"""The time before t0 from which times of packets count in a node's captures (engine ssh). They are corrected to the
common clock afterwards, and pcap has no negative times."""

PROGRAM_DESCRIPTOR = 120
"""The machine's descriptor of the first program that decides a congestion control; the others follow it. The number is
a parameter of a kernel module, so it is the same on every host."""

KERNEL_SUFFIX = "-netwarp"
"""The suffix of the release of netwarp's kernels; `init` runs only under these."""

ETHERNET_HEADER_BYTES = 14
"""The Ethernet header, which queues and wires count with every packet."""

IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
"""The size of an IP header without options or extensions."""

IP_HEADER_BYTES = {4: IPV4_HEADER_BYTES, 6: IPV6_HEADER_BYTES}
"""The size of an IP header by version."""

UDP_HEADER_BYTES = 8
"""The size of a UDP header."""

RTP_HEADER_BYTES = 12
"""The size of an RTP header without extensions (RFC 3550)."""

QUIC_OVERHEAD_BYTES = 28
"""The least overhead of a full packet of one stream's data: flags, connection ID of 8 bytes, packet number, frame type,
stream ID, tag of 16 bytes (RFC 9000, sections 17.3 and 19.8; RFC 9001, section 5.3)."""

QUIC_DATAGRAM_OVERHEAD_BYTES = 27
"""The least overhead of a packet with one unreliable datagram, without its length: flags, connection ID of 8 bytes,
packet number, frame type, tag of 16 bytes (RFC 9221, section 4)."""

QUIC_DATAGRAM_RESERVE_BYTES = 38
"""The room that quinn keeps free beside the largest datagram: as above, with a packet number of 4 bytes and a length
of 8."""

QUIC_SHORT_DATAGRAM_BYTES = 64
"""The data of a datagram from which its length takes two bytes rather than one (RFC 9000, section 16)."""

TCP_HEADER_BYTES = 32
"""The size of a TCP header with timestamps."""

MPTCP_OPTION_BYTES = 24
"""The option of each MPTCP segment with data from an end that receives none: its head (4 bytes), a mapping of 64 bits
(14 bytes, without a checksum), an acknowledgement of 32 bits, padded (RFC 8684, section 3.3)."""

TCP_SYN_OPTIONS_BYTES = 8
"""The size of a SYN's options beside timestamps: MSS, window scale, SACK permitted (tcp_syn_options())."""

SCTP_HEADER_BYTES = 28
"""The size of the headers of an SCTP packet with one data chunk."""

MAX_TCP_HEADER_BYTES = 60
"""The size of a TCP header with the most options."""

MIN_PAYLOAD_BYTES = 16
"""The smallest payload of a UDP generator's datagram: struct netwarp_payload of `linux/netwarp.h`."""

QOE_SWITCH_COST = 1.0
"""The cost of a change of a video's bitrate by 1 Mbit/s in QoE_lin, in Mbit/s of one segment: λ of the weights
"balanced" (X. Yin, A. Jindal, V. Sekar, B. Sinopoli: A Control-Theoretic Approach for Dynamic Adaptive Video Streaming
over HTTP, SIGCOMM 2015, sections 3.3 and 7.1)."""

QOE_STALL_COST_MBPS = 3.0
"""The cost of a second without playback in QoE_lin, in Mbit/s of one segment: μ = μs = 3000 kbit/s, "balanced" too."""

WIRE_ALLOWANCE_BYTES_PER_S = 1
"""The rate by which a wire's netem is faster than the shaper before it. Otherwise the shaper's rounding down
(psched_l2t_ns()) could make the queue on the wire grow by a nanosecond with every packet."""

UNLIMITED_WIRE_BYTES_PER_S = 10**15
"""The rate at which netem takes no time for a packet (packet_time_ns()). It needs a rate: without one, jitter lets
packets overtake each other (netem_enqueue())."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of every program in a lab, which does not depend on the user's PATH."""

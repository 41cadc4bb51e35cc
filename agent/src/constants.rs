//! Numbers that netwarp and its agent must have alike. Made by `make generate` from
//! `python/netwarp/constants.py`.

/// The version of labs, which an agent of another version refuses.
pub const LAB_FORMAT: u32 = 7;

/// What the release of netwarp's own kernels ends with; `init` runs under no other.
pub const KERNEL_SUFFIX: &str = "-netwarp";

/// Of a frame, which queues and wires count with every packet.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// Of an IP header without options, extensions.
pub const IPV4_HEADER_BYTES: u32 = 20;

/// Of an IP header without options, extensions.
pub const IPV6_HEADER_BYTES: u32 = 40;

/// Of a UDP header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// What a datagram of a UDP generator holds at least: struct netwarp_payload of `linux/netwarp.h`.
pub const MIN_PAYLOAD_BYTES: u32 = 16;

/// By how much a wire's netem is faster than the shaper before it, whose own rounding down (psched_l2t_ns()) could
/// otherwise make a nanosecond's queue grow on the wire with every packet.
pub const WIRE_ALLOWANCE_BYTES_PER_S: u64 = 1;

/// The rate at which netem takes no time for a packet (packet_time_ns()). It needs some rate: without one it lets jitter
/// overtake (netem_enqueue()).
pub const UNLIMITED_WIRE_BYTES_PER_S: u64 = 1_000_000_000_000_000;

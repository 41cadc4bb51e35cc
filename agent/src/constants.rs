//! Numbers that netwarp and its agent must have alike. Made by `make generate` from
//! `python/netwarp/values/constants.py`.

/// The version of labs, which an agent of another version refuses.
pub const LAB_FORMAT: u32 = 7;

/// A guest's wall clock at boot, an arbitrary fixed moment in seconds: 2026-01-01T00:00:00Z.
pub const EPOCH_S: u64 = 1_767_225_600;

/// The time before t0 from which times of packets count in a node's captures (engine ssh). They are corrected to the
/// common clock afterwards, and pcap has no negative times.
pub const CAPTURE_LEAD_NS: i64 = 1_000_000_000;

/// The machine's descriptor of the first program that decides a congestion control; the others follow it. The number is
/// a parameter of a kernel module, so it is the same on every host.
pub const PROGRAM_DESCRIPTOR: i32 = 120;

/// The suffix of the release of netwarp's kernels; `init` runs only under these.
pub const KERNEL_SUFFIX: &str = "-netwarp";

/// The Ethernet header, which queues and wires count with every packet.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// The size of an IP header without options or extensions.
pub const IPV4_HEADER_BYTES: u32 = 20;

/// The size of an IP header without options or extensions.
pub const IPV6_HEADER_BYTES: u32 = 40;

/// The size of a UDP header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// The size of an RTP header without extensions (RFC 3550).
pub const RTP_HEADER_BYTES: u32 = 12;

/// The smallest payload of a UDP generator's datagram: struct netwarp_payload of `linux/netwarp.h`.
pub const MIN_PAYLOAD_BYTES: u32 = 16;

/// The cost of a change of a video's bitrate by 1 Mbit/s in QoE_lin, in Mbit/s of one segment: λ of the weights
/// "balanced" (X. Yin, A. Jindal, V. Sekar, B. Sinopoli: A Control-Theoretic Approach for Dynamic Adaptive Video Streaming
/// over HTTP, SIGCOMM 2015, sections 3.3 and 7.1).
pub const QOE_SWITCH_COST: f64 = 1.0;

/// The cost of a second without playback in QoE_lin, in Mbit/s of one segment: μ = μs = 3000 kbit/s, "balanced" too.
pub const QOE_STALL_COST_MBPS: f64 = 3.0;

/// The rate by which a wire's netem is faster than the shaper before it. Otherwise the shaper's rounding down
/// (psched_l2t_ns()) could make the queue on the wire grow by a nanosecond with every packet.
pub const WIRE_ALLOWANCE_BYTES_PER_S: u64 = 1;

/// The rate at which netem takes no time for a packet (packet_time_ns()). It needs a rate: without one, jitter lets
/// packets overtake each other (netem_enqueue()).
pub const UNLIMITED_WIRE_BYTES_PER_S: u64 = 1_000_000_000_000_000;

//! The facts about a packet that all counters need.

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// When
    pub time_ns: i64,
    /// Length of the frame on the wire
    pub wire_bytes: u32,
    /// What UDP or TCP carry
    pub payload_bytes: u32,
    /// Whether it has a mark of congestion experienced
    pub marked: bool,
}

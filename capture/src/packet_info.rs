//! The facts about a packet that all counters need.

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// Time of capture
    pub time_ns: i64,
    /// Length of the frame on the wire
    pub wire_bytes: u32,
    /// Payload of UDP or TCP
    pub payload_bytes: u32,
    /// Whether it is marked congestion experienced
    pub marked: bool,
}

//! The findings about a single frame.

use crate::flows::Place;
use crate::sequence::Finding;

/// The result of analysing a frame of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Flow and direction
    pub place: Place,
    /// Findings, if it is a TCP segment
    pub finding: Finding,
    /// Payload of TCP or UDP
    pub payload_bytes: u32,
}

//! The findings about a single frame.

use crate::flows::Place;
use crate::sequence::Finding;

/// What became of a frame that is in a flow.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Which flow, which direction
    pub place: Place,
    /// What was found, if it is a TCP segment
    pub finding: Finding,
    /// What TCP or UDP carry
    pub payload_bytes: u32,
}

//! The decisions and the playback, until they are written at the run's end.

use anyhow::Result;

use super::playback::Playback;
use super::player::Choice;
use crate::traffic::http::log::Log;
use crate::traffic::video_records::{Period, Segment, VideoRecords};

/// Bytes in a nanosecond, in bit/s.
pub const BITS_NS: f64 = 8e9;

/// The decision on a segment, with what was in the buffer; in time of playback.
pub struct Decision {
    pub choice: Choice,
    pub buffer_ns: i64,
    /// When it had been added; None: it never was.
    pub buffer_end_ns: Option<i64>,
}

/// A video that is watched.
pub struct Watched {
    pub playback: Playback,
    /// Of each segment, in turn.
    pub decisions: Vec<Decision>,
}

impl Watched {
    /// Writes all rows; the segments' times are the objects' of the only page.
    pub fn write(
        &self,
        flow_id: u32,
        bitrates_bps: &[u64],
        log: &Log,
        records: &mut VideoRecords,
    ) -> Result<()> {
        for (number, decision) in self.decisions.iter().enumerate() {
            let Some(seen) = log.object(0, number) else {
                continue;
            };
            let Some(requested_ns) = seen.sent_ns else {
                continue; // it still waited for the connection
            };
            let (bytes, level) = (seen.planned.bytes, decision.choice.level);
            records.segments.add(Segment {
                flow_id,
                segment: number as u32,
                level: level as u8,
                bitrate_bps: bitrates_bps.get(level).copied().unwrap_or(0),
                bytes,
                requested_ns,
                first_byte_ns: seen.first_byte_ns,
                end_ns: seen.end_ns,
                buffer_ns: decision.buffer_ns,
                buffer_end_ns: decision.buffer_end_ns,
                throughput_bps: seen
                    .end_ns
                    .map(|end_ns| throughput_bps(bytes, requested_ns, end_ns)),
                expected_bps: decision.choice.expected_bps,
            })?;
        }
        for period in self.playback.periods() {
            records.playback.add(Period {
                flow_id,
                state: period.state,
                start_ns: period.start_ns,
                end_ns: period.end_ns,
            })?;
        }
        Ok(())
    }
}

/// The throughput of a segment, from its request to its last byte, in bit/s.
pub fn throughput_bps(bytes: u64, sent_ns: i64, end_ns: i64) -> f64 {
    bytes as f64 * BITS_NS / (end_ns - sent_ns).max(1) as f64
}

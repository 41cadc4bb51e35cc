//! `segments.arrows` and `playback.arrows`.

use std::path::Path;

use anyhow::Result;

use super::occasional::Occasional;
pub use netwarp_records::tables::playback::Row as Period;
pub use netwarp_records::tables::segments::Row as Segment;
use netwarp_records::tables::{playback, segments};

/// The tables, which exist if a run has video flows.
pub struct VideoRecords {
    pub segments: Occasional<segments::Rows>,
    pub playback: Occasional<playback::Rows>,
}

impl VideoRecords {
    pub fn new(dir: &Path) -> Self {
        Self {
            segments: Occasional::new(dir),
            playback: Occasional::new(dir),
        }
    }

    pub fn finish(&mut self) -> Result<()> {
        self.segments.finish()?;
        self.playback.finish()
    }
}

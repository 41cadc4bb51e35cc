//! `quic_acks.arrows` and `quic_arrivals.arrows`.

use std::path::Path;

use anyhow::Result;

use super::occasional::Occasional;
pub use netwarp_records::tables::quic_acks::Row as Ack;
pub use netwarp_records::tables::quic_arrivals::Row as Arrival;
use netwarp_records::tables::{quic_acks, quic_arrivals};

/// The tables, which exist if a run has QUIC flows.
pub struct QuicRecords {
    pub acks: Occasional<quic_acks::Rows>,
    pub arrivals: Occasional<quic_arrivals::Rows>,
}

impl QuicRecords {
    pub fn new(dir: &Path) -> Self {
        Self {
            acks: Occasional::new(dir),
            arrivals: Occasional::new(dir),
        }
    }

    pub fn finish(&mut self) -> Result<()> {
        self.acks.finish()?;
        self.arrivals.finish()
    }
}

//! `mptcp.arrows` and `mptcp_reads.arrows`.

use std::path::Path;

use anyhow::Result;

use super::occasional::Occasional;
pub use netwarp_records::tables::mptcp::Row as Connection;
pub use netwarp_records::tables::mptcp_reads::Row as Read;
use netwarp_records::tables::{mptcp, mptcp_reads};

/// The tables, which exist if a run has MPTCP flows.
pub struct MptcpRecords {
    pub connections: Occasional<mptcp::Rows>,
    pub reads: Occasional<mptcp_reads::Rows>,
}

impl MptcpRecords {
    pub fn new(dir: &Path) -> Self {
        Self {
            connections: Occasional::new(dir),
            reads: Occasional::new(dir),
        }
    }

    pub fn finish(&mut self) -> Result<()> {
        self.connections.finish()?;
        self.reads.finish()
    }
}

//! `transfers.arrows`: every sized transfer and every request with its response, and how long it took; at the end those
//! that were not complete, whose time is longer than what was left of the run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use netwarp_records::table::Batch;
use netwarp_records::tables::transfers;
/// From the first byte asked for or sent to the last one received.
pub use netwarp_records::tables::transfers::Row as Transfer;

/// The table, written by all flows. A flow has one transfer at a time.
pub struct Transfers {
    table: Batch<transfers::Rows>,
    begun: BTreeMap<u32, Transfer>,
}

impl Transfers {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            table: Batch::create(dir)?,
            begun: BTreeMap::new(),
        })
    }

    /// One has begun. Until it is complete it counts as one that is not.
    pub fn begin(&mut self, transfer: Transfer) {
        self.begun.insert(transfer.flow_id, transfer);
    }

    /// The flow's transfer is complete.
    pub fn complete(&mut self, flow_id: u32, end_ns: i64) -> Result<()> {
        if let Some(mut transfer) = self.begun.remove(&flow_id) {
            transfer.end_ns = Some(end_ns);
            self.table.push(transfer)?;
        }
        Ok(())
    }

    /// Writes what is left, and what is not complete, and ends the table.
    pub fn finish(&mut self) -> Result<()> {
        for transfer in std::mem::take(&mut self.begun).into_values() {
            self.table.push(transfer)?;
        }
        self.table.finish()
    }
}

//! `transfers.arrows`: the duration of every sized transfer and of every request with its response; at the end also
//! those that are incomplete, whose time is longer than the rest of the run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::lab::Flow;
use netwarp_records::table::Batch;
use netwarp_records::tables::transfers;
/// A transfer, from the first byte asked for or sent to the last one received.
pub use netwarp_records::tables::transfers::Row as Transfer;

/// The table, written by all flows. A flow that calls `begin` has one transfer at a time.
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

    /// Records that a transfer has begun. It counts as incomplete until it is complete.
    pub fn begin(&mut self, transfer: Transfer) {
        self.begun.insert(transfer.flow_id, transfer);
    }

    /// Records that a flow has begun whose only transfer is all that it sends; nothing if it sends without end.
    pub fn begin_flow(&mut self, flow: &Flow, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.begin(Transfer {
                flow_id: flow.id,
                sequence: 0,
                start_ns: flow.start_ns,
                end_ns: None,
                request_bytes: 0,
                bytes,
            });
        }
    }

    /// Records that the flow's transfer is complete.
    pub fn complete(&mut self, flow_id: u32, end_ns: i64) -> Result<()> {
        if let Some(mut transfer) = self.begun.remove(&flow_id) {
            transfer.end_ns = Some(end_ns);
            self.table.push(transfer)?;
        }
        Ok(())
    }

    /// Records a transfer of a flow that may have several at a time; its end is known, or does not come.
    pub fn add(&mut self, transfer: Transfer) -> Result<()> {
        self.table.push(transfer)
    }

    /// Writes the remaining rows, those of incomplete transfers included, and ends the table.
    pub fn finish(&mut self) -> Result<()> {
        for transfer in std::mem::take(&mut self.begun).into_values() {
            self.table.push(transfer)?;
        }
        self.table.finish()
    }
}

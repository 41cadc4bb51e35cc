//! `transfers.arrows`: every sized transfer and every request with its response, and how long it took; at the end those
//! that were not complete, whose time is longer than what was left of the run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{Int64Builder, UInt32Builder, UInt64Builder};
use arrow_schema::DataType::{Int64, UInt32, UInt64};

use crate::table::{BATCH_ROWS, Table};

/// From the first byte asked for or sent to the last one received. Times are from t0.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    pub flow_id: u32,
    pub sequence: u32,
    pub start_ns: i64,
    /// None: it is not complete.
    pub end_ns: Option<i64>,
    pub request_bytes: u64,
    pub bytes: u64,
}

/// The table, written by all flows. A flow has one transfer at a time.
pub struct Transfers {
    table: Table,
    rows: Vec<Transfer>,
    begun: BTreeMap<u32, Transfer>,
}

impl Transfers {
    pub fn create(dir: &Path) -> Result<Self> {
        let table = Table::create(
            &dir.join("transfers.arrows"),
            &[
                ("flow_id", UInt32, false),
                ("sequence", UInt32, false),
                ("start_ns", Int64, false),
                ("end_ns", Int64, true),
                ("request_bytes", UInt64, false),
                ("bytes", UInt64, false),
            ],
        )?;
        Ok(Self {
            table,
            rows: Vec::new(),
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
            self.push(transfer)?;
        }
        Ok(())
    }

    fn push(&mut self, transfer: Transfer) -> Result<()> {
        self.rows.push(transfer);
        if self.rows.len() == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes what is left, and what is not complete, and ends the table.
    pub fn finish(&mut self) -> Result<()> {
        for transfer in std::mem::take(&mut self.begun).into_values() {
            self.push(transfer)?;
        }
        self.flush()?;
        self.table.end()
    }

    fn flush(&mut self) -> Result<()> {
        let (mut flow_id, mut sequence) = (UInt32Builder::new(), UInt32Builder::new());
        let (mut start_ns, mut end_ns) = (Int64Builder::new(), Int64Builder::new());
        let (mut request_bytes, mut bytes) = (UInt64Builder::new(), UInt64Builder::new());
        for row in self.rows.drain(..) {
            flow_id.append_value(row.flow_id);
            sequence.append_value(row.sequence);
            start_ns.append_value(row.start_ns);
            end_ns.append_option(row.end_ns);
            request_bytes.append_value(row.request_bytes);
            bytes.append_value(row.bytes);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(flow_id.finish()),
            Arc::new(sequence.finish()),
            Arc::new(start_ns.finish()),
            Arc::new(end_ns.finish()),
            Arc::new(request_bytes.finish()),
            Arc::new(bytes.finish()),
        ];
        self.table.write(columns)
    }
}

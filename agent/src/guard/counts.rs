//! `interfaces.arrows`: what passed each recorded interface, as the kernel counted it from the start of recording to its
//! end.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::DataType::{UInt32, UInt64};

use super::events::Fields;
use crate::table::Table;

/// The sums in struct netwarp_counts, from offset 16 on.
const SUMS: [&str; 11] = [
    "sent_pkts",
    "sent_bytes",
    "arrived_pkts",
    "arrived_bytes",
    "lost_pkts",
    "lost_bytes",
    "received_pkts",
    "delivered_pkts",
    "forwarded_pkts",
    "dropped_pkts",
    "elsewhere_pkts",
];
/// sizeof(struct netwarp_counts)
pub const SIZE: usize = 16 + 8 * SUMS.len();

/// The rows so far: an interface's index and its sums.
pub struct Counts {
    table: Table,
    rows: Vec<(u32, [u64; SUMS.len()])>,
}

impl Counts {
    pub fn create(dir: &Path) -> Result<Self> {
        let mut columns = vec![("interface_index", UInt32, false)];
        columns.extend(SUMS.map(|name| (name, UInt64, false)));
        Ok(Self {
            table: Table::create(&dir.join("interfaces.arrows"), &columns)?,
            rows: Vec::new(),
        })
    }

    /// struct netwarp_counts
    pub fn push(&mut self, record: &Fields) {
        let sums = std::array::from_fn(|i| record.u64(16 + 8 * i));
        self.rows.push((record.u32(4), sums));
    }

    pub fn finish(mut self) -> Result<()> {
        let indices: UInt32Array = self.rows.iter().map(|(index, _)| *index).collect();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(indices)];
        for i in 0..SUMS.len() {
            let sums: UInt64Array = self.rows.iter().map(|(_, sums)| sums[i]).collect();
            columns.push(Arc::new(sums));
        }
        self.table.write(columns)?;
        self.table.finish()
    }
}

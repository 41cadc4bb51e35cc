//! `drops.arrows`: one row for each packet that was dropped outside of every recorded queue.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{
    Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
};
use arrow_schema::DataType::{Int64, UInt8, UInt16, UInt32, Utf8};
use rustc_hash::FxHashMap;

use super::events::Fields;
use crate::table::{BATCH_ROWS, Table};

/// struct netwarp_symbol: where the name begins, and its size.
const NAME: (usize, usize) = (24, 64);

/// The table, its rows not yet written, and the names of the kernel's functions by address.
pub struct Drops {
    functions: FxHashMap<u64, String>,
    table: Table,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    len: usize,
    time_ns: Int64Builder,
    interface: UInt32Builder,
    place: UInt8Builder,
    tuple: UInt32Builder,
    bytes: UInt32Builder,
    segments: UInt32Builder,
    reason: UInt16Builder,
    function: StringBuilder,
}

impl Drops {
    pub fn create(dir: &Path) -> Result<Self> {
        let table = Table::create(
            &dir.join("drops.arrows"),
            &[
                ("time_ns", Int64, false),
                ("interface_index", UInt32, true),
                ("place", UInt8, false),
                ("tuple_id", UInt32, false),
                ("packet_bytes", UInt32, false),
                ("segments", UInt32, false),
                ("drop_reason", UInt16, false),
                ("function", Utf8, true),
            ],
        )?;
        Ok(Self {
            functions: FxHashMap::default(),
            table,
            rows: Rows::default(),
        })
    }

    /// struct netwarp_symbol. What the compiler made of a function (`.isra.0`) is the function all the same.
    pub fn name(&mut self, record: &Fields) {
        let bytes = record.slice(NAME.0, NAME.1);
        let end = bytes.iter().position(|&b| b == 0 || b == b'.');
        let name = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
        self.functions.insert(record.u64(16), name.into_owned());
    }

    /// struct netwarp_drop
    pub fn push(&mut self, record: &Fields, time_ns: i64, tuple: u32) -> Result<()> {
        let rows = &mut self.rows;
        rows.time_ns.append_value(time_ns);
        rows.interface
            .append_option(Some(record.u32(24)).filter(|&index| index > 0));
        rows.place.append_value(record.u32(28) as u8);
        rows.tuple.append_value(tuple);
        rows.segments.append_value(record.u32(32));
        rows.bytes.append_value(record.u32(36));
        rows.reason.append_value(record.u32(4) as u16);
        rows.function
            .append_option(self.functions.get(&record.u64(16)));
        rows.len += 1;
        if rows.len == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        let rows = &mut self.rows;
        rows.len = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.time_ns.finish()),
            Arc::new(rows.interface.finish()),
            Arc::new(rows.place.finish()),
            Arc::new(rows.tuple.finish()),
            Arc::new(rows.bytes.finish()),
            Arc::new(rows.segments.finish()),
            Arc::new(rows.reason.finish()),
            Arc::new(rows.function.finish()),
        ];
        self.table.write(columns)
    }
}

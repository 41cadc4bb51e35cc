//! `drops.arrows`: one row for each packet that was dropped outside all recorded queues.

use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::{Drop, Symbol};
use netwarp_records::table::Batch;
use netwarp_records::tables::drops;

/// The table, and the names of the kernel's functions by address.
pub struct Drops {
    functions: FxHashMap<u64, String>,
    table: Batch<drops::Rows>,
}

impl Drops {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            functions: FxHashMap::default(),
            table: Batch::create(dir)?,
        })
    }

    /// Names a function. The compiler's variants of a function (`.isra.0`) have its name.
    pub fn name(&mut self, symbol: &Symbol) {
        let bytes = symbol.name();
        let end = bytes.iter().position(|&b| b == 0 || b == b'.');
        let name = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
        self.functions.insert(symbol.function(), name.into_owned());
    }

    pub fn push(&mut self, drop: &Drop, time_ns: i64, tuple_id: u32) -> Result<()> {
        self.table.push(drops::Row {
            time_ns,
            interface_index: Some(drop.ifindex()).filter(|&index| index > 0),
            place: drop.place() as u8,
            tuple_id,
            packet_bytes: drop.bytes(),
            segments: drop.segs(),
            drop_reason: drop.reason() as u16,
            function: self.functions.get(&drop.function()).map(String::as_str),
        })
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

//! `rate_control.arrows`: the state of the senders of adaptive streams after each report.

use std::path::{Path, PathBuf};

use anyhow::Result;

use netwarp_records::table::Batch;
use netwarp_records::tables::rate_control;
pub use netwarp_records::tables::rate_control::Row;

/// The table, which exists once a sender has written into it.
pub struct RateControl {
    dir: PathBuf,
    table: Option<Batch<rate_control::Rows>>,
}

impl RateControl {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            table: None,
        }
    }

    pub fn add(&mut self, row: Row) -> Result<()> {
        if self.table.is_none() {
            self.table = Some(Batch::create(&self.dir)?);
        }
        self.table.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), Batch::finish)
    }
}

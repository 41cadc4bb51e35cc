//! A table of a run that exists once something has been written into it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use netwarp_records::table::{Batch, Rows};

/// The table, and the run directory in which it will be.
pub struct Occasional<R: Rows> {
    dir: PathBuf,
    table: Option<Batch<R>>,
}

impl<R: Rows> Occasional<R> {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            table: None,
        }
    }

    pub fn add(&mut self, row: R::Row<'_>) -> Result<()> {
        if self.table.is_none() {
            self.table = Some(Batch::create(&self.dir)?);
        }
        self.table.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), Batch::finish)
    }
}

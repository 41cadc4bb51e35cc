//! Destinations of rows: files and standard output, as CSV or Arrow.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::stat::{SFlag, fstat};

use super::csv::Csv;
use super::error::WatchError;
use super::options::Target;
use super::sink::Sink;
use netwarp_records::sockets::{Column, Columns, Entry};
use netwarp_records::table::Table;

/// Opens the targets; `about` describes an Arrow stream.
pub fn open(
    targets: &[Target],
    columns: &[Column],
    about: &HashMap<String, String>,
) -> Result<Vec<Box<dyn Sink>>> {
    targets
        .iter()
        .map(|target| -> Result<Box<dyn Sink>> {
            Ok(match target {
                Target::Csv(file) => Box::new(Csv::begin(writer(file.as_deref())?, columns)?),
                Target::Arrow(file) => {
                    Box::new(Arrow::begin(writer(file.as_deref())?, columns, about)?)
                }
            })
        })
        .collect()
}

fn writer(file: Option<&Path>) -> Result<Box<dyn Write + Send>> {
    let Some(path) = file else {
        return Ok(Box::new(std::io::stdout()));
    };
    let file = File::create(path)
        .map_err(|e| WatchError::Environment(format!("cannot write {}: {e}", path.display())))?;
    Ok(Box::new(file))
}

/// Standard output, if it is a pipe that is written to: its reader may close it at any time.
pub fn pipe(targets: &[Target]) -> Option<BorrowedFd<'static>> {
    // SAFETY: standard output stays open as long as the process lives.
    let stdout = unsafe { BorrowedFd::borrow_raw(libc::STDOUT_FILENO) };
    let used = targets
        .iter()
        .any(|t| matches!(t, Target::Csv(None) | Target::Arrow(None)));
    let kind = SFlag::from_bits_truncate(fstat(stdout.as_fd()).ok()?.st_mode) & SFlag::S_IFMT;
    (used && (kind == SFlag::S_IFIFO || kind == SFlag::S_IFSOCK)).then_some(stdout)
}

/// An Arrow IPC stream. A batch ends by its number of rows or by its age, so that few rows cost little and reach the
/// disk soon.
struct Arrow {
    table: Table,
    columns: Columns,
    written: Instant,
}

const BATCH_ROWS: usize = 16_384;
const BATCH_AGE: Duration = Duration::from_secs(10);

impl Arrow {
    fn begin(
        out: Box<dyn Write + Send>,
        columns: &[Column],
        about: &HashMap<String, String>,
    ) -> Result<Self> {
        let columns = Columns::new(columns);
        let mut table = Table::begin(out, &columns.in_table(), about.clone())?;
        table.flush()?;
        Ok(Self {
            table,
            columns,
            written: Instant::now(),
        })
    }

    fn write(&mut self) -> Result<()> {
        if self.columns.rows() > 0 {
            self.table.write(self.columns.take())?;
            self.table.flush()?;
        }
        self.written = Instant::now();
        Ok(())
    }
}

impl Sink for Arrow {
    fn rows(&mut self, entries: &[Entry]) -> Result<()> {
        self.columns.extend(entries);
        Ok(())
    }

    fn sample_ends(&mut self, _time_ns: i64, _caught_up: bool) -> Result<()> {
        if self.columns.rows() >= BATCH_ROWS || self.written.elapsed() >= BATCH_AGE {
            self.write()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.write()?;
        self.table.finish()
    }
}

//! The interface of receivers of rows.

use anyhow::Result;

use netwarp_records::sockets::Entry;

/// A receiver of rows, which is told where a sample ends.
pub trait Sink: Send {
    fn rows(&mut self, entries: &[Entry]) -> Result<()>;
    /// Called after the rows of a sample; `caught_up` when no other sample waits.
    fn sample_ends(&mut self, time_ns: i64, caught_up: bool) -> Result<()>;
    fn finish(&mut self) -> Result<()>;
}

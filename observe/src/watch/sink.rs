//! What takes rows.

use anyhow::Result;

use netwarp_records::sockets::Entry;

/// Takes rows, and learns where a sample ends.
pub trait Sink: Send {
    fn rows(&mut self, entries: &[Entry]) -> Result<()>;
    /// After the rows of a sample; `caught_up` when no other sample waits.
    fn sample_ends(&mut self, time_ns: i64, caught_up: bool) -> Result<()>;
    fn finish(&mut self) -> Result<()>;
}

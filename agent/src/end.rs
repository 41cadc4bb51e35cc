//! How runs end. Made by `make generate` from `python/netwarp/engines/reports.py`.

use serde::Serialize;

/// The end of a run's programs: by themselves, or the reason why they were killed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Ended,
    /// The user cancelled the run.
    Cancelled,
    TimeLimit,
    /// A program computed too long without a system call.
    Computing,
    /// The machine's kernel computes, and its time stands still.
    Stuck,
    /// The records could not be written.
    RecordError,
    /// No program reads the command's output any more.
    OutputClosed,
    /// The process that ends the machine with its guard has ended.
    KeeperGone,
}

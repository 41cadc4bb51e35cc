//! Errors of the monitor that the user can fix.

use std::fmt;

/// An error that the user can fix. The exit code says where: in the command, or on this machine.
#[derive(Debug)]
pub enum WatchError {
    Usage(String),
    Environment(String),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Environment(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for WatchError {}

//! Files and directories of the host that a machine uses.

use std::path::{Path, PathBuf};

/// The files of the host that a machine needs.
pub struct Places<'a> {
    pub kernel: &'a Path,
    /// Written and read.
    pub run_dir: &'a Path,
    /// Written and read by this machine only.
    pub memory_dir: &'a Path,
    /// Readable, with everything under it.
    pub read: &'a [PathBuf],
}

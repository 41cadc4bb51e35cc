//! Names for the random streams of programs: see kernels/tree/files/arch/um/kernel/netwarp_chance.c.

use anyhow::{Context, Result};

const CONTROL: &str = "/proc/netwarp_chance";

/// What this thread starts next draws from streams of this name, whatever else runs in the lab.
pub fn name(name: &str) -> Result<()> {
    std::fs::write(CONTROL, name)
        .context("this kernel has no streams of chance (/proc/netwarp_chance)")
}

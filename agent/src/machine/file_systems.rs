//! File systems of the guest.

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

/// Kind and place of each, in the order of mounting. /run is empty and writable.
const FILE_SYSTEMS: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")];

/// Mounts all file systems, and the run directory at `run_dir`.
pub fn mount_all(run_dir: &str) -> Result<()> {
    for (kind, place) in FILE_SYSTEMS {
        mount_at(kind, kind, place, None).with_context(|| format!("cannot mount {place}"))?;
    }
    std::fs::create_dir_all(run_dir)?;
    // The host's path as the machine's own process sees it: the guard has made the run directory its working directory.
    // So no name of a directory reaches the guest, and none can change a result.
    mount_at("none", "hostfs", run_dir, Some("/proc/self/cwd"))
        .context("cannot mount the run directory")
}

fn mount_at(source: &str, kind: &str, place: &str, data: Option<&str>) -> nix::Result<()> {
    mount(Some(source), place, Some(kind), MsFlags::empty(), data)
}

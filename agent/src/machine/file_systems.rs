//! File systems of the guest.

use std::path::Path;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

use crate::tools;

/// Kind and place of each, in the order of mounting. /run is empty and writable.
const FILE_SYSTEMS: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")];

/// The directory of the agent's tools.
const TOOLS: &str = "/run/netwarp-tools";
/// File of the guard in the run directory: the number of a descriptor of the machine's process, the tools' directory.
pub const TOOLS_DESCRIPTOR: &str = ".uml/tools";

/// Mounts all file systems, and the run directory at `run_dir`.
pub fn mount_all(run_dir: &str) -> Result<()> {
    for (kind, place) in FILE_SYSTEMS {
        mount_at(kind, kind, place, None).with_context(|| format!("cannot mount {place}"))?;
    }
    // The host's path as the machine's own process sees it: the guard has made the run directory its working directory.
    // So no name of a directory reaches the guest, and none can change a result.
    mount_host("/proc/self/cwd", run_dir)
}

/// Mounts the directory of the agent's tools, and settles that they are there.
pub fn mount_tools(run_dir: &str) -> Result<()> {
    let place = Path::new(run_dir).join(TOOLS_DESCRIPTOR);
    let number = std::fs::read_to_string(&place).with_context(|| place.display().to_string())?;
    std::fs::remove_file(&place)?;
    mount_host(&format!("/proc/self/fd/{number}"), TOOLS)?;
    tools::settle(TOOLS.into());
    Ok(())
}

/// Mounts a directory of the host, by its path as the machine's own process sees it.
fn mount_host(path: &str, place: &str) -> Result<()> {
    std::fs::create_dir_all(place)?;
    mount_at("none", "hostfs", place, Some(path))
        .with_context(|| format!("cannot mount the host's directory at {place}"))
}

fn mount_at(source: &str, kind: &str, place: &str, data: Option<&str>) -> nix::Result<()> {
    mount(Some(source), place, Some(kind), MsFlags::empty(), data)
}

//! The guest as a machine, for labs and commands alike: its file systems, the environment of its programs, its end.

pub mod changes;
pub mod file_systems;
pub mod modules;
pub mod program;
pub mod programs;
pub mod root;

use std::convert::Infallible;

use anyhow::{Context, Result, ensure};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::resource::{Resource, setrlimit};

use crate::constants::KERNEL_SUFFIX;
use crate::tools;

/// The run directory in the guest, writable. The rest of the host is read-only.
pub const RUN_DIR: &str = "/run/netwarp";

/// Directory where `ip netns` looks for namespaces.
pub const NETNS_DIR: &str = "/run/netns";

/// Working directory in which programs start: the guest's own, writable, and the same on every host.
pub const WORK_DIR: &str = "/run";

/// Refuses to continue outside the guest, because what follows mounts file systems and powers off. Being pid 1 is not
/// enough: in a container any program is.
pub fn ensure_guest() -> Result<()> {
    let release = nix::sys::utsname::uname()?
        .release()
        .to_string_lossy()
        .into_owned();
    ensure!(
        std::process::id() == 1 && release.ends_with(KERNEL_SUFFIX),
        "`init` is for the first program of netwarp's own kernel (this is process {} of Linux {release}); `netwarp run` \
         starts it there",
        std::process::id()
    );
    Ok(())
}

/// Mounts what programs expect, and the run directory. The kernel has mounted the root already: the host's, with its
/// /dev, read-only.
pub fn boot() -> Result<()> {
    file_systems::mount_all(RUN_DIR)?;
    file_systems::mount_tools(RUN_DIR)?;
    if let Some(place) = tools::tables_of_the_machine() {
        // SAFETY: this process, the first of its machine, has one thread yet.
        unsafe { std::env::set_var(tools::TC_DIRECTORY, place) };
    }
    Ok(())
}

/// Sets how many files this process and all that it starts may have open.
pub fn limit_open_files(files: u64) -> Result<()> {
    setrlimit(Resource::RLIMIT_NOFILE, files, files).context("RLIMIT_NOFILE")
}

/// Ends the machine, with every process in it.
pub fn power_off() -> ! {
    nix::unistd::sync();
    let result: nix::Result<Infallible> = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("netwarp: power off: {result:?}");
    std::process::exit(1)
}

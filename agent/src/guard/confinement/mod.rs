//! Limits on what a machine may do to the host. A scenario is code: its programs are root in the guest and may load
//! modules into its kernel, so that kernel counts as theirs. It is an ordinary process of the host, confined by
//! Landlock (files), a seccomp filter (system calls) and no_new_privs. SECURITY.md describes the consequences.

mod capabilities;
mod files;
mod places;
mod refusals;
mod syscalls;
#[cfg(test)]
mod tests;

use std::io::Error;
use std::path::PathBuf;

use anyhow::Result;
use seccompiler::BpfProgram;
use serde::Serialize;

use files::Files;
pub use files::{abi as landlock_version, rules_of_programs};
pub use places::Places;

use super::surroundings::named;

/// The confinement that this host can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Level {
    /// The version of Landlock's interface that is enforced; 0: none.
    pub landlock: u32,
    pub seccomp: bool,
}

impl Level {
    pub fn here() -> Self {
        Self {
            landlock: files::abi(),
            seccomp: syscalls::are_filtered_here(),
        }
    }
}

/// Rules that are made before the fork, where errors can be reported, and applied after it.
pub struct Confinement {
    files: Option<Files>,
    filters: Vec<BpfProgram>,
    keeps_capabilities: bool,
}

impl Confinement {
    /// Rules of a machine.
    pub fn new(places: &Places, level: Level) -> Result<Self> {
        Ok(Self {
            files: Some(Files::of_machine(places)?),
            filters: Vec::from_iter(level.seccomp.then(syscalls::filter).transpose()?),
            keeps_capabilities: true,
        })
    }

    /// Rules of a program that decides a congestion control: it reads and starts what is in `read`, and writes in
    /// `write`.
    pub fn of_program(read: &[PathBuf], write: &[PathBuf]) -> Result<Self> {
        let filters = syscalls::are_filtered_here().then(refusals::of_program);
        Ok(Self {
            files: Some(Files::of_build(read, write, false)?),
            filters: filters.transpose()?.unwrap_or_default(),
            keeps_capabilities: false,
        })
    }

    /// Confines the calling thread and all that it starts, permanently. Nothing can be started in another process group
    /// afterwards, so the guard finds all of it.
    pub fn apply(&mut self) -> std::io::Result<()> {
        if !self.keeps_capabilities {
            named("capset", capabilities::drop_most())?;
        }
        if let Some(files) = self.files.take() {
            let applied = files.apply().map_err(|_| Error::last_os_error());
            named("landlock_restrict_self", applied)?;
        }
        for filter in &self.filters {
            let applied = seccompiler::apply_filter(filter).map_err(|_| Error::last_os_error());
            named("seccomp", applied)?;
        }
        Ok(())
    }
}

/// Confines this process, which is about to build something, to the files in `read`, which it may also start, and to
/// those in `write`, where it may also make `links`. It has no network.
pub fn confine_build(read: &[PathBuf], write: &[PathBuf], links: bool) -> Result<()> {
    Files::of_build(read, write, links)?.apply()?;
    if syscalls::are_filtered_here() {
        seccompiler::apply_filter(&refusals::of_build()?)?;
    }
    Ok(())
}

/// The filter of system calls for the programs of a lab in real time; None if the host cannot filter.
pub fn calls_of_programs() -> Result<Option<BpfProgram>> {
    let is_possible = syscalls::are_filtered_here();
    is_possible.then(refusals::of_lab).transpose()
}

/// Confines the guard itself, which reads the machine's records, to the machine's files and to the system calls that it
/// needs to watch the machine and to clean up.
pub fn confine_guard(places: &Places) -> Result<()> {
    Files::of_guard(places)?.apply()
}

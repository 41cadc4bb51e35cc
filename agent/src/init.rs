//! Pid 1 of the guest: mounts, runs the lab, writes how it ended, powers off. Whatever happens here, the machine ends.

use std::convert::Infallible;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::resource::{Resource, setrlimit};

use crate::constants::{KERNEL_SUFFIX, LAB_FORMAT};
use crate::lab::RunFile;

/// Where the guest sees its run directory, writable; the rest of the host is read-only.
pub const RUN_DIR: &str = "/run/netwarp";

/// Never returns where it belongs: the end of pid 1 is the end of the machine. Anywhere else it refuses, since it
/// mounts file systems and powers off.
pub fn main() -> ExitCode {
    if let Err(e) = ensure_guest() {
        eprintln!("{e:#}");
        return ExitCode::from(2);
    }
    let outcome = mounts().and_then(|()| lab());
    let text = match &outcome {
        Ok(()) => serde_json::json!({"status": "ok"}),
        Err(e) => serde_json::json!({"status": "failed", "reason": format!("{e:#}")}),
    };
    if let Err(e) = std::fs::write(Path::new(RUN_DIR).join("outcome.json"), text.to_string()) {
        eprintln!("netwarp: cannot write the outcome: {e}");
    }
    if let Err(e) = outcome {
        eprintln!("netwarp: {e:#}");
    }
    power_off();
}

/// Being asked for is not enough: in a container any program is pid 1.
fn ensure_guest() -> Result<()> {
    let release = nix::sys::utsname::uname()?
        .release()
        .to_string_lossy()
        .into_owned();
    anyhow::ensure!(
        std::process::id() == 1 && release.ends_with(KERNEL_SUFFIX),
        "`init` is for the first program of netwarp's own kernel (this is process {} of Linux {release}); `netwarp run` \
         starts it there",
        std::process::id()
    );
    Ok(())
}

fn lab() -> Result<()> {
    let text = std::fs::read_to_string(Path::new(RUN_DIR).join("run.json")).context("run.json")?;
    let RunFile { lab } = serde_json::from_str(&text).context("run.json")?;
    anyhow::ensure!(
        lab.format == LAB_FORMAT,
        "the lab has format {}, this agent executes {LAB_FORMAT}",
        lab.format
    );
    let files = lab.machine.open_files;
    setrlimit(Resource::RLIMIT_NOFILE, files, files).context("RLIMIT_NOFILE")?;
    crate::run::run(&lab, Path::new(RUN_DIR))
}

fn mounts() -> Result<()> {
    let none = None::<&str>;
    let fs = |kind: &str, at: &str| {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), none)
            .with_context(|| format!("cannot mount {at}"))
    };
    fs("proc", "/proc")?;
    fs("sysfs", "/sys")?;
    fs("tmpfs", "/run")?;
    std::fs::create_dir_all(RUN_DIR)?;
    // The path is the host's, as the machine's own process sees it: the guard has put it into the run directory. So
    // no name of a directory reaches the guest, and none can change a result.
    mount(
        Some("none"),
        RUN_DIR,
        Some("hostfs"),
        MsFlags::empty(),
        Some("/proc/self/cwd"),
    )
    .context("cannot mount the run directory")?;
    Ok(())
}

fn power_off() -> ! {
    nix::unistd::sync();
    let result: nix::Result<Infallible> = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("netwarp: power off: {result:?}");
    std::process::exit(1)
}

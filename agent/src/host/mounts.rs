//! The file system that programs see: the host's, read-only; a separate /run with the run directory in it; /proc and
//! /sys of their namespaces. None of these mounts is visible outside.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

use crate::machine::{RUN_DIR, WORK_DIR};

/// A place that every program may write to.
pub const HOME: &str = WORK_DIR;

const PROC: &str = "/proc";
const NOTHING: Option<&str> = None;

// linux/mount.h
const MOUNT_ATTR_RDONLY: u64 = 1;
const AT_RECURSIVE: libc::c_int = 0x8000;

/// Prepares the mount namespace of the run whose directory is `dir`.
pub fn prepare(dir: &Path) -> Result<()> {
    part()?;
    // The directory may be below /run, which is about to be covered.
    let run = File::open(dir).with_context(|| dir.display().to_string())?;
    mount(
        Some("netwarp"),
        "/run",
        Some("tmpfs"),
        MsFlags::empty(),
        NOTHING,
    )
    .context("cannot mount a /run of the run's own")?;
    std::fs::create_dir_all(RUN_DIR)?;
    let source = format!("/proc/self/fd/{}", run.as_raw_fd());
    mount(
        Some(source.as_str()),
        RUN_DIR,
        NOTHING,
        MsFlags::MS_BIND,
        NOTHING,
    )
    .context("cannot mount the run directory")?;
    set_attributes(Path::new("/"), AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)
        .context("cannot make the host's files read-only")?;
    for writable in [WORK_DIR, RUN_DIR] {
        set_attributes(Path::new(writable), 0, 0, MOUNT_ATTR_RDONLY)
            .with_context(|| format!("cannot make {writable} writable"))?;
    }
    kernel_file_systems()?;
    std::env::set_current_dir(RUN_DIR)?;
    Ok(())
}

/// Separates the mounts: nothing that is mounted here afterwards is seen elsewhere.
fn part() -> Result<()> {
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(NOTHING, "/", NOTHING, flags, NOTHING).context("cannot part from the host's mounts")
}

/// Prepares a mount namespace in which only the kernel's own file systems matter.
pub fn prepare_for_probe() -> Result<()> {
    part()?;
    kernel_file_systems()
}

/// Mounts /proc and /sys of the new namespaces. A container may forbid a new /proc (mount_too_revealing()); the old one
/// still contains this process.
fn kernel_file_systems() -> Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    if mount(Some("proc"), PROC, Some("proc"), flags, NOTHING).is_err() {
        set_attributes(Path::new(PROC), AT_RECURSIVE, 0, MOUNT_ATTR_RDONLY)
            .context("cannot mount /proc")?;
    }
    let _ = mount(
        Some("sysfs"),
        "/sys",
        Some("sysfs"),
        flags | MsFlags::MS_RDONLY,
        NOTHING,
    );
    keep_sysctls()
}

/// Makes /proc/sys read-only except for `net`, which belongs to the network namespace: the other files belong to the
/// host's root, who may be running netwarp (test_perm() in proc_sysctl.c).
fn keep_sysctls() -> Result<()> {
    let (all, net) = ("/proc/sys", "/proc/sys/net");
    mount(Some(all), all, NOTHING, MsFlags::MS_BIND, NOTHING).context(all)?;
    mount(Some(net), net, NOTHING, MsFlags::MS_BIND, NOTHING).context(net)?;
    set_attributes(Path::new(all), 0, MOUNT_ATTR_RDONLY, 0).context(all)
}

/// mount_setattr(2)
fn set_attributes(path: &Path, flags: libc::c_int, set: u64, clear: u64) -> Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    let attributes = [set, clear, 0, 0];
    // SAFETY: path and attributes outlive the call, and the size given is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            attributes.as_ptr(),
            std::mem::size_of_val(&attributes),
        )
    };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).context("mount_setattr");
    }
    Ok(())
}

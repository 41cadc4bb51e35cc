//! The environment in which programs run in a machine: files, limits, signals. PATH and HOME are those of pid 1, which
//! gets them from its kernel's command line.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;

/// The longest file that a program may write: it must not fill the host's disk.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Starts a program in the network namespace of this thread, in `work_dir`, in a process group of its own. What it
/// prints goes into two files.
pub fn start(words: &[String], work_dir: &Path, stdout: &Path, stderr: &Path) -> Result<Child> {
    let (program, args) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::create(stdout)?)
        .stderr(File::create(stderr)?)
        .env("TMPDIR", work_dir)
        .current_dir(work_dir)
        .process_group(0);
    // SAFETY: between fork and exec only sigprocmask and setrlimit are called, which are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            // A generator's thread blocks all signals; a program gets them.
            SigSet::empty().thread_set_mask()?;
            let limit = libc::rlimit {
                rlim_cur: MAX_FILE_BYTES,
                rlim_max: MAX_FILE_BYTES,
            };
            if libc::setrlimit(libc::RLIMIT_FSIZE, &limit) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))
}

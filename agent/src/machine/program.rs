//! The environment in which programs run in a machine: files, limits, signals. PATH and HOME are those of pid 1, which
//! has them from its kernel's command line.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal, killpg};
use seccompiler::BpfProgram;

/// Home directory, for settings, of a program in a separate root.
pub const HOME: &str = "/root";
/// The longest file that a program may write: it must not fill the host's disk.
pub const MAX_FILE_BYTES: u64 = 256 << 20;
/// Length of the quoted end of a program's output.
const TAIL_BYTES: usize = 400;

/// Confinement of a program that is about to start: Landlock's rules and a filter of system calls, each if the host
/// supports it.
pub struct Rules {
    pub files: Option<OwnedFd>,
    pub calls: Option<BpfProgram>,
}

impl Rules {
    /// Confines this thread permanently: a few system calls, and no memory is allocated unless one fails.
    fn apply(&self) -> std::io::Result<()> {
        // SAFETY: both calls take integers and touch no memory.
        let is_refused = self.files.as_ref().is_some_and(|files| unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
                || libc::syscall(libc::SYS_landlock_restrict_self, files.as_raw_fd(), 0) < 0
        });
        if is_refused {
            return Err(std::io::Error::last_os_error());
        }
        match &self.calls {
            Some(calls) => seccompiler::apply_filter(calls).map_err(std::io::Error::other),
            None => Ok(()),
        }
    }
}

/// Directories in which a program starts and keeps temporary files, in the mount namespace `root` and under `rules`, if
/// there are any.
pub struct Place<'a> {
    pub directory: &'a Path,
    pub temporary: &'a Path,
    pub root: Option<&'a File>,
    pub rules: Option<&'static Rules>,
}

/// Starts a program in the network namespace of this thread, in a new process group, with its output in two files.
pub fn start(words: &[String], place: &Place, stdout: &Path, stderr: &Path) -> Result<Child> {
    let (program, args) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::create(stdout)?)
        .stderr(File::create(stderr)?)
        .env("TMPDIR", place.temporary)
        .process_group(0);
    let root = place.root.map(AsRawFd::as_raw_fd);
    match root {
        Some(_) => command.env("HOME", HOME),
        None => command.current_dir(place.directory),
    };
    let rules = place.rules;
    let directory = CString::new(place.directory.as_os_str().as_bytes())?;
    // SAFETY: between fork and exec only setns, unshare, open, mount, fchdir, chdir, sigprocmask, setrlimit, prctl,
    // landlock_restrict_self and seccomp are called, which are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            if let Some(root) = root {
                done(libc::setns(root, libc::CLONE_NEWNS))?;
                show_interfaces()?;
                done(libc::chdir(directory.as_ptr()))?;
            }
            // A generator's thread blocks all signals; a program gets them.
            SigSet::empty().thread_set_mask()?;
            let limit = libc::rlimit {
                rlim_cur: MAX_FILE_BYTES,
                rlim_max: MAX_FILE_BYTES,
            };
            if libc::setrlimit(libc::RLIMIT_FSIZE, &limit) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            rules.map_or(Ok(()), Rules::apply)
        });
    }
    command
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))
}

/// Gives this process a mount namespace in which /sys has the interfaces of its network namespace: they are those of the
/// process that mounted it. What is mounted below /sys stays. Allocates no memory.
fn show_interfaces() -> std::io::Result<()> {
    const SYS: &CStr = c"/sys";
    const BELOW: [&CStr; 2] = [c"/sys/fs/cgroup", c"/sys/fs/bpf"];
    let none: *const libc::c_char = std::ptr::null();
    let mut open = [0; BELOW.len()];
    // SAFETY: all strings are constants, and `data` may be null.
    unsafe {
        done(libc::unshare(libc::CLONE_NEWNS))?;
        for (place, fd) in BELOW.iter().zip(&mut open) {
            *fd = done(libc::open(place.as_ptr(), libc::O_PATH | libc::O_CLOEXEC))?;
        }
        let kind = c"sysfs".as_ptr();
        done(libc::mount(kind, SYS.as_ptr(), kind, 0, none.cast()))?;
        for (place, fd) in BELOW.iter().zip(open) {
            done(libc::fchdir(fd))?;
            let here = c".".as_ptr();
            done(libc::mount(
                here,
                place.as_ptr(),
                none,
                libc::MS_BIND,
                none.cast(),
            ))?;
        }
    }
    Ok(())
}

/// The result of a system call, or its error.
fn done(result: libc::c_int) -> std::io::Result<libc::c_int> {
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(result)
}

/// File for the standard error of a program whose standard output goes to `out`.
pub fn errors_of(out: &Path) -> PathBuf {
    out.with_extension("err")
}

/// Ends a program and the processes in its group.
pub fn end(child: &mut Child) {
    let group = nix::unistd::Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Describes how a program ended, with the end of its output.
pub fn describe_end(status: ExitStatus, out: &Path) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(libc::SIGXFSZ)) => {
            format!("it wrote more than {} MB", MAX_FILE_BYTES >> 20)
        }
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown".to_string(),
    };
    let tail = [errors_of(out), out.to_path_buf()]
        .iter()
        .map(|path| tail(path))
        .find(|t| !t.is_empty());
    tail.map_or(how.clone(), |t| format!("{how}: {t}"))
}

/// Returns the end of a file, on one line.
fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(TAIL_BYTES);
    String::from_utf8_lossy(&bytes[from..])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

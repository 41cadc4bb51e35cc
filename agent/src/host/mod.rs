//! The engine `host`: a lab in namespaces of this machine, in real time. One process supervises: it enters new
//! namespaces (user, mount, network, pid, UTS, IPC), starts the agent there as their first process, and ends it when
//! netwarp ends. With that process the kernel ends everything in its pid namespace, and with the last process the
//! namespaces disappear, with every interface, queue and sysctl in them.

mod enter;
pub mod mounts;
mod options;
mod probe;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use serde::Serialize;

pub use enter::Privilege;
pub use options::Options;
pub use probe::main as probe;

use crate::backend::{self, HOST};
use crate::end::End;
use crate::guard::{calls_of_programs, landlock_version, rules_of_programs};
use crate::init;
use crate::machine::program::Rules;
use crate::tools;

/// Interval of checking the time while nothing happens, in milliseconds.
const MOMENT: u16 = 200;

/// Priority that the processes of a run ask for: nice(1).
const NICE: i32 = -15;

/// How the run ended, as JSON on standard output.
#[derive(Serialize)]
struct Report {
    end: End,
    /// Exit code of the agent; 128 plus the signal's number if a signal ended it
    exit_status: i32,
    privilege: Privilege,
    /// Nice value of its processes: below 0 they precede others
    nice: i32,
    /// The version of Landlock that confined its programs; 0: none
    landlock: u32,
    real_s: f64,
    cpu_s: f64,
}

/// Runs a lab; with exit code 0, the report on standard output tells how it went.
pub fn main(options: &Options) -> ExitCode {
    let report = supervise(options).and_then(|report| Ok(serde_json::to_string(&report)?));
    match report {
        Ok(text) if writeln!(std::io::stdout(), "{text}").is_ok() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}

fn supervise(options: &Options) -> Result<Report> {
    let begin = Instant::now();
    // This comes first: a mount of the new namespace with a file open for writing cannot be made read-only.
    let console = File::create(options.dir.join("console.log")).context("console.log")?;
    let nice = go_before_others();
    let privilege = enter::namespaces(&options.run)?;
    // The closed pipe tells the agent that the supervisor is gone, if that happens before the agent asks for a signal.
    let (parent_ends, parent) = nix::unistd::pipe()?;
    // SAFETY: this process has one thread, so the child may do anything that it could.
    let child = match unsafe { fork() }.context("cannot start a process")? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop(parent);
            std::process::exit(first_process(options, &console, &parent_ends));
        }
    };
    drop(parent_ends);
    let end = watch(child, begin, options.time_limit)?;
    if end != End::Ended {
        // Everything else in its pid namespace ends with it.
        let _ = kill(child, Signal::SIGKILL);
    }
    let exit_status = match waitpid(child, None)? {
        WaitStatus::Exited(_, status) => status,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => -1,
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Report {
        end,
        exit_status,
        privilege,
        nice,
        landlock: landlock_version(),
        real_s: begin.elapsed().as_secs_f64(),
        cpu_s: cpu_us as f64 / 1e6,
    })
}

/// Asks for priority over usual processes, since a process that waits for the processor is late. Root may do so, and
/// users with RLIMIT_NICE. Returns what was granted.
pub fn go_before_others() -> i32 {
    // If sessions share the processor by turns (autogroups, sched(7)), nice applies only within the session.
    let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
    // SAFETY: both calls take integers and touch no memory.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        libc::getpriority(libc::PRIO_PROCESS, 0)
    }
}

/// Runs as the namespaces' first process; returns its exit status.
fn first_process(options: &Options, console: &File, parent_ends: &OwnedFd) -> i32 {
    let prepared = end_with(parent_ends)
        .and_then(|()| print_into(console))
        .and_then(|()| mounts::prepare(&options.dir))
        .and_then(|()| confine(&options.read));
    if let Err(e) = prepared {
        let text = serde_json::json!({"status": "failed", "reason": format!("{e:#}")});
        let _ = std::fs::write(options.dir.join("outcome.json"), text.to_string());
        return 1;
    }
    settle_environment(&options.search_path);
    tools::settle(options.tools.clone());
    i32::from(init::main(HOST) != ExitCode::SUCCESS)
}

/// Confines the programs that this process will start for a scenario: to the paths in `read`, to the run's private
/// parts of the file systems that are mounted now, and to a network namespace's address families; as far as the host
/// can.
pub fn confine(read: &[PathBuf]) -> Result<()> {
    backend::confine_programs(Rules {
        files: rules_of_programs(read)?,
        calls: calls_of_programs()?,
    });
    Ok(())
}

/// Sets the environment of this process, which has one thread, and of all that it starts. None of it comes from
/// netwarp's caller: that environment may contain secrets, and names of libraries (LD_PRELOAD) would affect results.
pub fn settle_environment(search_path: &str) {
    let names: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    // SAFETY: this process has one thread.
    unsafe {
        names.iter().for_each(|name| std::env::remove_var(name));
        std::env::set_var("PATH", search_path);
        std::env::set_var("HOME", mounts::HOME);
        if let Some(place) = tools::tables_of_the_machine() {
            std::env::set_var(tools::TC_DIRECTORY, place);
        }
    }
}

/// Makes this process end when its parent does, for whatever reason. The kernel forgets this at a change of
/// credentials, but none follows.
pub fn end_with(parent_ends: &OwnedFd) -> Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    let mut fds = [PollFd::new(parent_ends.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO)?;
    anyhow::ensure!(
        fds[0].revents().is_none_or(|events| events.is_empty()),
        "the supervisor ended before the run began"
    );
    Ok(())
}

/// Redirects standard output and error into the run directory, and empties standard input.
pub fn print_into(console: &File) -> Result<()> {
    nix::unistd::dup2_stdout(console)?;
    nix::unistd::dup2_stderr(console)?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

/// Waits until the process ends, its time is over, or standard input closes because netwarp ended.
fn watch(child: Pid, begin: Instant, time_limit: f64) -> Result<End> {
    let limit = Duration::from_secs_f64(time_limit.clamp(0.0, 1e9));
    let process = process_fd(child)?;
    let stdin = std::io::stdin();
    loop {
        let mut fds = [
            PollFd::new(process.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, MOMENT) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let [ended, told] = fds.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
        if ended {
            return Ok(End::Ended);
        }
        if told && std::io::stdin().read(&mut [0; 16]).unwrap_or(0) == 0 {
            return Ok(End::Cancelled);
        }
        if begin.elapsed() >= limit {
            return Ok(End::TimeLimit);
        }
    }
}

/// A descriptor that becomes readable when the process ends: pidfd_open(2).
pub fn process_fd(child: Pid) -> Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers; a non-negative result is a new descriptor that nothing else owns.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.as_raw(), 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0);
    let fd = fd
        .ok_or_else(std::io::Error::last_os_error)
        .context("pidfd_open")?;
    // SAFETY: `fd` is new and non-negative here, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

//! Keeps the run on this machine, in two processes beside the session's. The keeper starts the run, as the first
//! process of a pid namespace, and ends it. If the session dies, the keeper restores the machine; if the keeper dies,
//! the run dies with it and the session restores; if the run dies, both are there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::lock::remove_dir;
use super::state::State;
use crate::backend::{self, SSH};
use crate::host::{
    confine, end_with, go_before_others, mounts, print_into, process_fd, settle_environment,
};
use crate::init;
use crate::part::Own;

/// The keeper and the run, as the session sees them.
pub struct Keeper {
    pid: Pid,
    /// Readable when the keeper has ended.
    pub ended: OwnedFd,
    /// Carries signals of the run to the session, and its start to the run.
    pub run: File,
    /// Reports how the run ended; its other end tells the keeper that the session has ended.
    pub report: File,
}

/// The setting of a run: the machine's node, its interfaces, and the environment of programs.
pub struct Surroundings<'a> {
    pub node: &'a str,
    pub own: &'a BTreeMap<String, Own>,
    /// Paths that programs may read.
    pub read: &'a [PathBuf],
    pub search_path: &'a str,
}

impl Keeper {
    /// Starts both processes; `state` is what the keeper restores.
    pub fn start(dir: &Path, state: &State, around: &Surroundings) -> Result<Self> {
        let console = File::create(dir.join("console.log")).context("console.log")?;
        let pair = || {
            socketpair(
                AddressFamily::Unix,
                SockType::Stream,
                None,
                SockFlag::SOCK_CLOEXEC,
            )
        };
        let ((run, of_run), (report, of_report)) = (pair()?, pair()?);
        // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer. This process waits for children that the keeper leaves.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        // SAFETY: this process has one thread, so the child may do anything that it could.
        match unsafe { fork() }.context("cannot start a process")? {
            ForkResult::Parent { child } => Ok(Self {
                ended: process_fd(child)?,
                pid: child,
                run: run.into(),
                report: report.into(),
            }),
            ForkResult::Child => {
                drop((run, report));
                let code = keep(dir, state, around, &console, of_run, of_report);
                std::process::exit(i32::from(code.is_err()));
            }
        }
    }

    /// Tells the run its starting instant, or `STOP_RUN`. A run that has just died does not receive it, and its end is
    /// reported separately.
    pub fn tell_run(&mut self, order: i64) -> Result<()> {
        match self.run.write_all(&order.to_ne_bytes()) {
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Ok(())
            }
            written => Ok(written?),
        }
    }

    /// Ends both, and waits for all processes that they leave.
    pub fn end(mut self) {
        let _ = self.report.write_all(b"E");
        let mut fds = [PollFd::new(self.ended.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, 5000_u16).unwrap_or(0) == 0 {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
        reap();
    }
}

/// Waits for every child, and for orphans that children have left.
pub fn reap() {
    while !matches!(waitpid(Pid::from_raw(-1), None), Err(Errno::ECHILD)) {}
}

/// Runs the keeper to its end.
fn keep(
    dir: &Path,
    state: &State,
    around: &Surroundings,
    console: &File,
    of_run: OwnedFd,
    of_report: OwnedFd,
) -> Result<()> {
    go_before_others();
    let flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    // The keeper stays where it sees what it restores: only its child enters the namespaces.
    let (parent_ends, parent) = nix::unistd::pipe()?;
    unshare(CloneFlags::CLONE_NEWPID).context("this machine refuses a pid namespace")?;
    // SAFETY: this process has one thread.
    let child = match unsafe { fork() }? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop(parent);
            drop(of_report);
            let rest = flags & !CloneFlags::CLONE_NEWPID;
            let prepared = end_with(&parent_ends)
                .and_then(|()| print_into(console))
                .and_then(|()| unshare(rest).context("this machine refuses a mount namespace"))
                .and_then(|()| mounts::prepare(dir))
                .and_then(|()| confine(around.read));
            if let Err(e) = prepared {
                let text = serde_json::json!({"status": "failed", "reason": format!("{e:#}")});
                let _ = std::fs::write(dir.join("outcome.json"), text.to_string());
                std::process::exit(1);
            }
            run(around, of_run);
        }
    };
    drop(of_run);
    let process = process_fd(child)?;
    let mut report: File = of_report.into();
    let mut is_running = true;
    loop {
        let mut fds = [
            PollFd::new(report.as_fd(), PollFlags::POLLIN),
            PollFd::new(process.as_fd(), PollFlags::POLLIN),
        ];
        let watched = if is_running { 2 } else { 1 };
        match poll(&mut fds[..watched], PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let [told, ended] = fds.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
        if is_running && ended {
            is_running = false;
            let status = waitpid(child, None)?;
            let _ = report.write_all(&[exit_status(status)]);
        }
        if told {
            let mut order = [0];
            let alone = report.read(&mut order).unwrap_or(0) == 0;
            // The kernel ends everything in its pid namespace with this process.
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, None);
            if alone {
                state.restore();
                remove_dir(&state.dir);
                super::lock::forget();
            }
            return Ok(());
        }
    }
}

fn exit_status(status: WaitStatus) -> u8 {
    match status {
        WaitStatus::Exited(_, code) => code as u8,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32 as u8,
        _ => 255,
    }
}

/// Runs the run's first process to its end.
fn run(around: &Surroundings, of_run: OwnedFd) -> ! {
    settle_environment(around.search_path);
    backend::connect_ssh(of_run, around.node, around.own);
    let code = init::main(SSH);
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::backend::STOP_RUN;

    #[test]
    fn an_order_for_a_run_that_has_just_died_is_no_error() -> Result<()> {
        let (run, of_run) = UnixStream::pair()?;
        let (report, _of_report) = UnixStream::pair()?;
        let mut keeper = Keeper {
            pid: Pid::from_raw(1),
            ended: File::open("/dev/null")?.into(),
            run: OwnedFd::from(run).into(),
            report: OwnedFd::from(report).into(),
        };
        keeper.tell_run(STOP_RUN)?;
        drop(of_run);
        keeper.tell_run(STOP_RUN)
    }
}

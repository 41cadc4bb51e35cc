//! A process that outlives the guard for a moment, so that nothing of the machine does: a compromised kernel can start
//! processes that the host's kernel does not end with their parent (PR_SET_PDEATHSIG is not inherited).
//!
//! The keeper leads the process group of the machine, which nothing in it can leave (syscalls.rs). It ends this group
//! when the guard is gone, and the guard ends it when the keeper is gone. If the guard may make a pid namespace, which
//! takes root, the keeper is its first process, and the host's kernel ends all others with it: then it does not matter
//! which process is killed first. A user namespace would allow that to ordinary users, but in one the files of the host
//! have other owners, which programs of a lab see.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpgid, getpid, setpgid, setsid};

use super::surroundings::explain;

/// The keeper's process id in its pid namespace.
const FIRST: Pid = Pid::from_raw(1);

/// The process group of a machine.
pub struct Keeper {
    process: Pid,
    /// Becomes readable when the keeper ends; at its other end the keeper sees the guard's end.
    end: OwnedFd,
    has_namespace: bool,
}

impl Keeper {
    /// Starts the keeper. `rubbish` are directories that it removes if the guard cannot. Called before there is
    /// anything that the keeper would inherit; what the guard starts afterwards is in the pid namespace, too.
    pub fn start(rubbish: &[&Path]) -> Result<Self> {
        let has_namespace = unshare(CloneFlags::CLONE_NEWPID).is_ok();
        let (end, other) = socketpair(
            AddressFamily::Unix,
            SockType::Stream,
            None,
            SockFlag::SOCK_CLOEXEC,
        )?;
        // SAFETY: the guard has one thread, so the child may do anything that the guard could.
        let process = match unsafe { fork() }.context("cannot start the keeper")? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                drop(end);
                keep(&other, rubbish)
            }
        };
        // Parent and child both do this, and the first succeeds.
        let led = setpgid(process, process).or_else(|error| match getpgid(Some(process)) {
            Ok(group) if group == process => Ok(()),
            _ => Err(error),
        });
        if let Err(error) = led {
            // Without a group nothing could end what the machine starts.
            let _ = kill(process, Signal::SIGKILL);
            let _ = waitpid(process, None);
            bail!(explain("setpgid", &error.into()));
        }
        Ok(Self {
            process,
            end,
            has_namespace,
        })
    }

    /// The group's id for the processes that join it.
    pub fn group(&self) -> Pid {
        match self.has_namespace {
            true => FIRST,
            false => self.process,
        }
    }

    /// Becomes readable when the keeper is gone.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Ends the group: the machine's kernel, the processes in which its programs run, and the keeper.
    pub fn kill(&self) {
        // The process id is the keeper's until it has been waited for.
        let _ = killpg(self.process, Signal::SIGKILL);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.kill();
        // A hostile machine also creates children of the guard (CLONE_PARENT), some with a signal other than SIGCHLD
        // (__WALL). The first process of a namespace is not gone before they have been waited for.
        while let Ok(ended) = waitpid(None, Some(WaitPidFlag::__WALL))
            && ended.pid() != Some(self.process)
        {}
    }
}

/// Runs the keeper to its end.
fn keep(end: &OwnedFd, rubbish: &[&Path]) -> ! {
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    // A signal that ends the guard must not end the keeper first. Nothing has to wait for the machine's remains.
    let _ = SigSet::all().thread_set_mask();
    // SAFETY: signal() only sets a disposition.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    close_all_but(end);
    let mut guard = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
    while poll(&mut guard, PollTimeout::NONE) == Err(Errno::EINTR) {}
    let group = getpid();
    // SAFETY: this process has one thread.
    if let Ok(ForkResult::Child) = unsafe { fork() } {
        // The child leaves the group, so as to clean up after its end.
        let _ = setsid();
        let _ = killpg(group, Signal::SIGKILL);
        for directory in rubbish {
            let _ = std::fs::remove_dir_all(directory);
        }
        std::process::exit(0);
    }
    // The child ends this process before itself, unless this is the first process of a namespace.
    let _ = waitpid(Pid::from_raw(-1), None);
    let _ = killpg(group, Signal::SIGKILL);
    std::process::exit(0);
}

/// Closes the guard's streams, so that they end with the guard.
fn close_all_but(kept: &OwnedFd) {
    let kept = kept.as_raw_fd() as u32;
    for (first, last) in [(0, kept.saturating_sub(1)), (kept + 1, u32::MAX)] {
        // SAFETY: nothing in this process uses these descriptors any more.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

//! What outlives the guard for a moment, so that nothing of the machine does: a kernel that was taken over can start
//! processes that the kernel of the host does not end with their parent (PR_SET_PDEATHSIG is not inherited).
//!
//! The keeper leads the process group of the machine, which nothing in it can leave (syscalls.rs). It ends this group when
//! the guard is gone, and the guard ends it when the keeper is gone. Where the guard may make a pid namespace, which takes
//! root, the keeper is its first process, with which the host's kernel ends all others: then it does not matter who is
//! killed, and in which order. A user namespace would allow that to ordinary users, but in one the files of the host have
//! other owners, which programs of a lab see.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, setpgid, setsid};

/// The keeper's own number in a namespace of its own.
const FIRST: Pid = Pid::from_raw(1);

/// The process group of a machine.
pub struct Keeper {
    process: Pid,
    /// Ends when the keeper does, and the other way round.
    end: OwnedFd,
    has_namespace: bool,
}

impl Keeper {
    /// `rubbish` are directories that the keeper removes if the guard cannot. To be called before there is anything that
    /// the keeper would inherit; what the guard starts afterwards is in the pid namespace, too.
    pub fn start(rubbish: &[&Path]) -> Result<Self> {
        let has_namespace = unshare(CloneFlags::CLONE_NEWPID).is_ok();
        let (end, other) = socketpair(
            AddressFamily::Unix,
            SockType::Stream,
            None,
            SockFlag::SOCK_CLOEXEC,
        )?;
        // SAFETY: the guard has one thread, so the child may do all that it could.
        let process = match unsafe { fork() }.context("cannot start the keeper")? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                drop(end);
                keep(&other, rubbish)
            }
        };
        // Whoever comes first: the machine joins the group.
        let _ = setpgid(process, process);
        Ok(Self {
            process,
            end,
            has_namespace,
        })
    }

    /// The group, as those who are to join it name it.
    pub fn group(&self) -> Pid {
        match self.has_namespace {
            true => FIRST,
            false => self.process,
        }
    }

    /// Readable when the keeper is gone.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Ends the group: the machine's kernel, the processes in which its programs run, and the keeper.
    pub fn kill(&self) {
        // Its number is the keeper's as long as that has not been waited for.
        let _ = killpg(self.process, Signal::SIGKILL);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.kill();
        // A hostile machine makes children of the guard's, too (CLONE_PARENT), and with a signal other than SIGCHLD (__WALL).
        // The first process of a namespace is not gone before they have been waited for.
        while let Ok(ended) = waitpid(None, Some(WaitPidFlag::__WALL))
            && ended.pid() != Some(self.process)
        {}
    }
}

/// The keeper's life.
fn keep(end: &OwnedFd, rubbish: &[&Path]) -> ! {
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    // What ends the guard by a signal is not to end the keeper first. What is left of the machine needs nobody to wait.
    let _ = SigSet::all().thread_set_mask();
    // SAFETY: sets a disposition.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    close_all_but(end);
    let mut guard = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
    while poll(&mut guard, PollTimeout::NONE) == Err(Errno::EINTR) {}
    let group = getpid();
    // SAFETY: this process has one thread.
    if let Ok(ForkResult::Child) = unsafe { fork() } {
        // Out of the group, so as to clean up after it.
        let _ = setsid();
        let _ = killpg(group, Signal::SIGKILL);
        for directory in rubbish {
            let _ = std::fs::remove_dir_all(directory);
        }
        std::process::exit(0);
    }
    // Until the child is gone, which ends this process before, unless it is the first of a namespace.
    let _ = waitpid(Pid::from_raw(-1), None);
    let _ = killpg(group, Signal::SIGKILL);
    std::process::exit(0);
}

/// The guard's streams end with the guard.
fn close_all_but(kept: &OwnedFd) {
    let kept = kept.as_raw_fd() as u32;
    for (first, last) in [(0, kept.saturating_sub(1)), (kept + 1, u32::MAX)] {
        // SAFETY: nothing in this process uses these descriptors any more.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

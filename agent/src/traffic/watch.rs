//! The descriptors that a thread waits for.

use std::os::fd::{BorrowedFd, RawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Events that are taken with one system call.
const EVENTS: usize = 64;

/// The descriptors that a thread waits for.
pub struct Watch {
    epoll: Epoll,
}

impl Watch {
    pub fn new() -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll")?;
        Ok(Self { epoll })
    }

    /// Adds a descriptor, by which `wait` names it.
    pub fn add(&self, fd: RawFd, flags: EpollFlags) -> Result<()> {
        // SAFETY: the descriptor is open during this call; closing it later takes it out of the set.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        (self.epoll.add(borrowed, EpollEvent::new(flags, fd as u64))).context("epoll")
    }

    /// Waits for events, and returns descriptors with their events.
    pub fn wait(&self) -> Result<Vec<(RawFd, EpollFlags)>> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = loop {
            match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                waited => break waited.context("epoll")?,
            }
        };
        let found = events.iter().take(count);
        Ok(found
            .map(|event| (event.data() as RawFd, event.events()))
            .collect())
    }
}

//! The receiving end of an open-loop flow: it accepts every connection, and takes and discards its bytes as they arrive.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, recv};

use super::arrivals::{Arrival, HEAD, number_in};
use super::shared::Shared;
use crate::time::monotonic_ns;
use crate::traffic::connection::Listener;
use crate::traffic::tcp;
use crate::traffic::threads::lock;
use crate::traffic::watch::Watch;

/// A connection whose transfer is not complete.
struct Incoming {
    socket: OwnedFd,
    /// The bytes with which it begins, as far as they have arrived.
    head: Vec<u8>,
    /// Number and bytes yet to come, once the head has arrived.
    rest: Option<(usize, u64)>,
}

pub struct Sink {
    listener: Listener,
    watch: Watch,
    shared: Shared,
    open: HashMap<RawFd, Incoming>,
}

impl Sink {
    pub fn new(listener: Listener, shared: Shared) -> Result<Self> {
        fcntl(&listener.socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("listener")?;
        let watch = Watch::new()?;
        watch.add(listener.socket.as_raw_fd(), EpollFlags::EPOLLIN)?;
        Ok(Self {
            listener,
            watch,
            shared,
            open: HashMap::new(),
        })
    }

    /// Serves all connections, until the machine ends.
    pub fn run(mut self) -> Result<()> {
        loop {
            for (fd, _) in self.watch.wait()? {
                if fd == self.listener.socket.as_raw_fd() {
                    self.accept()?;
                } else if self.is_over(fd)? {
                    self.open.remove(&fd);
                }
            }
        }
    }

    fn accept(&mut self) -> Result<()> {
        while let Some(socket) = self.listener.accept_now()? {
            let fd = socket.as_raw_fd();
            self.watch.add(
                fd,
                EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET,
            )?;
            let incoming = Incoming {
                socket,
                head: Vec::new(),
                rest: None,
            };
            self.open.insert(fd, incoming);
        }
        Ok(())
    }

    /// Takes what has arrived on a connection; true if nothing more is to come.
    fn is_over(&mut self, fd: RawFd) -> Result<bool> {
        let Some(incoming) = self.open.get_mut(&fd) else {
            return Ok(false);
        };
        let (taken, over) = incoming.take(&self.shared.arrivals)?;
        let mut progress = lock(&self.shared.progress);
        progress.received_bytes += taken;
        if let Some((number, 0)) = incoming.rest
            && let Some(end_ns) = progress.ends_ns.get_mut(number)
        {
            *end_ns = Some(monotonic_ns() - self.shared.t0_ns);
        }
        Ok(over)
    }
}

impl Incoming {
    /// Takes all bytes that are there: their number, and whether the transfer or the connection is over.
    fn take(&mut self, arrivals: &[Arrival]) -> Result<(u64, bool)> {
        let mut taken = 0;
        if self.rest.is_none() {
            taken = match self.take_head(arrivals)? {
                Some(got) => got,
                None => return Ok((0, true)),
            };
        }
        let Some((_, left)) = &mut self.rest else {
            return Ok((taken, false));
        };
        while *left > 0 {
            match tcp::discard_some(self.socket.as_raw_fd(), *left) {
                Ok(0) => return Ok((taken, true)),
                Ok(got) => (taken, *left) = (taken + got, *left - got),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok((taken, false)),
                // The connection failed, as when TCP has given up: the transfer stays incomplete.
                Err(_) => return Ok((taken, true)),
            }
        }
        Ok((taken, true))
    }

    /// Takes the bytes with which the transfer begins; None if the connection ended before.
    fn take_head(&mut self, arrivals: &[Arrival]) -> Result<Option<u64>> {
        let mut room = [0; HEAD as usize];
        let missing = &mut room[self.head.len()..];
        match recv(self.socket.as_raw_fd(), missing, MsgFlags::empty()) {
            Ok(0) => return Ok(None),
            Ok(got) => self.head.extend_from_slice(&missing[..got]),
            Err(Errno::EAGAIN) => return Ok(Some(0)),
            Err(_) => return Ok(None),
        }
        if let Ok(head) = <[u8; HEAD as usize]>::try_from(self.head.as_slice()) {
            let number = number_in(head);
            let arrival = arrivals
                .get(number)
                .context("a transfer that the plan lacks")?;
            self.rest = Some((number, arrival.bytes - HEAD));
        }
        Ok(Some(self.head.len() as u64))
    }
}

//! Connections beyond those that have a thread each: one thread serves them all by epoll(7).

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, recv};

use super::arrivals::HEAD;
use super::shared::{Shared, Taken};
use crate::traffic::tcp;
use crate::traffic::threads::lock;
use crate::traffic::watch::Watch;

/// A connection whose transfer is not complete.
struct Incoming {
    socket: OwnedFd,
    /// The bytes with which it begins, as far as they have arrived.
    head: Vec<u8>,
    /// Number and bytes of the transfer, once the head has arrived.
    transfer: Option<(usize, u64)>,
    taken: u64,
}

pub struct Crowd {
    watch: Watch,
    shared: Shared,
    open: Mutex<HashMap<RawFd, Incoming>>,
}

impl Crowd {
    pub fn new(shared: Shared) -> Result<Self> {
        Ok(Self {
            watch: Watch::new()?,
            shared,
            open: Mutex::default(),
        })
    }

    /// Adds a connection from which nothing has been read.
    pub fn add(&self, socket: OwnedFd) -> Result<()> {
        fcntl(&socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("connection")?;
        let fd = socket.as_raw_fd();
        let incoming = Incoming {
            socket,
            head: Vec::new(),
            transfer: None,
            taken: 0,
        };
        lock(&self.open).insert(fd, incoming);
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.watch.add(fd, flags)
    }

    /// Serves all connections, until the machine ends.
    pub fn run(&self) -> Result<()> {
        loop {
            for (fd, _) in self.watch.wait()? {
                self.advance(fd)?;
            }
        }
    }

    /// Takes what has arrived on a connection, and closes it if nothing more is to come.
    fn advance(&self, fd: RawFd) -> Result<()> {
        let mut open = lock(&self.open);
        let Some(incoming) = open.get_mut(&fd) else {
            return Ok(());
        };
        if incoming.is_over(&self.shared)? {
            self.shared.taken(fd, incoming.taken());
            open.remove(&fd);
        }
        Ok(())
    }
}

impl Incoming {
    /// Takes all bytes that are there; true if the transfer or the connection is over.
    fn is_over(&mut self, shared: &Shared) -> Result<bool> {
        let fd = self.socket.as_raw_fd();
        if self.transfer.is_none() && !self.take_head(shared)? {
            return Ok(true);
        }
        let Some((_, bytes)) = self.transfer else {
            return Ok(false);
        };
        while self.taken < bytes {
            match tcp::discard_some(fd, bytes - self.taken) {
                Ok(0) => return Ok(true),
                Ok(got) => self.taken += got,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                // The connection failed, as when TCP has given up: the transfer stays incomplete.
                Err(_) => return Ok(true),
            }
        }
        Ok(true)
    }

    /// Takes the bytes with which the transfer begins; false if the connection ended before.
    fn take_head(&mut self, shared: &Shared) -> Result<bool> {
        let mut room = [0; HEAD as usize];
        let missing = &mut room[self.head.len()..];
        match recv(self.socket.as_raw_fd(), missing, MsgFlags::empty()) {
            Ok(0) => return Ok(false),
            Ok(got) => self.head.extend_from_slice(&missing[..got]),
            Err(Errno::EAGAIN) => return Ok(true),
            Err(_) => return Ok(false),
        }
        self.taken = self.head.len() as u64;
        if let Ok(head) = self.head.as_slice().try_into() {
            self.transfer = Some(shared.transfer(head)?);
        }
        Ok(true)
    }

    fn taken(&self) -> Taken {
        let complete = self.transfer.filter(|&(_, bytes)| bytes == self.taken);
        Taken {
            bytes: self.taken,
            complete: complete.map(|(number, _)| number),
        }
    }
}

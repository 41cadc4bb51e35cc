//! The ports of clients that open one connection after another.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{SockaddrStorage, connect, setsockopt, sockopt};

use super::connection::Opening;

/// The ports of connections, one after the other: all above those at which flows listen. The kernel would choose among
/// fewer, at random, so that two connections of a run would soon have the same five-tuple.
const PORTS: std::ops::RangeInclusive<u16> = 16_384..=65_535;

/// Opens the connections of a client, each from a different port.
pub struct Ports {
    opening: Opening,
    local: IpAddr,
    to: SocketAddr,
    next: u16,
}

impl Ports {
    pub fn new(opening: Opening, local: IpAddr, to: SocketAddr) -> Self {
        Self {
            opening,
            local,
            to,
            next: *PORTS.start(),
        }
    }

    /// A socket that has sent its SYN, from the next port that is free, in the namespace of this thread. It does not
    /// block.
    pub fn connecting(&mut self) -> Result<OwnedFd> {
        let mut error = Errno::EADDRNOTAVAIL;
        for _ in PORTS {
            let port = self.next;
            self.next = port.checked_add(1).unwrap_or(*PORTS.start());
            let socket = match self.opening.socket(SocketAddr::new(self.local, port)) {
                Ok(socket) => socket,
                Err(e) if e.downcast_ref() == Some(&Errno::EADDRINUSE) => continue,
                Err(e) => return Err(e),
            };
            fcntl(&socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
            match connect(socket.as_raw_fd(), &SockaddrStorage::from(self.to)) {
                Ok(()) | Err(Errno::EINPROGRESS) => return Ok(socket),
                Err(e @ (Errno::EADDRNOTAVAIL | Errno::EADDRINUSE)) => error = e,
                Err(e) => return Err(e).with_context(|| format!("cannot connect to {}", self.to)),
            }
        }
        Err(error).with_context(|| {
            format!(
                "all {} ports of {} have connections",
                PORTS.len(),
                self.local
            )
        })
    }
}

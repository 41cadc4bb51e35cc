//! TCP as the generators use it: a pair of sockets, and transfers of whole gigabytes with one system call each.
//!
//! A system call costs more than a packet does. One `sendmsg` hands the kernel a gigabyte (one small buffer many times
//! over); one `recv` with MSG_WAITALL and MSG_TRUNC takes a gigabyte and throws it away. Both sleep inside the kernel,
//! where the receiver still reads every segment as it comes: nothing is held back, and the receive window grows as it
//! would for any eager reader.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::sys::socket::{Backlog, SockType, SockaddrStorage, listen};

use super::socket::{bound, set_congestion_control};
use crate::lab::Flow;
use crate::network::Network;

const CHUNK: usize = 1 << 20;
const CHUNKS: usize = 1024;
/// As much as one system call moves.
pub const MOST: u64 = (CHUNK * CHUNKS) as u64;

/// Sockets at the two ends of a flow: a listener at its destination, one not yet connected at its source.
pub struct Ends {
    pub listener: OwnedFd,
    pub client: OwnedFd,
    pub to: SocketAddr,
}

/// Opens both; the congestion control is that of both directions.
pub fn open(network: &Network, flow: &Flow, cc: Option<&str>) -> Result<Ends> {
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let from = SocketAddr::new(flow.source, flow.source_port);
    let socket = |local: SocketAddr| -> Result<OwnedFd> {
        let socket = bound(local, SockType::Stream)?;
        if let Some(name) = cc {
            set_congestion_control(&socket, name)?;
        }
        Ok(socket)
    };
    let listener = network.node(&flow.to)?.run(|| -> Result<OwnedFd> {
        let listener = socket(to)?;
        listen(&listener, Backlog::new(8)?)?;
        Ok(listener)
    })??;
    let client = network.node(&flow.from)?.run(|| socket(from))??;
    Ok(Ends {
        listener,
        client,
        to,
    })
}

/// Connects, sleeping until the peer has answered.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> Result<()> {
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to))
        .with_context(|| format!("cannot connect to {to}"))
}

/// Something to send: its content is of no interest.
pub struct Zeros {
    chunk: Vec<u8>,
}

impl Zeros {
    pub fn new() -> Self {
        Self {
            chunk: vec![0; CHUNK],
        }
    }

    /// Sends at most `left` and at most MOST bytes with one system call; returns how many it took.
    pub fn send(&self, socket: RawFd, left: u64) -> std::io::Result<u64> {
        let mut room = left.min(MOST) as usize;
        let mut parts = Vec::with_capacity(room.div_ceil(CHUNK));
        while room > 0 {
            let len = room.min(CHUNK);
            parts.push(libc::iovec {
                iov_base: self.chunk.as_ptr().cast_mut().cast(),
                iov_len: len,
            });
            room -= len;
        }
        // SAFETY: an all-zero msghdr is valid; the kernel only reads the parts, all of which lie within the chunk.
        let sent = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len();
            libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL)
        };
        u64::try_from(sent).map_err(|_| std::io::Error::last_os_error())
    }

    /// Sends all of `bytes`.
    pub fn send_all(&self, socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
        while bytes > 0 {
            bytes -= self.send(socket, bytes)?;
        }
        Ok(())
    }
}

/// Takes exactly `bytes`, or fewer when the stream ends; returns how many.
pub fn discard(socket: RawFd, bytes: u64) -> u64 {
    let mut taken = 0;
    while taken < bytes {
        let most = (bytes - taken).min(MOST) as usize;
        // SAFETY: with MSG_TRUNC TCP discards instead of copying (tcp(7)); no memory is written.
        let got = unsafe {
            libc::recv(
                socket,
                std::ptr::null_mut(),
                most,
                libc::MSG_TRUNC | libc::MSG_WAITALL,
            )
        };
        match u64::try_from(got) {
            Ok(got) if got > 0 => taken += got,
            _ => break,
        }
    }
    taken
}

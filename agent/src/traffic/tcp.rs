//! TCP as the generators use it: a pair of sockets, and transfers of many megabytes with one system call each.
//!
//! A system call costs more than a packet does. One `sendmsg` hands the kernel four megabytes (one small buffer many
//! times over); one `recv` with MSG_WAITALL and MSG_TRUNC takes a gigabyte and throws it away. Both sleep inside the
//! kernel, where the receiver still reads every segment as it comes: nothing is held back, and the receive window grows
//! as it would for any eager reader.
//!
//! All flows share one buffer. Each page of memory that a program has touched is one mapping of the host's process in
//! which it runs, and the host grants a process few of those (vm.max_map_count, 65,530).

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::sys::socket::{Backlog, SockType, SockaddrStorage, listen};

use super::socket::{bound, set_congestion_control};
use crate::lab::Flow;
use crate::network::Network;

const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 64;
/// As much as one `sendmsg` moves.
const MAX_SENT: u64 = (CHUNK * CHUNKS) as u64;
/// As much as one `recv` takes.
const MAX_TAKEN: u64 = 1 << 30;
/// What is sent: its content is of no interest.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Sockets at the two ends of a flow: a listener at its destination, one not yet connected at its source.
pub struct Ends {
    pub listener: OwnedFd,
    pub client: OwnedFd,
    pub to: SocketAddr,
}

/// Opens both; the congestion control is that of both directions.
pub fn open(network: &Network, flow: &Flow, cc: Option<&str>) -> Result<Ends> {
    let (listener, to) = listener(network, flow, cc, 8)?;
    let client = client(network, flow, cc, flow.source_port)?;
    Ok(Ends {
        listener,
        client,
        to,
    })
}

/// What listens at a flow's destination, for so many connections at once, and where that is.
pub fn listener(
    network: &Network,
    flow: &Flow,
    cc: Option<&str>,
    connections: i32,
) -> Result<(OwnedFd, SocketAddr)> {
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let listener = network.node(&flow.to)?.run(|| -> Result<OwnedFd> {
        let listener = socket(to, cc)?;
        listen(&listener, Backlog::new(connections)?)?;
        Ok(listener)
    })??;
    Ok((listener, to))
}

/// A socket at a flow's source, not yet connected; port 0: the kernel chooses one.
pub fn client(network: &Network, flow: &Flow, cc: Option<&str>, port: u16) -> Result<OwnedFd> {
    let from = SocketAddr::new(flow.source, port);
    network.node(&flow.from)?.run(|| socket(from, cc))?
}

fn socket(local: SocketAddr, cc: Option<&str>) -> Result<OwnedFd> {
    let socket = bound(local, SockType::Stream)?;
    if let Some(name) = cc {
        set_congestion_control(&socket, name)?;
    }
    Ok(socket)
}

/// Connects, sleeping until the peer has answered.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> Result<()> {
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to))
        .with_context(|| format!("cannot connect to {to}"))
}

/// Sends `bytes` zeros.
pub fn send_zeros(socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
    while bytes > 0 {
        bytes -= send_some(socket, bytes.min(MAX_SENT))?;
    }
    Ok(())
}

/// Sends at most `room` zeros with one system call; returns how many it took.
fn send_some(socket: RawFd, room: u64) -> std::io::Result<u64> {
    let mut left = room as usize;
    let parts: [libc::iovec; CHUNKS] = std::array::from_fn(|_| {
        let len = left.min(CHUNK);
        left -= len;
        libc::iovec {
            iov_base: ZEROS.as_ptr().cast_mut().cast(),
            iov_len: len,
        }
    });
    // SAFETY: an all-zero msghdr is valid; the kernel only reads the parts, all of which lie within ZEROS.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = parts.as_ptr().cast_mut();
        message.msg_iovlen = (room as usize).div_ceil(CHUNK);
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL)
    };
    u64::try_from(sent).map_err(|_| std::io::Error::last_os_error())
}

/// Takes exactly `bytes`, or fewer when the stream ends; returns how many.
pub fn discard(socket: RawFd, bytes: u64) -> u64 {
    let mut taken = 0;
    while taken < bytes {
        let most = (bytes - taken).min(MAX_TAKEN) as usize;
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

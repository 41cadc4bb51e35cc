//! TCP as the generators use it: a pair of sockets, and transfers of many megabytes with one system call each.
//!
//! A system call costs more than a packet does. One `sendmsg` hands the kernel four megabytes (one small buffer many
//! times over); one `recv` with MSG_WAITALL and MSG_TRUNC takes a gigabyte and discards it. Both sleep inside the
//! kernel, where the receiver still reads every segment when it arrives: nothing is held back, and the receive window
//! grows as for any eager reader.
//!
//! All flows share one buffer. Each page of memory that a program has touched is a mapping of its process on the host,
//! and the host grants a process few mappings (vm.max_map_count, 65,530).

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::sys::socket::{Backlog, SockType, SockaddrStorage, accept, listen, setsockopt, sockopt};

use super::generator::Setup;
use super::options;
use super::socket::{bound, set_congestion_control};
use crate::lab::SocketOption;

const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 64;
/// Maximum that one `sendmsg` sends.
pub const MAX_SENT: u64 = (CHUNK * CHUNKS) as u64;
/// Maximum that one `recv` takes.
const MAX_TAKEN: u64 = 1 << 30;
/// Data to send, whose content does not matter.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Sockets at the two ends of a flow: a listener at its destination, one not yet connected at its source. None: the end
/// is on another machine.
pub struct Ends {
    pub listener: Option<Listener>,
    pub client: Option<OwnedFd>,
    pub to: SocketAddr,
}

/// A listening socket of a flow.
pub struct Listener {
    pub socket: OwnedFd,
    options: Vec<SocketOption>,
}

impl Listener {
    /// Takes the next connection.
    pub fn accept(&self) -> Result<RawFd> {
        let fd = accept(self.socket.as_raw_fd()).context("accept")?;
        self.prepare(fd)?;
        Ok(fd)
    }

    /// Gives a connection that was taken the flow's options again: it does not inherit all (SO_PRIORITY,
    /// sk_clone_lock()).
    pub fn prepare(&self, connection: RawFd) -> Result<()> {
        options::set(connection, &self.options)
    }
}

/// Opens both; the congestion control applies to both directions.
pub fn open(setup: &Setup, cc: Option<&str>) -> Result<Ends> {
    let (listener, to) = listener(setup, cc, 8)?;
    let client = client(setup, cc, setup.flow.source_port)?;
    Ok(Ends {
        listener,
        client,
        to,
    })
}

/// Opens a listener at a flow's destination for `backlog` connections at once; returns it with its address.
pub fn listener(
    setup: &Setup,
    cc: Option<&str>,
    connections: i32,
) -> Result<(Option<Listener>, SocketAddr)> {
    let to = SocketAddr::new(setup.flow.destination, setup.flow.destination_port);
    let open = || -> Result<Listener> {
        let socket = Opening::new(setup, cc).socket(to)?;
        listen(&socket, Backlog::new(connections)?)?;
        let options = setup.flow.sockets.clone();
        Ok(Listener { socket, options })
    };
    let listener = setup
        .destination()
        .map(|node| node.run(open)?)
        .transpose()?;
    Ok((listener, to))
}

/// Opens a socket at a flow's source, not yet connected; port 0: the kernel chooses one.
pub fn client(setup: &Setup, cc: Option<&str>, port: u16) -> Result<Option<OwnedFd>> {
    let from = SocketAddr::new(setup.flow.source, port);
    setup
        .source()
        .map(|node| node.run(|| Opening::new(setup, cc).socket(from))?)
        .transpose()
}

/// What all sockets of a flow have in common.
#[derive(Clone)]
pub struct Opening {
    cc: Option<String>,
    options: Vec<SocketOption>,
    /// Whether the machine goes on when the run has ended.
    outlived: bool,
}

impl Opening {
    pub fn new(setup: &Setup, cc: Option<&str>) -> Self {
        Self {
            cc: cc.map(str::to_owned),
            options: setup.flow.sockets.clone(),
            outlived: setup.network.backend.outlives_runs(),
        }
    }

    /// Opens a socket in the namespace of this thread, bound to `local` and not yet connected.
    pub fn socket(&self, local: SocketAddr) -> Result<OwnedFd> {
        let socket = bound(local, SockType::Stream)?;
        if self.outlived {
            // A connection that remains when its process ends would hold its ports, so it is reset. Accepted connections
            // inherit this.
            let at_once = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            setsockopt(&socket, sockopt::Linger, &at_once)?;
        }
        if let Some(name) = &self.cc {
            set_congestion_control(&socket, name)?;
        }
        options::set(socket.as_raw_fd(), &self.options)?;
        Ok(socket)
    }
}

/// Connects, sleeping until the peer has answered; false if it never did.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> Result<bool> {
    let connected = nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to));
    is_answered(connected.map_err(Into::into)).with_context(|| format!("cannot connect to {to}"))
}

/// Whether the peer answered, or did not for as long as TCP retransmits (ETIMEDOUT): loss in the network is a result of
/// the run and not an error.
pub fn is_answered(done: std::io::Result<()>) -> std::io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::ETIMEDOUT) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Sends `bytes` zeros.
pub fn send_zeros(socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
    while bytes > 0 {
        bytes -= send_some(socket, bytes.min(MAX_SENT))?;
    }
    Ok(())
}

/// Sends at most `room` zeros with one system call; returns how many were taken.
pub fn send_some(socket: RawFd, room: u64) -> std::io::Result<u64> {
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

/// Takes exactly `bytes`, or fewer when the stream ends or fails; returns the number.
pub fn discard(socket: RawFd, bytes: u64) -> u64 {
    let mut taken = 0;
    while taken < bytes {
        match discard_some(socket, bytes - taken) {
            Ok(got) if got > 0 => taken += got,
            _ => break,
        }
    }
    taken
}

/// Takes exactly `bytes`. Fails if the stream ends early.
pub fn discard_all(socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
    while bytes > 0 {
        match discard_some(socket, bytes)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            got => bytes -= got,
        }
    }
    Ok(())
}

/// Takes at most `room` bytes with one system call; returns the number, 0 at the end of the stream.
pub fn discard_some(socket: RawFd, room: u64) -> std::io::Result<u64> {
    // SAFETY: with MSG_TRUNC TCP discards instead of copying (tcp(7)); no memory is written.
    let got = unsafe {
        libc::recv(
            socket,
            std::ptr::null_mut(),
            room.min(MAX_TAKEN) as usize,
            libc::MSG_TRUNC | libc::MSG_WAITALL,
        )
    };
    u64::try_from(got).map_err(|_| std::io::Error::last_os_error())
}

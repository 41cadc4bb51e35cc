//! Connections of the generators: a pair of sockets, a listener at the flow's destination and one that connects to it.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{
    Backlog, Shutdown, SockFlag, SockType, SockaddrStorage, accept4, listen, setsockopt, shutdown,
    sockopt,
};

use super::generator::Setup;
use super::options;
use super::socket::{bound, bound_mptcp, bound_sctp, set_congestion_control, set_streams};
use super::tcp;
use crate::lab::SocketOption;

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
        // A program that a command flow starts meanwhile does not keep the connection open.
        let fd = accept4(self.socket.as_raw_fd(), SockFlag::SOCK_CLOEXEC).context("accept")?;
        self.prepare(fd)?;
        Ok(fd)
    }

    /// Takes the next connection of a listener that does not block, as a socket that does not either; None if no peer has
    /// connected.
    pub fn accept_now(&self) -> Result<Option<OwnedFd>> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = loop {
            match accept4(self.socket.as_raw_fd(), flags) {
                Ok(fd) => break fd,
                Err(Errno::EAGAIN) => return Ok(None),
                // The peer gave up before this end took the connection.
                Err(Errno::ECONNABORTED) => {}
                Err(e) => return Err(e).context("accept"),
            }
        };
        // SAFETY: accept4 has just made this descriptor, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        self.prepare(fd)?;
        Ok(Some(socket))
    }

    /// Gives a connection that was taken the flow's options again: it does not inherit all (SO_PRIORITY,
    /// sk_clone_lock()).
    pub fn prepare(&self, connection: RawFd) -> Result<()> {
        options::set(connection, &self.options)
    }
}

/// Opens both.
pub fn open(setup: &Setup, opening: &Opening) -> Result<Ends> {
    open_with(setup, opening, opening)
}

/// Opens a listener and a client with different settings.
pub fn open_with(setup: &Setup, listening: &Opening, connecting: &Opening) -> Result<Ends> {
    let (listener, to) = listener(setup, listening, 8)?;
    let client = client(setup, connecting, setup.flow.source_port)?;
    Ok(Ends {
        listener,
        client,
        to,
    })
}

/// Opens a listener at a flow's destination for `backlog` connections at once; returns it with its address.
pub fn listener(
    setup: &Setup,
    opening: &Opening,
    connections: i32,
) -> Result<(Option<Listener>, SocketAddr)> {
    let to = SocketAddr::new(setup.flow.destination, setup.flow.destination_port);
    let open = || -> Result<Listener> {
        let socket = opening.socket(to)?;
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
pub fn client(setup: &Setup, opening: &Opening, port: u16) -> Result<Option<OwnedFd>> {
    let from = SocketAddr::new(setup.flow.source, port);
    setup
        .source()
        .map(|node| node.run(|| opening.socket(from))?)
        .transpose()
}

/// The settings that all sockets of a flow have in common.
#[derive(Clone)]
pub struct Opening {
    transport: Transport,
    options: Vec<SocketOption>,
    /// Whether the machine goes on when the run has ended.
    outlived: bool,
}

/// The settings of sockets that depend on their transport.
#[derive(Clone)]
enum Transport {
    /// The congestion control, in both directions.
    Tcp(String),
    /// That of each subflow, in both directions.
    Mptcp(String),
    /// The number of streams that the sender asks for.
    Sctp(u16),
}

impl Opening {
    pub fn tcp(setup: &Setup, cc: &str) -> Self {
        Self::new(setup, Transport::Tcp(cc.to_owned()))
    }

    pub fn mptcp(setup: &Setup, cc: &str) -> Self {
        Self::new(setup, Transport::Mptcp(cc.to_owned()))
    }

    pub fn sctp(setup: &Setup, streams: u16) -> Self {
        Self::new(setup, Transport::Sctp(streams))
    }

    fn new(setup: &Setup, transport: Transport) -> Self {
        Self {
            transport,
            options: setup.flow.sockets.clone(),
            outlived: setup.network.backend.outlives_runs(),
        }
    }

    /// Opens a socket in the namespace of this thread, bound to `local` and not yet connected.
    pub fn socket(&self, local: SocketAddr) -> Result<OwnedFd> {
        let socket = match self.transport {
            Transport::Tcp(_) => bound(local, SockType::Stream)?,
            Transport::Mptcp(_) => bound_mptcp(local)?,
            Transport::Sctp(_) => bound_sctp(local)?,
        };
        if self.outlived {
            // A connection that remains when its process ends would hold its ports, so it is reset. Accepted connections
            // inherit this.
            let at_once = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            setsockopt(&socket, sockopt::Linger, &at_once)?;
        }
        match &self.transport {
            Transport::Tcp(cc) | Transport::Mptcp(cc) => set_congestion_control(&socket, cc)?,
            Transport::Sctp(streams) => set_streams(&socket, *streams)?,
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

/// Sends `bytes` zeros, or for ever (None), and then ends this direction, unless sending ended early (`is_sent`).
pub fn send_all(socket: &OwnedFd, bytes: Option<u64>) -> Result<()> {
    match is_sent(tcp::send_zeros(
        socket.as_raw_fd(),
        bytes.unwrap_or(u64::MAX),
    ))? {
        true => shutdown(socket.as_raw_fd(), Shutdown::Write).context("shutdown"),
        false => Ok(()),
    }
}

/// Whether all was handed to the kernel. An end caused by `Generator::stop`, or a peer that no longer answers, is a
/// result and not an error.
pub fn is_sent(sent: std::io::Result<()>) -> Result<bool> {
    match sent {
        // Caused by stop(), or the run is over.
        Err(e) if e.raw_os_error() == Some(libc::EPIPE) => Ok(false),
        sent => is_answered(sent).context("send"),
    }
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

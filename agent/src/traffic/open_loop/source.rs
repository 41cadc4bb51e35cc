//! The sending end of an open-loop flow: it opens a connection at each arrival, whatever the state of earlier ones.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::arrivals::{Arrival, head_of};
use super::shared::Shared;
use crate::time::monotonic_ns;
use crate::traffic::connection::Opening;
use crate::traffic::ports::Ports;
use crate::traffic::socket::tcp_info;
use crate::traffic::tcp;
use crate::traffic::threads::lock;
use crate::traffic::watch::Watch;
use netwarp_records::sockets::TcpInfo;

/// A connection whose bytes are not all handed to the kernel, or not all taken by the receiver.
struct Outgoing {
    socket: OwnedFd,
    number: usize,
    begun: bool,
    left: u64,
}

pub struct Source {
    ports: Ports,
    watch: Watch,
    timer: TimerFd,
    shared: Shared,
    /// Number of the next arrival.
    next: usize,
    open: HashMap<RawFd, Outgoing>,
}

impl Source {
    pub fn new(opening: Opening, local: IpAddr, to: SocketAddr, shared: Shared) -> Result<Self> {
        let watch = Watch::new()?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        watch.add(timer.as_fd().as_raw_fd(), EpollFlags::EPOLLIN)?;
        Ok(Self {
            ports: Ports::new(opening, local, to),
            watch,
            timer,
            shared,
            next: 0,
            open: HashMap::new(),
        })
    }

    /// Opens and serves all connections, until the last one is closed.
    pub fn run(mut self) -> Result<()> {
        self.set_timer()?;
        while self.next < self.shared.arrivals.len() || !self.open.is_empty() {
            for (fd, happened) in self.watch.wait()? {
                if fd == self.timer.as_fd().as_raw_fd() {
                    self.begin_due()?;
                } else {
                    self.advance(fd, happened)?;
                }
            }
        }
        Ok(())
    }

    /// Sets the timer to the next arrival.
    fn set_timer(&self) -> Result<()> {
        let Some(arrival) = self.shared.arrivals.get(self.next) else {
            return self.timer.unset().context("timer");
        };
        let ns = self.shared.t0_ns + arrival.start_ns;
        let at = TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000);
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        (self.timer.set(Expiration::OneShot(at), flags)).context("timer")
    }

    /// Begins the transfers whose time has come.
    fn begin_due(&mut self) -> Result<()> {
        let now_ns = monotonic_ns() - self.shared.t0_ns;
        while let Some(&arrival) = self.shared.arrivals.get(self.next)
            && arrival.start_ns <= now_ns
        {
            if lock(&self.shared.progress).stopped {
                self.next = self.shared.arrivals.len();
                break;
            }
            self.begin(arrival)?;
            self.next += 1;
        }
        self.set_timer()
    }

    /// Begins to connect.
    fn begin(&mut self, arrival: Arrival) -> Result<()> {
        let socket = self.ports.connecting()?;
        let fd = socket.as_raw_fd();
        // A socket that is not connecting yet would report at once that it is not connected.
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.watch.add(fd, flags)?;
        lock(&self.shared.progress).sending.insert(fd);
        let outgoing = Outgoing {
            socket,
            number: self.next,
            begun: false,
            left: arrival.bytes,
        };
        self.open.insert(fd, outgoing);
        Ok(())
    }

    /// Sends what the kernel takes, and closes a connection that has ended.
    fn advance(&mut self, fd: RawFd, happened: EpollFlags) -> Result<()> {
        let Some(outgoing) = self.open.get_mut(&fd) else {
            return Ok(());
        };
        let ended = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let over = happened.intersects(ended) || outgoing.send()?;
        let begun = outgoing.begun;
        let mut progress = lock(&self.shared.progress);
        if begun && progress.connect_ns.is_none() {
            progress.connect_ns = Some(monotonic_ns() - self.shared.t0_ns);
        }
        if over {
            // The receiver has all bytes and has closed, or TCP has given up: loss in the network is a result. A FIN that
            // is not read would count as a packet that the host dropped (sk_stream_kill_queues()).
            let _ = recv(fd, &mut [0], MsgFlags::empty());
            progress.sent.add_sender(&TcpInfo::new(&tcp_info(fd)?));
            progress.sending.remove(&fd);
            self.open.remove(&fd);
        }
        Ok(())
    }
}

impl Outgoing {
    /// Sends as much as the kernel takes; true if the peer does not answer any more.
    fn send(&mut self) -> Result<bool> {
        let fd = self.socket.as_raw_fd();
        let head = head_of(self.number)?;
        while self.left > 0 {
            // The first bytes of a connection always have room together.
            let head = if self.begun { &[][..] } else { &head };
            match tcp::send_headed(fd, head, self.left.min(tcp::MAX_SENT)) {
                Ok(sent) => (self.begun, self.left) = (true, self.left - sent),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => match e.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::ETIMEDOUT | Errno::EPIPE | Errno::ECONNRESET) => return Ok(true),
                    _ => return Err(e).context("send"),
                },
            }
        }
        Ok(false)
    }
}

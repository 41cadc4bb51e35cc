//! The ends of a connection whose data the kernel moves: they do the same at the same instants as a thread for each, but
//! are only called when something is to be done (`steps`).

use std::os::fd::{AsRawFd, IntoRawFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{SockaddrStorage, connect};

use super::ends::{Done, Sending};
use crate::backend::{Order, Pump};
use crate::time::{monotonic_ns, sleep_until};
use crate::traffic::connection::{Listener, is_answered, is_sent};
use crate::traffic::generator::Setup;
use crate::traffic::steps::Next;

/// Connects and sends at the instants that `sending` names.
pub fn send(setup: &Setup, pump: Pump, sending: Sending) -> Result<()> {
    fcntl(&sending.socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("sender")?;
    let mut instants = vec![sending.connect_at_ns, sending.start_at_ns];
    instants.dedup();
    let mut sender = Sender {
        sending,
        pump,
        stage: Stage::Connecting,
    };
    let step = move || match sender.step() {
        Ok(next) => next,
        Err(e) => {
            sender.sending.failed(&e);
            Next::Over
        }
    };
    setup.steps.borrow_mut().add(&instants, Box::new(step))
}

/// Accepts a connection, and takes its bytes.
pub fn receive(setup: &Setup, pump: Pump, listener: Listener, done: Done) -> Result<()> {
    fcntl(&listener.socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("listener")?;
    let mut receiver = Receiver {
        listener,
        accepted: false,
        done,
        pump,
    };
    let step = move || match receiver.step() {
        Ok(next) => next,
        Err(e) => {
            receiver.done.failed(&e);
            Next::Over
        }
    };
    setup.steps.borrow_mut().add(&[], Box::new(step))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Connected,
    Sending,
}

struct Sender {
    sending: Sending,
    pump: Pump,
    stage: Stage,
}

impl Sender {
    fn step(&mut self) -> Result<Next> {
        let fd = self.sending.socket.as_raw_fd();
        if self.stage == Stage::Connecting {
            match connect(fd, &SockaddrStorage::from(self.sending.to)) {
                Err(Errno::EINPROGRESS | Errno::EALREADY) => {
                    return Ok(Next::Event(fd, EpollFlags::EPOLLOUT));
                }
                connected => {
                    let answered = is_answered(connected.map_err(Into::into));
                    if !answered
                        .with_context(|| format!("cannot connect to {}", self.sending.to))?
                    {
                        return Ok(Next::Over);
                    }
                }
            }
            self.sending.connected();
            self.stage = Stage::Connected;
            if monotonic_ns() >= self.sending.start_at_ns {
                // A thread sleeps until then in any case, which takes a nanosecond if the instant has come.
                sleep_until(self.sending.start_at_ns);
            }
        }
        if self.stage == Stage::Connected {
            if monotonic_ns() < self.sending.start_at_ns {
                return Ok(Next::Instant);
            }
            self.pump.begin(Order::Feed, fd, self.sending.bytes)?;
            self.stage = Stage::Sending;
        }
        let pumped = self.pump.pumped()?;
        if pumped.done_ns.is_none() {
            return Ok(Next::Event(self.pump.as_raw_fd(), EpollFlags::EPOLLIN));
        }
        // The kernel has sent a FIN if it has sent all bytes.
        is_sent(pumped.result())?;
        Ok(Next::Over)
    }
}

struct Receiver {
    listener: Listener,
    accepted: bool,
    done: Done,
    pump: Pump,
}

impl Receiver {
    fn step(&mut self) -> Result<Next> {
        if !self.accepted {
            let Some(socket) = self.listener.accept_now()? else {
                let fd = self.listener.socket.as_raw_fd();
                return Ok(Next::Event(fd, EpollFlags::EPOLLIN));
            };
            // It stays open until the machine ends: closing it would send a FIN.
            let fd = socket.into_raw_fd();
            self.accepted = true;
            self.done.accepted(fd);
            self.pump.begin(Order::Drain, fd, self.done.bytes)?;
        }
        let pumped = self.pump.pumped()?;
        let Some(done_ns) = pumped.done_ns else {
            return Ok(Next::Event(self.pump.as_raw_fd(), EpollFlags::EPOLLIN));
        };
        self.done.taken(pumped.bytes, done_ns - self.done.t0_ns)?;
        Ok(Next::Over)
    }
}

//! The ends of a connection whose data the kernel moves: they do the same at the same instants as a thread for each, but
//! are only called when something is to be done (`steps`).

use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{SockaddrStorage, connect};

use super::ends::{Done, Sending};
use crate::backend::{Order, Pumps};
use crate::time::{monotonic_ns, sleep_until};
use crate::traffic::connection::{Listener, is_answered, is_sent};
use crate::traffic::generator::Setup;
use crate::traffic::steps::{Cause, Next};

/// Connects and sends at the instants that `sending` names; its socket does not block.
pub fn send(setup: &Setup, pumps: Arc<Pumps>, sending: Sending) -> Result<()> {
    let instants = [sending.connect_at_ns, sending.start_at_ns];
    let mut sender = Sender {
        sending,
        pumps,
        stage: Stage::Prepared,
    };
    let step = move |number, cause| {
        sender.step(number, cause).unwrap_or_else(|e| {
            sender.sending.failed(&e);
            Next::Over
        })
    };
    setup.steps.borrow_mut().add(&instants, Box::new(step))
}

/// Accepts a connection, and takes its bytes; the listener does not block.
pub fn receive(setup: &Setup, pumps: Arc<Pumps>, listener: Listener, done: Done) -> Result<()> {
    let mut receiver = Receiver {
        listener,
        done,
        pumps,
    };
    let step = move |number, cause| {
        receiver.step(number, cause).unwrap_or_else(|e| {
            receiver.done.failed(&e);
            Next::Over
        })
    };
    setup.steps.borrow_mut().add(&[], Box::new(step))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Prepared,
    Connecting,
    Connected,
    Sending,
}

struct Sender {
    sending: Sending,
    pumps: Arc<Pumps>,
    stage: Stage,
}

impl Sender {
    fn step(&mut self, number: usize, cause: Cause) -> Result<Next> {
        let fd = self.sending.socket.as_raw_fd();
        let answer = Next::Event(fd, EpollFlags::EPOLLOUT);
        if self.stage == Stage::Connecting && cause == Cause::Instant {
            return Ok(answer);
        }
        if self.stage == Stage::Connecting && self.sending.was_stopped()? {
            return Ok(Next::Over);
        }
        if matches!(self.stage, Stage::Prepared | Stage::Connecting) {
            self.stage = Stage::Connecting;
            match connect(fd, &SockaddrStorage::from(self.sending.to)) {
                Err(Errno::EINPROGRESS | Errno::EALREADY) => return Ok(answer),
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
            self.pumps
                .begin(Order::Feed, fd, self.sending.bytes, number)?;
            self.stage = Stage::Sending;
        }
        let Cause::Over(pumped) = cause else {
            return Ok(Next::Order);
        };
        // The kernel has sent a FIN if it has sent all bytes.
        is_sent(pumped.result())?;
        Ok(Next::Over)
    }
}

struct Receiver {
    listener: Listener,
    done: Done,
    pumps: Arc<Pumps>,
}

impl Receiver {
    fn step(&mut self, number: usize, cause: Cause) -> Result<Next> {
        if let Cause::Over(pumped) = cause {
            self.done
                .taken(pumped.bytes, pumped.done_ns - self.done.t0_ns)?;
            return Ok(Next::Over);
        }
        let fd = self.listener.socket.as_raw_fd();
        // No peer has connected when all is prepared.
        let accepted = match cause {
            Cause::Event => self.listener.accept_now()?,
            _ => None,
        };
        let Some(socket) = accepted else {
            return Ok(Next::Event(fd, EpollFlags::EPOLLIN));
        };
        // It stays open until the machine ends: closing it would send a FIN.
        let fd = socket.into_raw_fd();
        self.done.accepted(fd);
        self.pumps
            .begin(Order::Drain, fd, self.done.bytes, number)?;
        Ok(Next::Order)
    }
}

//! The TCP sockets of one end: a thread waits for all of them by epoll(7), and wakes the tasks that wait for one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use anyhow::{Context, Result};
use futures_executor::LocalPool;
use nix::sys::epoll::EpollFlags;
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::tasks::Timers;
use crate::traffic::quic::account::Ending;
use crate::traffic::watch::Watch;

/// Tasks that wait for a socket.
#[derive(Default)]
pub struct Interest {
    reader: Cell<Option<Waker>>,
    writer: Cell<Option<Waker>>,
}

impl Interest {
    pub fn read(&self, cx: &TaskContext<'_>) {
        self.reader.set(Some(cx.waker().clone()));
    }

    pub fn write(&self, cx: &TaskContext<'_>) {
        self.writer.set(Some(cx.waker().clone()));
    }

    fn wake(&self) {
        for waker in [self.reader.take(), self.writer.take()]
            .into_iter()
            .flatten()
        {
            waker.wake();
        }
    }
}

/// The sockets, and a timer.
pub struct Reactor {
    watch: Watch,
    timer: TimerFd,
    wakeup: Arc<EventFd>,
    interests: RefCell<BTreeMap<RawFd, Rc<Interest>>>,
    /// Sockets of which this end is done, until the peer is done as well: what arrives at a closed one would be answered
    /// by a reset, and what is left in it count as dropped.
    lingering: RefCell<BTreeMap<RawFd, TcpStream>>,
}

impl Reactor {
    pub fn new(wakeup: Arc<EventFd>) -> Result<Self> {
        let watch = Watch::new()?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        watch.add(timer.as_fd().as_raw_fd(), EpollFlags::EPOLLIN)?;
        watch.add(wakeup.as_fd().as_raw_fd(), EpollFlags::EPOLLIN)?;
        Ok(Self {
            watch,
            timer,
            wakeup,
            interests: RefCell::default(),
            lingering: RefCell::default(),
        })
    }

    /// Watches a socket, of which each change is reported once.
    pub fn add(&self, fd: RawFd) -> Result<Rc<Interest>> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        self.watch.add(fd, flags)?;
        let interest = Rc::<Interest>::default();
        self.interests.borrow_mut().insert(fd, Rc::clone(&interest));
        Ok(interest)
    }

    /// Says that this end is done with a connection, and closes it once the peer is.
    pub fn close(&self, socket: TcpStream) {
        let fd = socket.as_raw_fd();
        self.interests.borrow_mut().remove(&fd);
        let _ = socket.shutdown(Shutdown::Write);
        if !is_over(&socket) {
            self.lingering.borrow_mut().insert(fd, socket);
        }
    }

    /// Runs the tasks until the run's end.
    pub fn run(&self, pool: &mut LocalPool, timers: &Timers, ending: &Ending) -> Result<()> {
        loop {
            pool.run_until_stalled();
            if ending.is_over() {
                return Ok(());
            }
            self.set_timer(timers.next_ns())?;
            for (fd, _) in self.watch.wait()? {
                self.wake(fd)?;
            }
            timers.wake_due();
        }
    }

    fn wake(&self, fd: RawFd) -> Result<()> {
        if fd == self.timer.as_fd().as_raw_fd() {
            return self.timer.wait().context("timerfd");
        }
        if fd == self.wakeup.as_fd().as_raw_fd() {
            self.wakeup.read().context("eventfd")?;
            return Ok(());
        }
        if let Some(interest) = self.interests.borrow().get(&fd) {
            interest.wake();
        }
        let mut lingering = self.lingering.borrow_mut();
        if lingering.get(&fd).is_some_and(is_over) {
            lingering.remove(&fd);
        }
        Ok(())
    }

    fn set_timer(&self, at_ns: Option<i64>) -> Result<()> {
        let Some(ns) = at_ns else {
            return self.timer.unset().context("timerfd");
        };
        let at = TimeSpec::new(ns / 1_000_000_000, ns % 1_000_000_000);
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        (self.timer.set(Expiration::OneShot(at), flags)).context("timerfd")
    }
}

/// Takes what is left in a socket; whether its peer is done.
fn is_over(mut socket: &TcpStream) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match socket.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) => return e.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

//! `open_loop`: transfers that begin whether or not earlier ones are complete, each over a TCP connection of its own (B.
//! Schroeder, A. Wierman, M. Harchol-Balter: Open Versus Closed: A Cautionary Tale, NSDI 2006).
//!
//! One thread at each end serves all connections by epoll(7): their number has no bound when the network is overloaded,
//! and a thread for each would need memory that the machine may lack. The receiver closes a connection when it has all
//! bytes, so that it keeps the TIME_WAIT state, and the sender's ports are free for later connections.

mod arrivals;
mod sink;
mod source;

use std::collections::BTreeSet;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use self::arrivals::Arrival;
use super::fields::OpenLoopFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::socket::tcp_info;
use super::tcp;
use super::threads::{lock, spawn};
use super::transfers::{Transfer, Transfers};
use crate::time::monotonic_ns;
use netwarp_records::sockets::TcpInfo;

/// Connections that the kernel holds for the sink until it accepts them: the most that it allows by default.
const BACKLOG: i32 = 4096;
/// Events that are taken with one system call.
const EVENTS: usize = 64;

/// State that the threads share with the main thread; times are from t0.
#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    /// When each transfer was complete.
    ends_ns: Vec<Option<i64>>,
    received_bytes: u64,
    /// Descriptors of the sender's open connections.
    sending: BTreeSet<RawFd>,
    /// Totals of the sender's closed connections.
    sent: FlowStats,
    error: Option<String>,
    stopped: bool,
}

struct OpenLoop {
    flow_id: u32,
    t0_ns: i64,
    arrivals: Arc<Vec<Arrival>>,
    sends: bool,
    receives: bool,
    progress: Arc<Mutex<Progress>>,
    transfers: Arc<Mutex<Transfers>>,
}

/// Draws the arrivals, listens, and starts a thread at each end.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let flow = setup.flow;
    let fields: OpenLoopFields = flow.fields()?;
    let arrivals = Arc::new(arrivals::draw(flow, &fields)?);
    let progress = Arc::new(Mutex::new(Progress {
        ends_ns: vec![None; arrivals.len()],
        ..Progress::default()
    }));
    let (listener, to) = tcp::listener(setup, Some(&fields.cc), BACKLOG)?;
    let open_loop = OpenLoop {
        flow_id: flow.id,
        t0_ns: setup.t0_ns,
        arrivals: Arc::clone(&arrivals),
        sends: setup.source().is_some(),
        receives: listener.is_some(),
        progress: Arc::clone(&progress),
        transfers: Arc::clone(&setup.tables.transfers),
    };
    if let Some(listener) = listener {
        let sink = sink::Sink::new(listener, &open_loop)?;
        let progress = Arc::clone(&progress);
        spawn(format!("to {}", flow.name), move || {
            fail(&progress, sink.run());
        })?;
    }
    if let Some(node) = setup.source() {
        let node = node.try_clone()?;
        let opening = tcp::Opening::new(setup, Some(&fields.cc));
        let source = source::Source::new(opening, flow.source, to, &open_loop)?;
        spawn(format!("from {}", flow.name), move || {
            fail(&progress, node.run(|| source.run()).and_then(|ran| ran));
        })?;
    }
    Ok(Box::new(open_loop))
}

/// Keeps the first error.
fn fail(progress: &Mutex<Progress>, ran: Result<()>) {
    if let Err(e) = ran {
        lock(progress).error.get_or_insert(format!("{e:#}"));
    }
}

impl Generator for OpenLoop {
    /// Transfers that have begun go on until they are complete or the run ends.
    fn stop(&mut self) {
        lock(&self.progress).stopped = true;
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.progress);
        let now_ns = monotonic_ns() - self.t0_ns;
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        if self.sends {
            stats.add_closed(&progress.sent);
            for &fd in &progress.sending {
                stats.add_sender(&TcpInfo::new(&tcp_info(fd)?));
            }
        }
        if !self.receives {
            return Ok(());
        }
        stats.received_bytes = Some(progress.received_bytes);
        let mut transfers = lock(&self.transfers);
        for (number, (arrival, &end_ns)) in self.arrivals.iter().zip(&progress.ends_ns).enumerate()
        {
            // A run that is stopped early ends before some arrivals.
            if arrival.start_ns >= now_ns {
                break;
            }
            transfers.add(Transfer {
                flow_id: self.flow_id,
                sequence: number as u32,
                start_ns: arrival.start_ns,
                end_ns,
                request_bytes: 0,
                bytes: arrival.bytes,
            })?;
            stats.end_ns = stats.end_ns.max(end_ns.unwrap_or(now_ns));
        }
        Ok(())
    }
}

/// The descriptors that a thread waits for.
struct Watch {
    epoll: Epoll,
}

impl Watch {
    fn new() -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll")?;
        Ok(Self { epoll })
    }

    /// Adds a descriptor, by which `wait` names it.
    fn add(&self, fd: RawFd, flags: EpollFlags) -> Result<()> {
        // SAFETY: the descriptor is open during this call; closing it later takes it out of the set.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        (self.epoll.add(borrowed, EpollEvent::new(flags, fd as u64))).context("epoll")
    }

    /// Waits until something happens, and returns descriptors with what happened to them.
    fn wait(&self) -> Result<Vec<(RawFd, EpollFlags)>> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = loop {
            match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                waited => break waited.context("epoll")?,
            }
        };
        let found = events.iter().take(count);
        Ok(found
            .map(|event| (event.data() as RawFd, event.events()))
            .collect())
    }
}

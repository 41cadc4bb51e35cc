//! State that the threads of an open-loop flow share with each other and with the main thread.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

use super::arrivals::{Arrival, HEAD, number_in};
use crate::time::monotonic_ns;
use crate::traffic::flow_stats::FlowStats;
use crate::traffic::threads::lock;

/// A flow's arrivals, and the state of their transfers.
#[derive(Clone)]
pub struct Shared {
    pub t0_ns: i64,
    pub arrivals: Arc<Vec<Arrival>>,
    pub progress: Arc<Mutex<Progress>>,
}

impl Shared {
    pub fn new(t0_ns: i64, arrivals: Vec<Arrival>) -> Self {
        let progress = Progress {
            ends_ns: vec![None; arrivals.len()],
            ..Progress::default()
        };
        Self {
            t0_ns,
            arrivals: Arc::new(arrivals),
            progress: Arc::new(Mutex::new(progress)),
        }
    }

    /// Number and bytes of the transfer that begins with `head`.
    pub fn transfer(&self, head: [u8; HEAD as usize]) -> Result<(usize, u64)> {
        let number = number_in(head);
        let arrival = (self.arrivals.get(number)).context("a transfer that the plan lacks")?;
        Ok((number, arrival.bytes))
    }

    /// Counts what the receiver has taken from a connection, which it is about to close.
    pub fn taken(&self, fd: RawFd, taken: Taken) {
        let mut progress = lock(&self.progress);
        progress.receiving.remove(&fd);
        progress.received_bytes += taken.bytes;
        if let Some(end_ns) = taken.complete.and_then(|n| progress.ends_ns.get_mut(n)) {
            *end_ns = Some(monotonic_ns() - self.t0_ns);
        }
    }

    /// Keeps the first error of a thread.
    pub fn keep_error(&self, ran: Result<()>) {
        if let Err(e) = ran {
            lock(&self.progress).error.get_or_insert(format!("{e:#}"));
        }
    }
}

/// Bytes that the receiver took from a connection, and the number of the transfer if it is complete.
pub struct Taken {
    pub bytes: u64,
    pub complete: Option<usize>,
}

/// Times are from t0.
#[derive(Default)]
pub struct Progress {
    pub connect_ns: Option<i64>,
    /// When each transfer was complete.
    pub ends_ns: Vec<Option<i64>>,
    /// Bytes that the receiver took from connections that it has closed.
    pub received_bytes: u64,
    /// Descriptors of the receiver's open connections.
    pub receiving: BTreeSet<RawFd>,
    /// Descriptors of the sender's open connections.
    pub sending: BTreeSet<RawFd>,
    /// Totals of the sender's closed connections.
    pub sent: FlowStats,
    pub error: Option<String>,
    pub stopped: bool,
}

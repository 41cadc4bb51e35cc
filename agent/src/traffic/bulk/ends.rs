//! The two ends of a connection, whose data threads move.

use std::net::SocketAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;

use crate::time::monotonic_ns;
use crate::traffic::threads::lock;
use crate::traffic::transfers::Transfers;

/// State that both ends share with the main thread.
#[derive(Default)]
pub struct Progress {
    pub connect_ns: Option<i64>,
    pub done_ns: Option<i64>,
    pub receiver: Option<RawFd>,
    /// Bytes that the receiver took, once the stream has ended.
    pub taken: Option<u64>,
    pub error: Option<String>,
    pub stopped: bool,
}

/// The sender of a connection and its instants, of CLOCK_MONOTONIC.
pub struct Sending {
    pub socket: Arc<OwnedFd>,
    pub to: SocketAddr,
    pub bytes: Option<u64>,
    pub connect_at_ns: i64,
    pub start_at_ns: i64,
    pub t0_ns: i64,
    pub progress: Arc<Mutex<Progress>>,
}

impl Sending {
    pub fn connected(&self) {
        lock(&self.progress).connect_ns = Some(monotonic_ns() - self.t0_ns);
    }

    /// Keeps an error. Stopping a socket that is still connecting resets it: then it counts as never connected.
    pub fn failed(&self, error: &anyhow::Error) {
        let mut progress = lock(&self.progress);
        if !progress.stopped {
            progress.error = Some(format!("{error:#}"));
        }
    }
}

/// The records of a connection's receiver, made when it is done.
pub struct Done {
    pub flow_id: u32,
    pub bytes: Option<u64>,
    pub t0_ns: i64,
    pub progress: Arc<Mutex<Progress>>,
    pub transfers: Arc<Mutex<Transfers>>,
}

impl Done {
    pub fn accepted(&self, receiver: RawFd) {
        lock(&self.progress).receiver = Some(receiver);
    }

    /// Records how many bytes were taken by this instant from t0.
    pub fn taken(&self, got: u64, end_ns: i64) -> Result<()> {
        let mut progress = lock(&self.progress);
        (progress.done_ns, progress.taken) = (Some(end_ns), Some(got));
        drop(progress);
        if Some(got) == self.bytes {
            lock(&self.transfers).complete(self.flow_id, end_ns)?;
        }
        Ok(())
    }

    pub fn failed(&self, error: &anyhow::Error) {
        lock(&self.progress).error = Some(format!("{error:#}"));
    }
}

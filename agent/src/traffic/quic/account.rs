//! State that the threads of a flow share with the run's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use anyhow::Result;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::traffic::flow_stats::FlowStats;
use crate::traffic::threads::{lock, spawn_deep};

/// Totals of a flow; times from t0.
#[derive(Default)]
pub struct Account {
    pub connect_ns: Option<i64>,
    /// When the last byte arrived.
    pub done_ns: Option<i64>,
    pub sent_bytes: Option<u64>,
    pub sent_pkts: Option<u64>,
    /// Of the sent ones, those that the sender dropped before they could leave.
    pub unsent_pkts: Option<u64>,
    pub lost_pkts: Option<u64>,
    pub received_bytes: Option<u64>,
    pub error: Option<String>,
}

impl Account {
    /// Keeps the first error.
    pub fn fail(&mut self, error: &anyhow::Error) {
        self.error.get_or_insert(format!("{error:#}"));
    }

    pub fn add_to(&self, stats: &mut FlowStats) {
        stats.connect_ns = self.connect_ns;
        stats.end_ns = self.done_ns.unwrap_or(stats.end_ns).min(stats.end_ns);
        stats.sent_bytes = self.sent_bytes;
        stats.sent_pkts = self.sent_pkts;
        stats.unsent_pkts = self.unsent_pkts;
        stats.retransmits = self.lost_pkts.map(|pkts| pkts as u32);
        stats.received_bytes = self.received_bytes;
        stats.error.clone_from(&self.error);
    }
}

/// How the run's thread ends one of the flow's threads.
pub struct Ending {
    /// Whether the flow's time is over.
    stopped: AtomicBool,
    /// Whether the run is.
    over: AtomicBool,
    pub wakeup: Arc<EventFd>,
}

impl Ending {
    pub fn new() -> Result<Self> {
        Ok(Self {
            stopped: AtomicBool::new(false),
            over: AtomicBool::new(false),
            wakeup: Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?),
        })
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) || self.is_over()
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let _ = self.wakeup.write(1);
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        let _ = self.wakeup.write(1);
    }
}

/// The account of a flow and its two ends.
pub type Shared = Arc<Mutex<Account>>;

/// A thread at one end of a flow.
pub struct End {
    pub ending: Arc<Ending>,
    thread: Option<JoinHandle<()>>,
}

impl End {
    /// Starts its thread, whose error becomes the flow's.
    pub fn start(
        name: String,
        ending: Arc<Ending>,
        account: Shared,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let thread = spawn_deep(name, move || {
            if let Err(e) = work() {
                lock(&account).error = Some(format!("{e:#}"));
            }
        })?;
        Ok(Self {
            ending,
            thread: Some(thread),
        })
    }

    /// Ends the thread, which writes no record from then on.
    pub fn end(&mut self) {
        self.ending.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

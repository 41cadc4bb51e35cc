//! State that the threads of an open-loop flow share with each other and with the main thread.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};

use super::arrivals::Arrival;
use crate::traffic::flow_stats::FlowStats;

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
}

/// Times are from t0.
#[derive(Default)]
pub struct Progress {
    pub connect_ns: Option<i64>,
    /// When each transfer was complete.
    pub ends_ns: Vec<Option<i64>>,
    pub received_bytes: u64,
    /// Descriptors of the sender's open connections.
    pub sending: BTreeSet<RawFd>,
    /// Totals of the sender's closed connections.
    pub sent: FlowStats,
    pub error: Option<String>,
    pub stopped: bool,
}

//! Rows of `quic_acks`, from what the congestion controllers of connections have seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use quinn_proto::Connection;

use super::observed::{Log, Logs};
use crate::time::monotonic_ns;
use crate::traffic::quic_records::{Ack, QuicRecords};
use crate::traffic::threads::lock;

/// Writes the observations of a flow's connections, which it numbers in the order of their beginnings.
pub struct Observations {
    flow_id: u32,
    t0_ns: i64,
    records: Arc<Mutex<QuicRecords>>,
    /// The logs of connections that have just been made.
    pub logs: Logs,
    begun: u32,
    /// By their numbers in the driver, which later connections may have again.
    connections: BTreeMap<usize, (u32, Log)>,
}

impl Observations {
    pub fn new(flow_id: u32, t0_ns: i64, records: &Arc<Mutex<QuicRecords>>) -> Self {
        Self {
            flow_id,
            t0_ns,
            records: Arc::clone(records),
            logs: Logs::default(),
            begun: 0,
            connections: BTreeMap::new(),
        }
    }

    /// Takes the log of the connection that quinn has just made.
    pub fn begin(&mut self, number: usize) {
        if let Some(log) = lock(&self.logs).pop() {
            self.connections.insert(number, (self.begun, log));
            self.begun += 1;
        }
    }

    /// Leaves out the connections so far: the next one is the first.
    pub fn clear(&mut self) {
        self.connections.clear();
        self.begun = 0;
    }

    /// Writes what a connection's controller has seen since the last call, with the state of the connection.
    pub fn write(&self, number: usize, connection: &Connection) -> Result<()> {
        let Some((begun, log)) = self.connections.get(&number) else {
            return Ok(());
        };
        let seen = std::mem::take(&mut *lock(log));
        if seen.is_empty() {
            return Ok(());
        }
        let (path, time_ns) = (connection.stats().path, monotonic_ns() - self.t0_ns);
        let mut records = lock(&self.records);
        for one in seen {
            records.acks.add(Ack {
                flow_id: self.flow_id,
                connection: Some(*begun),
                time_ns,
                event: one.event,
                cwnd_bytes: one.window_bytes,
                ssthresh_bytes: one.threshold_bytes,
                in_flight_bytes: one.in_flight_bytes,
                acked_bytes: one.acked_bytes,
                rtt_ns: one.rtt_ns,
                srtt_ns: connection.rtt().as_nanos() as i64,
                min_rtt_ns: connection.min_rtt().as_nanos() as i64,
                sent_pkts: path.sent_packets,
                lost_pkts: path.lost_packets,
            })?;
        }
        Ok(())
    }
}

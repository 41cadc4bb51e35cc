//! The server: takes the data of all streams, and discards it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::Result;

use super::account::{Ending, Shared};
use super::driver::Driver;
use super::incoming::{Incoming, Taken};
use crate::time::monotonic_ns;
use crate::traffic::quic_records::{Arrival, QuicRecords};
use crate::traffic::threads::lock;
use crate::traffic::transfers::Transfers;

pub struct Receiver {
    pub driver: Driver,
    pub flow_id: u32,
    pub t0_ns: i64,
    /// The bytes that arrive in all, if the flow has a size.
    pub bytes: Option<u64>,
    pub account: Shared,
    pub ending: Arc<Ending>,
    pub records: Arc<Mutex<QuicRecords>>,
    pub transfers: Arc<Mutex<Transfers>>,
}

impl Receiver {
    /// Receives until the run's end.
    pub fn run(&mut self) -> Result<()> {
        let mut streams: BTreeMap<usize, Incoming> = BTreeMap::new();
        let mut all = 0;
        while !self.ending.is_over() {
            let now = Instant::now();
            self.driver.hear(now)?;
            let mut taken = Taken::default();
            for (number, connection) in self.driver.connections() {
                taken += streams.entry(number).or_default().take(connection);
            }
            if taken.new > 0 {
                all += taken.new;
                self.note(taken, all)?;
            }
            self.driver.speak(now);
            self.driver.wait(None)?;
        }
        Ok(())
    }

    fn note(&self, taken: Taken, all: u64) -> Result<()> {
        let time_ns = monotonic_ns() - self.t0_ns;
        lock(&self.records).arrivals.add(Arrival {
            flow_id: self.flow_id,
            time_ns,
            new_bytes: taken.new,
            in_order_bytes: taken.in_order,
        })?;
        let mut account = lock(&self.account);
        account.received_bytes = Some(all);
        if self.bytes == Some(all) {
            account.done_ns = Some(time_ns);
            lock(&self.transfers).complete(self.flow_id, time_ns)?;
        }
        Ok(())
    }
}

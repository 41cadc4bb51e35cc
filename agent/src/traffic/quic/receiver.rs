//! The server: takes the data of its connections, and discards it.

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
    pub t0_ns: i64,
    pub intake: Box<dyn Intake>,
    pub ending: Arc<Ending>,
}

/// The way in which a server takes data that has arrived.
pub trait Intake: Send {
    /// Takes the data of all connections, at an instant from t0.
    fn take(&mut self, driver: &mut Driver, time_ns: i64) -> Result<()>;
}

impl Receiver {
    /// Receives until the run's end.
    pub fn run(&mut self) -> Result<()> {
        while !self.ending.is_over() {
            let now = Instant::now();
            self.driver.hear(now)?;
            let time_ns = monotonic_ns() - self.t0_ns;
            self.intake.take(&mut self.driver, time_ns)?;
            self.driver.speak(now);
            self.driver.wait(None)?;
        }
        Ok(())
    }
}

/// The data of streams, which `quic_arrivals` records.
pub struct StreamIntake {
    pub flow_id: u32,
    /// The bytes that arrive in all, if the flow has a size.
    pub bytes: Option<u64>,
    pub account: Shared,
    pub records: Arc<Mutex<QuicRecords>>,
    pub transfers: Arc<Mutex<Transfers>>,
    /// The streams of each connection.
    pub streams: BTreeMap<usize, Incoming>,
    /// The bytes that have arrived.
    pub arrived: u64,
}

impl Intake for StreamIntake {
    fn take(&mut self, driver: &mut Driver, time_ns: i64) -> Result<()> {
        let mut taken = Taken::default();
        for (number, connection) in driver.connections() {
            taken += self.streams.entry(number).or_default().take(connection);
        }
        match taken.new {
            0 => Ok(()),
            _ => self.note(taken, time_ns),
        }
    }
}

impl StreamIntake {
    fn note(&mut self, taken: Taken, time_ns: i64) -> Result<()> {
        self.arrived += taken.new;
        lock(&self.records).arrivals.add(Arrival {
            flow_id: self.flow_id,
            time_ns,
            new_bytes: taken.new,
            in_order_bytes: taken.in_order,
        })?;
        let mut account = lock(&self.account);
        account.received_bytes = Some(self.arrived);
        if self.bytes == Some(self.arrived) {
            account.done_ns = Some(time_ns);
            lock(&self.transfers).complete(self.flow_id, time_ns)?;
        }
        Ok(())
    }
}

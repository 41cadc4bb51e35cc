//! The client: connects, and sends until the flow's end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use quinn_proto::{ClientConfig, ConnectionError, Event, VarInt};

use super::account::{Ending, Shared};
use super::driver::Driver;
use super::outgoing::Outgoing;
use super::tls::Tickets;
use crate::time::monotonic_ns;
use crate::traffic::threads::lock;

const NO_ERROR: VarInt = VarInt::from_u32(0);

pub struct Sender {
    pub driver: Driver,
    pub config: ClientConfig,
    pub to: SocketAddr,
    pub t0_ns: i64,
    pub start_ns: i64,
    pub outgoing: Box<dyn Outgoing>,
    /// How long before the start a first connection fetches a ticket, if the flow's own one resumes.
    pub resume_ahead_ns: Option<i64>,
    pub tickets: Arc<Tickets>,
    pub account: Shared,
    pub ending: Arc<Ending>,
}

impl Sender {
    /// Sends until the flow's end.
    pub fn run(&mut self) -> Result<()> {
        if let Some(ahead_ns) = self.resume_ahead_ns {
            self.idle_until(self.start_ns - ahead_ns)?;
            self.fetch_ticket()?;
        }
        self.idle_until(self.start_ns)?;
        if self.ending.is_stopped() {
            return Ok(());
        }
        ensure!(
            self.resume_ahead_ns.is_none() || !self.tickets.is_empty(),
            "the first connection had no session ticket when the flow began, so that nothing could leave in 0-RTT; make \
             `resume_ahead` longer: a ticket takes two round trips"
        );
        // The first connection is not the flow's own.
        self.driver.forget();
        let number = self.driver.connect(self.config.clone(), self.to)?;
        self.transfer(number)
    }

    /// Keeps earlier connections going until an instant, from t0, or the flow's end.
    fn idle_until(&mut self, at_ns: i64) -> Result<()> {
        while !self.ending.is_stopped() && self.take_turn(at_ns)? {}
        Ok(())
    }

    /// Connects for a session ticket, until the flow's start, and closes the connection again.
    fn fetch_ticket(&mut self) -> Result<()> {
        let number = self.driver.connect(self.config.clone(), self.to)?;
        while self.tickets.is_empty() && !self.ending.is_stopped() {
            if !self.take_turn(self.start_ns)? {
                break;
            }
        }
        if let Some(connection) = self.driver.connection(number) {
            connection.close(Instant::now(), NO_ERROR, Bytes::new());
        }
        Ok(())
    }

    /// One turn without data, and a wait that ends at an instant, from t0; false if it has passed.
    fn take_turn(&mut self, at_ns: i64) -> Result<bool> {
        let now = Instant::now();
        self.driver.hear(now)?;
        self.driver.speak(now);
        let left = self.left(at_ns);
        if !left.is_zero() {
            self.driver.wait(Some(now + left))?;
        }
        Ok(!left.is_zero())
    }

    /// The time until an instant, from t0; zero if it has passed.
    fn left(&self, at_ns: i64) -> Duration {
        Duration::from_nanos((at_ns - since(self.t0_ns)).max(0).unsigned_abs())
    }

    fn transfer(&mut self, number: usize) -> Result<()> {
        let mut is_closing = false;
        while !self.ending.is_over() {
            let now = Instant::now();
            self.driver.hear(now)?;
            self.check_refusal()?;
            let Some(connection) = self.driver.connection(number) else {
                break; // closed, and its last packets have left the network
            };
            while let Some(event) = connection.poll() {
                let time_ns = since(self.t0_ns);
                self.outgoing.hear(&event, time_ns);
                match event {
                    Event::Connected => lock(&self.account).connect_ns = Some(time_ns),
                    Event::ConnectionLost { reason } => is_closing |= is_closed(&reason)?,
                    _ => {}
                }
            }
            if !is_closing {
                self.outgoing.fill(connection, since(self.t0_ns))?;
                is_closing = self.ending.is_stopped() || self.outgoing.is_finished();
                if is_closing {
                    // Data in flight still arrives, unsent data never does. If the window is full, quinn cannot
                    // even say that it has closed the connection.
                    connection.close(now, NO_ERROR, Bytes::new());
                }
            }
            self.driver.speak(now);
            self.record(number)?;
            let more_ns = match self.driver.connection(number) {
                Some(connection) if !is_closing => self.outgoing.more_ns(connection),
                _ => None,
            };
            let until = more_ns.map(|at_ns| now + self.left(at_ns));
            self.driver.wait(until)?;
        }
        if !is_closing && let Some(connection) = self.driver.connection(number) {
            // The run's end: what has become due by now counts, though it does not leave.
            self.outgoing.fill(connection, since(self.t0_ns))?;
            self.outgoing.count(connection, &mut lock(&self.account));
        }
        Ok(())
    }

    /// Ends a flow whose first packets are refused; once there is a connection, only its peer can end it, as anyone may
    /// forge what ICMP says.
    fn check_refusal(&self) -> Result<()> {
        match self.driver.refusal {
            Some(answer) if lock(&self.account).connect_ns.is_none() => {
                bail!("cannot connect to {}: {answer} (ICMP)", self.to)
            }
            _ => Ok(()),
        }
    }

    /// Writes what was seen in this turn, and counts what has been sent.
    fn record(&mut self, number: usize) -> Result<()> {
        self.driver.record()?;
        if let Some(connection) = self.driver.connection(number) {
            self.outgoing.count(connection, &mut lock(&self.account));
        }
        Ok(())
    }
}

/// Nanoseconds since an instant.
fn since(t0_ns: i64) -> i64 {
    monotonic_ns() - t0_ns
}

/// Whether a connection has ended as intended.
fn is_closed(reason: &ConnectionError) -> Result<bool> {
    match reason {
        ConnectionError::LocallyClosed => Ok(true),
        other => bail!("its connection was lost: {other}"),
    }
}

//! A congestion controller that reports what it sees: quinn has no other place where acknowledgements and losses can be
//! observed one by one.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use netwarp_records::tables::quic_event;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};

use crate::traffic::threads::lock;

/// Observations of one connection that its thread has not yet written.
pub type Log = Arc<Mutex<Vec<Observation>>>;
/// The logs of connections that have been made, the newest last.
pub type Logs = Arc<Mutex<Vec<Log>>>;

/// The controller's state after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// One of `quic_event`.
    pub event: u8,
    pub window_bytes: u64,
    pub threshold_bytes: Option<u64>,
    pub in_flight_bytes: u64,
    pub acked_bytes: u64,
    /// The time since the newest of the acknowledged packets was sent, unless a later one was acknowledged before.
    pub rtt_ns: Option<i64>,
}

/// A controller with its observer.
pub struct Observed {
    inner: Box<dyn Controller>,
    log: Log,
    acked_bytes: u64,
    in_flight_bytes: u64,
    /// When the newest packet was sent that has been acknowledged.
    newest_sent: Option<Instant>,
    /// The round trip of the newest packet of the acknowledgement that is being processed.
    rtt_ns: Option<i64>,
}

impl Observed {
    pub fn new(inner: Box<dyn Controller>, log: Log) -> Self {
        Self {
            inner,
            log,
            acked_bytes: 0,
            in_flight_bytes: 0,
            newest_sent: None,
            rtt_ns: None,
        }
    }

    fn note(&self, event: u8, rtt_ns: Option<i64>) {
        lock(&self.log).push(Observation {
            event,
            window_bytes: self.inner.window(),
            // quinn represents "not yet set" by the greatest number.
            threshold_bytes: self
                .inner
                .metrics()
                .ssthresh
                .filter(|bytes| *bytes < u64::MAX),
            in_flight_bytes: self.in_flight_bytes,
            acked_bytes: self.acked_bytes,
            rtt_ns,
        });
    }
}

impl Controller for Observed {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.acked_bytes += bytes;
        if self.newest_sent.is_none_or(|newest| sent > newest) {
            self.newest_sent = Some(sent);
            self.rtt_ns = i64::try_from(now.saturating_duration_since(sent).as_nanos()).ok();
        }
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.in_flight_bytes = in_flight;
        self.inner
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        let rtt_ns = self.rtt_ns.take();
        self.note(quic_event::ACKNOWLEDGED, rtt_ns);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let before = self.inner.window();
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(lost_bytes);
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let event = match (self.inner.window() < before, is_persistent_congestion) {
            (true, true) => quic_event::PERSISTENT,
            (true, false) => quic_event::CONGESTION,
            // A loss of the same round trip, which the controller has already answered.
            (false, _) => quic_event::LOSS,
        };
        self.note(event, None);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            log: Arc::clone(&self.log),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

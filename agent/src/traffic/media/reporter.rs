//! The receiver of an adaptive stream: it takes the packets that have arrived, and reports them to the sender.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};

use nix::sys::socket::{MsgFlags, send};

use super::feedback::{self, MOST_PACKETS, Report};
use crate::time::monotonic_ns;
use crate::traffic::generator::Setup;
use crate::traffic::receiver::Receiver;
use crate::traffic::receiver_stats::ReceiverStats;
use crate::traffic::threads::lock;

pub struct Reporter {
    receiver: Receiver,
    stats: Arc<Mutex<ReceiverStats>>,
    socket: Arc<OwnedFd>,
    ssrc: u32,
    t0_ns: i64,
    arrivals: Arrivals,
    ended: bool,
}

impl Reporter {
    pub fn new(setup: &Setup, socket: OwnedFd) -> Self {
        let socket = Arc::new(socket);
        let receiver = Receiver::new(setup, Arc::clone(&socket));
        Self {
            stats: receiver.stats(),
            receiver,
            socket,
            ssrc: setup.flow.id,
            t0_ns: setup.t0_ns,
            arrivals: Arrivals::default(),
            ended: false,
        }
    }

    /// Reports packets that have arrived since the last report, if there are any; false after the end.
    pub fn report(&mut self) -> bool {
        if self.ended {
            return false;
        }
        self.take();
        let now_ns = monotonic_ns() - self.t0_ns;
        for report in self.arrivals.reports(now_ns) {
            // A report that this node's own queue drops is lost, like one that a later queue drops.
            let packet = report.encode(self.ssrc);
            let _ = send(self.socket.as_raw_fd(), &packet, MsgFlags::empty());
        }
        true
    }

    /// Takes the last datagrams and ends; returns the totals.
    pub fn end(&mut self) -> MutexGuard<'_, ReceiverStats> {
        self.take();
        self.ended = true;
        lock(&self.stats)
    }

    fn take(&mut self) {
        let arrivals = &mut self.arrivals;
        self.receiver
            .take_waiting(|datagram| arrivals.add(datagram.sequence, datagram.received_ns));
    }
}

/// Arrivals that the next report has: those that are new, and those of the last report, which may have been lost (RFC
/// 8888, 3).
#[derive(Default)]
struct Arrivals {
    times_ns: BTreeMap<u64, i64>,
    begin: u64,
    /// The first packet that was not in a report yet.
    next: u64,
    is_new: bool,
}

impl Arrivals {
    fn add(&mut self, sequence: u64, received_ns: i64) {
        if sequence >= self.begin {
            self.is_new |= self.times_ns.insert(sequence, received_ns).is_none();
        }
    }

    /// The reports at an instant: none if there is nothing new, several if one packet has no room for all.
    fn reports(&mut self, now_ns: i64) -> Vec<Report> {
        let Some((&last, _)) = self.times_ns.last_key_value().filter(|_| self.is_new) else {
            return Vec::new();
        };
        let wanted: Vec<u64> = (self.begin..=last).collect();
        let reports = wanted.chunks(MOST_PACKETS).map(|numbers| Report {
            begin: numbers.first().copied().unwrap_or(last) as u16,
            offsets: numbers
                .iter()
                .map(|number| self.times_ns.get(number))
                .map(|time_ns| time_ns.map(|time_ns| feedback::offset(now_ns - time_ns)))
                .collect(),
            timestamp: feedback::timestamp(now_ns),
        });
        let reports = reports.collect();
        self.begin = self.next;
        self.next = last + 1;
        self.times_ns = self.times_ns.split_off(&self.begin);
        self.is_new = false;
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn report(arrivals: &mut Arrivals, now_s: i64) -> Vec<(u16, Vec<Option<u16>>)> {
        let reports = arrivals.reports(now_s * SECOND);
        reports.into_iter().map(|r| (r.begin, r.offsets)).collect()
    }

    #[test]
    fn each_packet_is_in_two_reports() {
        let mut arrivals = Arrivals::default();
        assert!(report(&mut arrivals, 1).is_empty(), "nothing has arrived");
        arrivals.add(0, SECOND);
        arrivals.add(2, SECOND);
        let first = vec![Some(1024), None, Some(1024)];
        assert_eq!(report(&mut arrivals, 2), [(0, first)]);
        assert!(report(&mut arrivals, 3).is_empty(), "nothing is new");
        arrivals.add(3, 3 * SECOND);
        arrivals.add(1, 3 * SECOND);
        let second = vec![Some(3072), Some(1024), Some(3072), Some(1024)];
        assert_eq!(report(&mut arrivals, 4), [(0, second)]);
        arrivals.add(4, 4 * SECOND);
        assert_eq!(
            report(&mut arrivals, 5),
            [(3, vec![Some(2048), Some(1024)])]
        );
    }

    #[test]
    fn many_packets_are_several_reports() {
        let mut arrivals = Arrivals::default();
        (0..1000).for_each(|sequence| arrivals.add(sequence, 0));
        let found = report(&mut arrivals, 1);
        let lengths: Vec<(u16, usize)> = found.iter().map(|(b, o)| (*b, o.len())).collect();
        assert_eq!(lengths, [(0, 560), (560, 440)]);
    }
}

//! The sender's end of the reports: from RTCP packets to departures and arrivals for the congestion control.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;

use super::feedback::{Report, offset_ns};
use super::gcc::{Bounds, Gcc, Packet};
use crate::backend::Departure;
use crate::constants::RTP_HEADER_BYTES;
use crate::time::Stamps;
use crate::traffic::fields::MediaFields;
use crate::traffic::generator::Setup;
use crate::traffic::rate_control::{RateControl, Row};
use crate::traffic::threads::lock;

const REPORT_BYTES: usize = 2048;

pub struct Control {
    flow_id: u32,
    t0_ns: i64,
    socket: OwnedFd,
    stamps: Stamps,
    outstanding: Outstanding,
    gcc: Gcc,
    table: Arc<Mutex<RateControl>>,
}

impl Control {
    pub fn new(setup: &Setup, fields: &MediaFields, socket: OwnedFd) -> Self {
        let bounds = Bounds {
            least_bps: fields.min_rate_bps as f64,
            most_bps: fields.max_rate_bps as f64,
        };
        Self {
            flow_id: setup.flow.id,
            t0_ns: setup.t0_ns,
            socket,
            stamps: Stamps::new(),
            outstanding: Outstanding::default(),
            gcc: Gcc::new(fields.rate_bps as f64, bounds),
            table: Arc::clone(&setup.tables.rate_control),
        }
    }

    /// The rate of media to send.
    pub fn target_bps(&self) -> u64 {
        self.gcc.target_bps()
    }

    /// Remembers packets that have left.
    pub fn sent(&mut self, departures: &[Departure]) {
        for departure in departures {
            let sent_ns = departure.at_ns - self.t0_ns;
            let bytes = departure.payload_bytes - RTP_HEADER_BYTES;
            self.outstanding.sent.push_back((sent_ns, bytes));
        }
    }

    /// Acts on the reports that have arrived.
    pub fn hear(&mut self) -> Result<()> {
        while let Some((report, now_ns)) = self.next_report() {
            let Some(heard) = report.and_then(|report| self.outstanding.take(&report, now_ns))
            else {
                continue;
            };
            let state = self.gcc.report(now_ns, heard.rtt_ns, &heard.packets);
            lock(&self.table).add(Row {
                flow_id: self.flow_id,
                time_ns: now_ns,
                target_bps: self.gcc.target_bps(),
                delay_based_bps: state.delay_based_bps as u64,
                loss_based_bps: state.loss_based_bps as u64,
                received_bps: state.received_bps.map(|bps| bps as u64),
                lost: state.lost,
                rtt_ns: heard.rtt_ns,
                gradient_ms: state.gradient_ms,
                threshold_ms: state.threshold_ms,
                usage: state.usage,
                state: state.state,
            })?;
        }
        Ok(())
    }

    /// Takes a datagram from the socket: the report in it, if it is one, and when it arrived; None if there is none.
    fn next_report(&self) -> Option<(Option<Report>, i64)> {
        let mut bytes = [0_u8; REPORT_BYTES];
        let mut control = cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let message = recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::MSG_DONTWAIT,
        )
        .ok()?;
        let stamp = message.cmsgs().ok()?.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(t) => {
                Some(t.tv_sec() * 1_000_000_000 + t.tv_nsec())
            }
            _ => None,
        })?;
        let (length, now_ns) = (message.bytes, self.stamps.monotonic_ns(stamp) - self.t0_ns);
        Some((Report::parse(bytes.get(..length)?), now_ns))
    }
}

/// The content of a report about packets that were not in an earlier one.
struct Heard {
    packets: Vec<Packet>,
    /// The round-trip time of the last packet that arrived.
    rtt_ns: Option<i64>,
}

/// Packets that have left and were not in a report yet.
#[derive(Default)]
struct Outstanding {
    /// The departure of each, from t0, and its bytes of media.
    sent: VecDeque<(i64, u32)>,
    /// The number of the first of them.
    first: u64,
    /// The receiver's clock at its last report, in the report's units and in ns.
    clock: Option<(u32, i64)>,
}

impl Outstanding {
    /// Takes the packets of a report; earlier ones that were in no report are unknown, and left out.
    fn take(&mut self, report: &Report, now_ns: i64) -> Option<Heard> {
        let reported_ns = self.reported_ns(report.timestamp);
        let ahead = report.begin.wrapping_sub(self.first as u16) as i16;
        let begin = self.first.checked_add_signed(i64::from(ahead))?;
        let mut packets = Vec::new();
        let mut rtt_ns = None;
        for (number, offset) in (begin..).zip(&report.offsets) {
            if number < self.first {
                continue;
            }
            while self.first < number {
                self.sent.pop_front()?;
                self.first += 1;
            }
            let (sent_ns, bytes) = self.sent.pop_front()?;
            self.first += 1;
            let arrived_ns = offset.map(|offset| reported_ns - offset_ns(offset));
            if let Some(offset) = offset {
                rtt_ns = Some(now_ns - sent_ns - offset_ns(*offset));
            }
            packets.push(Packet {
                sent_ns,
                arrived_ns,
                bytes,
            });
        }
        Some(Heard { packets, rtt_ns })
    }

    /// The receiver's clock in ns, which counts from its first report.
    fn reported_ns(&mut self, timestamp: u32) -> i64 {
        let (last, last_ns) = self.clock.unwrap_or((timestamp, 0));
        let passed = timestamp.wrapping_sub(last) as i32;
        let now_ns = last_ns + i64::from(passed) * 1_000_000_000 / 65_536;
        self.clock = Some((timestamp, now_ns));
        now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn outstanding(count: u32) -> Outstanding {
        Outstanding {
            sent: (0..count).map(|n| (i64::from(n) * MS, 100 + n)).collect(),
            ..Outstanding::default()
        }
    }

    fn report(begin: u16, offsets: &[Option<u16>]) -> Report {
        Report {
            begin,
            offsets: offsets.to_vec(),
            timestamp: 7,
        }
    }

    fn taken(out: &mut Outstanding, report: &Report) -> Vec<(u32, bool)> {
        let heard = out.take(report, 500 * MS).map(|heard| heard.packets);
        let packets = heard.unwrap_or_default();
        let found = packets.iter().map(|p| (p.bytes, p.arrived_ns.is_some()));
        found.collect()
    }

    #[test]
    fn a_packet_counts_once_and_an_unknown_one_never() {
        let mut out = outstanding(8);
        let first = report(0, &[Some(0), None]);
        assert_eq!(taken(&mut out, &first), [(100, true), (101, false)]);
        let again = report(0, &[Some(0), Some(0), Some(0)]);
        assert_eq!(taken(&mut out, &again), [(102, true)]);
        let later = report(5, &[Some(0)]);
        assert_eq!(
            taken(&mut out, &later),
            [(105, true)],
            "103, 104: two reports were lost"
        );
    }

    #[test]
    fn numbers_go_on_after_65535() {
        let mut out = outstanding(3);
        out.first = 65_535;
        let found = taken(&mut out, &report(65_535, &[Some(0), Some(0), Some(0)]));
        assert_eq!(found.len(), 3);
        assert_eq!(out.first, 65_538);
    }

    #[test]
    fn a_report_of_packets_that_were_never_sent_is_refused() {
        assert!(outstanding(2).take(&report(0, &[None; 3]), 0).is_none());
    }

    #[test]
    fn the_round_trip_leaves_out_the_wait_for_the_report() {
        let heard = outstanding(2).take(&report(0, &[Some(512), Some(256)]), 500 * MS);
        assert_eq!(heard.and_then(|heard| heard.rtt_ns), Some(249 * MS));
    }
}

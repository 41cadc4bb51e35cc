//! One direction of a flow: counts of its packets, and facts about them that the other side's packets reveal.

use crate::distribution::Distribution;
use crate::flags::Flags;
use crate::packet_info::PacketInfo;
use crate::segment::{ACK, SYN, Segment};
use crate::sequence::{Finding, Sender};

/// Times of a series of packets, for its mean interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    count: u64,
    first_ns: i64,
    last_ns: i64,
    longest_ns: u64,
}

impl Times {
    fn push(&mut self, time_ns: i64) {
        if self.count == 0 {
            self.first_ns = time_ns;
        } else {
            let gap = time_ns.saturating_sub(self.last_ns);
            self.longest_ns = self.longest_ns.max(u64::try_from(gap).unwrap_or(0));
        }
        self.last_ns = time_ns;
        self.count += 1;
    }

    /// Number of packets.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Time at which the first was captured.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.first_ns)
    }

    /// Time from the first to the last.
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        (self.count > 0).then(|| self.last_ns.saturating_sub(self.first_ns))
    }

    /// The mean interval from one packet to the next; `None` with fewer than two.
    #[must_use]
    pub fn mean_gap_ns(&self) -> Option<f64> {
        let duration = self.duration_ns()?;
        (self.count > 1).then(|| duration as f64 / (self.count - 1) as f64)
    }

    /// The longest interval; `None` with fewer than two packets.
    #[must_use]
    pub fn longest_gap_ns(&self) -> Option<u64> {
        (self.count > 1).then_some(self.longest_ns)
    }
}

/// Bytes in flight after each segment with data.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    count: u64,
    sum: u64,
    most: u32,
}

impl InFlight {
    fn push(&mut self, bytes: u32) {
        self.count += 1;
        self.sum += u64::from(bytes);
        self.most = self.most.max(bytes);
    }

    /// The mean over segments; `None` without segments.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The maximum; `None` without segments.
    #[must_use]
    pub fn most_bytes(&self) -> Option<u32> {
        (self.count > 0).then_some(self.most)
    }
}

/// Counts of one direction.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    pub(crate) sender: Sender,
    /// Times of its packets
    pub packets: Times,
    /// Their bytes on the wire, with the link layer
    pub wire_bytes: u64,
    /// Payload of TCP or UDP
    pub payload_bytes: u64,
    /// Packets with payload
    pub data_packets: u64,
    /// Packets marked congestion experienced (RFC 3168)
    pub marked_packets: u64,
    /// Bytes in flight
    pub in_flight: InFlight,
    /// RTT from its data to the other side's ACK
    pub ack_rtt: Distribution,
    /// Times of the other side's ACKs without payload
    pub acks: Times,
    /// Times of its own packets with the ACK flag: for TCP all but a SYN and some resets
    pub ack_flagged: Times,
    /// Payload that the other side acknowledged
    pub acked_bytes: u64,
    /// The maximum segment size that its sender announced
    pub mss_bytes: Option<u16>,
    findings: [u64; Flags::NAMES.len()],
}

impl Direction {
    /// Number of its packets with this finding.
    #[must_use]
    pub fn count_of(&self, flag: Flags) -> u64 {
        let at = Flags::NAMES.iter().position(|(one, _)| *one == flag);
        at.and_then(|at| self.findings.get(at))
            .copied()
            .unwrap_or(0)
    }

    pub(crate) fn count(&mut self, packet_info: &PacketInfo) {
        self.packets.push(packet_info.time_ns);
        self.wire_bytes += u64::from(packet_info.wire_bytes);
        self.payload_bytes += u64::from(packet_info.payload_bytes);
        self.data_packets += u64::from(packet_info.payload_bytes > 0);
        self.marked_packets += u64::from(packet_info.marked);
    }

    /// Counts the findings about a segment of this direction.
    pub(crate) fn found(&mut self, time_ns: i64, segment: &Segment, finding: &Finding) {
        if finding.flags != Flags::default() {
            for (count, (flag, _)) in self.findings.iter_mut().zip(Flags::NAMES) {
                *count += u64::from(finding.flags.has(*flag));
            }
        }
        if let Some(bytes) = finding.bytes_in_flight {
            self.in_flight.push(bytes);
        }
        if segment.has(ACK) {
            self.ack_flagged.push(time_ns);
        }
        if segment.has(SYN) {
            self.mss_bytes = segment.options.mss_bytes.or(self.mss_bytes);
        }
    }

    /// Counts what a segment of the other side reveals about this direction.
    pub(crate) fn answered(&mut self, time_ns: i64, segment: &Segment, finding: &Finding) {
        if let Some(rtt_ns) = finding.ack_rtt_ns {
            self.ack_rtt.push(rtt_ns);
        }
        if !segment.has(ACK) {
            return;
        }
        if segment.payload_bytes == 0 && !segment.has(SYN) {
            self.acks.push(time_ns);
        }
        self.acked_bytes += u64::from(finding.acked_bytes);
    }
}

//! Datagrams that a UDP flow's receiver got: `datagrams.arrows` and its sums.

use super::flow_stats::FlowStats;
use netwarp_records::table::Batch;
use netwarp_records::tables::datagrams;

/// `datagrams.arrows`: one row for each datagram that arrived, of all flows.
pub type Datagrams = Batch<datagrams::Rows>;

/// A datagram that arrived; times from t0.
pub struct Datagram {
    pub sequence: u64,
    pub received_ns: i64,
    pub sent_ns: i64,
    pub bytes: u32,
}

impl Datagram {
    pub fn row(&self, flow_id: u32) -> datagrams::Row {
        datagrams::Row {
            flow_id,
            sequence: self.sequence,
            sent_ns: self.sent_ns,
            received_ns: self.received_ns,
            payload_bytes: self.bytes,
        }
    }
}

/// Sums over a flow's datagrams.
#[derive(Default)]
pub struct ReceiverStats {
    bytes: u64,
    /// Datagrams that arrived after one with a higher sequence number.
    reordered: u64,
    pub error: Option<String>,
    packets: u64,
    unique: u64,
    seen: Vec<u64>,
    highest: Option<u64>,
    transit_ns: Option<i64>,
    jitter_ns: f64,
}

impl ReceiverStats {
    pub fn add(&mut self, datagram: &Datagram) {
        self.packets += 1;
        self.bytes += u64::from(datagram.bytes);
        if self
            .highest
            .is_some_and(|highest| datagram.sequence < highest)
        {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(datagram.sequence));
        let (word, bit) = (
            (datagram.sequence / 64) as usize,
            1_u64 << (datagram.sequence % 64),
        );
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.unique += 1;
        }
        let transit = datagram.received_ns - datagram.sent_ns;
        if let Some(before) = self.transit_ns.replace(transit) {
            // RFC 3550, 6.4.1 and A.8: J += (|D| − J) / 16
            self.jitter_ns += ((transit - before).abs() as f64 - self.jitter_ns) / 16.0;
        }
    }

    /// Adds the totals of the receiver to those of its flow.
    pub fn add_to(&self, stats: &mut FlowStats) {
        stats.error = self.error.clone().or_else(|| stats.error.take());
        stats.received_bytes = Some(self.bytes);
        stats.received_pkts = Some(self.unique);
        stats.duplicate_pkts = Some(self.packets - self.unique);
        stats.reordered_pkts = Some(self.reordered);
        // Absent with fewer than two datagrams.
        stats.jitter_us = (self.packets > 1).then_some(self.jitter_ns / 1e3);
    }
}

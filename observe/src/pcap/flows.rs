//! The table of flows: one row for each direction that has packets.

use anyhow::Result;
use netwarp_capture::{Analysis, Direction, Endpoint, Flags, Flow, Protocol};

use super::cells::{count, mbps, ms, text};
use super::output::{Cell, Column, Format, Kind, Output};

/// The subject of a row.
struct Row<'a> {
    file: &'a str,
    flow: &'a Flow,
    /// 0 for the direction of the flow's first packet, 1 for the other
    towards: usize,
    /// The packets of the row
    this: &'a Direction,
    /// The packets that answer them
    other: &'a Direction,
}

/// A column's name, its kind, and its cell in a row.
type Entry = (&'static str, Kind, fn(&Row<'_>) -> Option<Cell>);

#[rustfmt::skip]
const COLUMNS: &[Entry] = &[
    ("file", Kind::Text, |row| text(row.file)),
    ("protocol", Kind::Text, |row| text(row.flow.protocol.name())),
    ("stream", Kind::Count, |row| count(row.flow.stream)),
    ("src", Kind::Text, |row| text(row.ends()[0].address())),
    ("sport", Kind::Count, |row| count(row.ends()[0].port)),
    ("dst", Kind::Text, |row| text(row.ends()[1].address())),
    ("dport", Kind::Count, |row| count(row.ends()[1].port)),
    ("start_ns", Kind::Time, |row| row.this.packets.first_ns().map(Cell::Time)),
    ("duration_s", Kind::Real, |row| row.seconds().map(Cell::Real)),
    ("packets", Kind::Count, |row| count(row.this.packets.count())),
    ("bytes", Kind::Count, |row| count(row.this.wire_bytes)),
    ("payload_bytes", Kind::Count, |row| count(row.this.payload_bytes)),
    ("data_packets", Kind::Count, |row| count(row.this.data_packets)),
    ("acked_bytes", Kind::Count, |row| row.acked().and_then(count)),
    ("throughput_mbps", Kind::Real, |row| mbps(row.this.wire_bytes, row.seconds()?)),
    ("goodput_mbps", Kind::Real, |row| mbps(row.acked()?, row.seconds()?)),
    ("handshake_rtt_ms", Kind::Real, |row| ms(row.flow.handshake_ns()? as f64)),
    ("ack_rtt_samples", Kind::Count, |row| row.tcp(|row| count(row.this.ack_rtt.count()))),
    ("ack_rtt_ms_mean", Kind::Real, |row| ms(row.this.ack_rtt.mean()?)),
    ("ack_rtt_ms_std", Kind::Real, |row| ms(row.this.ack_rtt.deviation()?)),
    ("ack_rtt_ms_min", Kind::Real, |row| ms(row.this.ack_rtt.least()? as f64)),
    ("ack_rtt_ms_p50", Kind::Real, |row| ms(row.this.ack_rtt.quantile(0.5)?)),
    ("ack_rtt_ms_p95", Kind::Real, |row| ms(row.this.ack_rtt.quantile(0.95)?)),
    ("ack_rtt_ms_p99", Kind::Real, |row| ms(row.this.ack_rtt.quantile(0.99)?)),
    ("ack_rtt_ms_max", Kind::Real, |row| ms(row.this.ack_rtt.most()? as f64)),
    ("bytes_in_flight_mean", Kind::Real, |row| row.this.in_flight.mean_bytes().map(Cell::Real)),
    ("bytes_in_flight_max", Kind::Count, |row| count(row.this.in_flight.most_bytes()?)),
    ("retransmissions", Kind::Count, |row| row.tcp(|row| count(row.retransmissions()))),
    ("fast_retransmissions", Kind::Count, |row| row.found(row.this, Flags::FAST_RETRANSMISSION)),
    ("spurious_retransmissions", Kind::Count, |row| row.found(row.this, Flags::SPURIOUS_RETRANSMISSION)),
    ("timeout_retransmissions", Kind::Count, |row| row.found(row.this, Flags::TIMEOUT)),
    ("resent_packets", Kind::Count, |row| row.found(row.this, Flags::RESENT)),
    ("out_of_order", Kind::Count, |row| row.found(row.this, Flags::OUT_OF_ORDER)),
    ("lost_segments", Kind::Count, |row| row.found(row.this, Flags::LOST_SEGMENT)),
    ("ack_lost_segments", Kind::Count, |row| row.found(row.other, Flags::ACK_LOST_SEGMENT)),
    ("duplicate_acks", Kind::Count, |row| row.found(row.other, Flags::DUPLICATE_ACK)),
    ("window_full", Kind::Count, |row| row.found(row.this, Flags::WINDOW_FULL)),
    ("zero_windows", Kind::Count, |row| row.found(row.other, Flags::ZERO_WINDOW)),
    ("zero_window_probes", Kind::Count, |row| row.found(row.this, Flags::ZERO_WINDOW_PROBE)),
    ("window_updates", Kind::Count, |row| row.found(row.other, Flags::WINDOW_UPDATE)),
    ("keep_alives", Kind::Count, |row| row.found(row.this, Flags::KEEP_ALIVE)),
    ("gap_ms_mean", Kind::Real, |row| ms(row.this.packets.mean_gap_ns()?)),
    ("gap_ms_max", Kind::Real, |row| ms(row.this.packets.longest_gap_ns()? as f64)),
    ("acks", Kind::Count, |row| row.tcp(|row| count(row.this.acks.count()))),
    ("acks_start_ns", Kind::Time, |row| row.this.acks.first_ns().map(Cell::Time)),
    ("ack_interval_ms_mean", Kind::Real, |row| ms(row.this.acks.mean_gap_ns()?)),
    ("ack_flag_packets", Kind::Count, |row| row.tcp(|row| count(row.this.ack_flagged.count()))),
    ("ack_flag_start_ns", Kind::Time, |row| row.this.ack_flagged.first_ns().map(Cell::Time)),
    ("ack_flag_duration_s", Kind::Real, |row| Some(Cell::Real(row.this.ack_flagged.duration_ns()? as f64 / 1e9))),
    ("marked_packets", Kind::Count, |row| count(row.this.marked_packets)),
    ("mss_bytes", Kind::Count, |row| count(row.this.mss_bytes?)),
];

/// Columns of the table for people; the other formats have all.
const SHOWN: [&str; 18] = [
    "file",
    "protocol",
    "src",
    "sport",
    "dst",
    "dport",
    "packets",
    "goodput_mbps",
    "handshake_rtt_ms",
    "ack_rtt_ms_mean",
    "ack_rtt_ms_p95",
    "bytes_in_flight_mean",
    "retransmissions",
    "resent_packets",
    "out_of_order",
    "duplicate_acks",
    "gap_ms_mean",
    "ack_interval_ms_mean",
];

/// The table in one of the formats.
pub struct Flows(Vec<&'static Entry>);

impl Flows {
    /// Chooses the columns for this format; a table for people leaves out the file's name if there is only one.
    pub fn new(format: Format, files: usize) -> Self {
        let is_in = |name: &str| match format {
            Format::Text => SHOWN.contains(&name) && (name != "file" || files > 1),
            _ => true,
        };
        Self(COLUMNS.iter().filter(|(name, ..)| is_in(name)).collect())
    }

    pub fn columns(&self) -> Vec<Column> {
        self.0
            .iter()
            .map(|(name, kind, _)| (*name, *kind))
            .collect()
    }

    /// Writes the rows of a capture, in the order of its flows' first packets.
    pub fn write(&self, output: &mut Output, file: &str, analysis: &Analysis) -> Result<()> {
        for flow in analysis.flows() {
            let [forward, backward] = &flow.directions;
            for (towards, this, other) in [(0, forward, backward), (1, backward, forward)] {
                let row = Row {
                    file,
                    flow,
                    towards,
                    this,
                    other,
                };
                if this.packets.count() > 0 {
                    output.row(self.0.iter().map(|(_, _, value)| value(&row)))?;
                }
            }
        }
        Ok(())
    }
}

impl Row<'_> {
    fn ends(&self) -> [Endpoint; 2] {
        self.flow.ends_of(self.towards)
    }

    /// Time from the first packet of the row to its last.
    fn seconds(&self) -> Option<f64> {
        Some(self.this.packets.duration_ns()? as f64 / 1e9)
    }

    /// A value that is absent unless the flow is TCP.
    fn tcp(&self, value: impl Fn(&Self) -> Option<Cell>) -> Option<Cell> {
        (self.flow.protocol == Protocol::Tcp)
            .then(|| value(self))
            .flatten()
    }

    fn found(&self, direction: &Direction, flag: Flags) -> Option<Cell> {
        self.tcp(|_| count(direction.count_of(flag)))
    }

    /// Retransmissions of all kinds, as the display filter `tcp.analysis.retransmission` finds them.
    fn retransmissions(&self) -> u64 {
        [
            Flags::RETRANSMISSION,
            Flags::FAST_RETRANSMISSION,
            Flags::SPURIOUS_RETRANSMISSION,
        ]
        .map(|flag| self.this.count_of(flag))
        .iter()
        .sum()
    }

    /// Payload that arrived: acknowledged by the other side, or for UDP the payload seen.
    fn acked(&self) -> Option<u64> {
        match self.flow.protocol {
            Protocol::Udp => Some(self.this.payload_bytes),
            Protocol::Tcp => (self.other.packets.count() > 0).then_some(self.this.acked_bytes),
        }
    }
}

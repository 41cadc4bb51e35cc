//! The table over time: one row for each direction of a flow and each interval in which some of its packets were
//! captured.

use netwarp_capture::{Endpoint, Flow, Interval, Place, Protocol};

use super::cells::{count, mbps, ms, text};
use super::output::{Cell, Column, Kind};

/// The subject of a row.
pub struct Row<'a> {
    pub file: &'a str,
    pub flow: &'a Flow,
    pub place: Place,
    pub interval: &'a Interval,
    pub interval_s: f64,
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
    ("time_s", Kind::Real, |row| Some(Cell::Real(row.interval.number as f64 * row.interval_s))),
    ("packets", Kind::Count, |row| count(row.interval.packets)),
    ("bytes", Kind::Count, |row| count(row.interval.wire_bytes)),
    ("payload_bytes", Kind::Count, |row| count(row.interval.payload_bytes)),
    ("acked_bytes", Kind::Count, |row| row.tcp().and_then(|()| count(row.interval.acked_bytes))),
    ("throughput_mbps", Kind::Real, |row| mbps(row.interval.wire_bytes, row.interval_s)),
    ("goodput_mbps", Kind::Real, |row| {
        let udp = row.interval.payload_bytes;
        mbps(row.tcp().map_or(udp, |()| row.interval.acked_bytes), row.interval_s)
    }),
    ("resent_packets", Kind::Count, |row| row.tcp().and_then(|()| count(row.interval.resent_packets))),
    ("ack_rtt_samples", Kind::Count, |row| row.tcp().and_then(|()| count(row.interval.ack_rtt_samples))),
    ("ack_rtt_ms_mean", Kind::Real, |row| {
        let samples = row.interval.ack_rtt_samples;
        (samples > 0).then(|| ms(row.interval.ack_rtt_sum_ns as f64 / samples as f64)).flatten()
    }),
    ("bytes_in_flight", Kind::Count, |row| count(row.interval.bytes_in_flight?)),
];

pub fn columns() -> Vec<Column> {
    COLUMNS
        .iter()
        .map(|(name, kind, _)| (*name, *kind))
        .collect()
}

impl Row<'_> {
    pub fn cells(&self) -> impl Iterator<Item = Option<Cell>> {
        COLUMNS.iter().map(|(_, _, value)| value(self))
    }

    fn ends(&self) -> [Endpoint; 2] {
        self.flow.ends_of(self.place.direction)
    }

    fn tcp(&self) -> Option<()> {
        (self.flow.protocol == Protocol::Tcp).then_some(())
    }
}

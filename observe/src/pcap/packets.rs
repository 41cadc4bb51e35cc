//! The table of packets: one row for each packet that is in a flow.

use netwarp_capture::file::Frame;
use netwarp_capture::{Endpoint, Flags, Flow, Observation};

use super::cells::{count, ms, text};
use super::output::{Cell, Column, Kind};

/// The subject of a row.
pub struct Row<'a> {
    pub file: &'a str,
    /// The frame's number in the file, from 1
    pub number: u64,
    pub frame: &'a Frame<'a>,
    pub flow: &'a Flow,
    pub seen: &'a Observation,
}

/// A column's name, its kind, and its cell in a row.
type Entry = (&'static str, Kind, fn(&Row<'_>) -> Option<Cell>);

#[rustfmt::skip]
const COLUMNS: &[Entry] = &[
    ("file", Kind::Text, |row| text(row.file)),
    ("frame", Kind::Count, |row| count(row.number)),
    ("time_ns", Kind::Time, |row| Some(Cell::Time(row.frame.time_ns))),
    ("protocol", Kind::Text, |row| text(row.flow.protocol.name())),
    ("stream", Kind::Count, |row| count(row.flow.stream)),
    ("src", Kind::Text, |row| text(row.ends()[0].address())),
    ("sport", Kind::Count, |row| count(row.ends()[0].port)),
    ("dst", Kind::Text, |row| text(row.ends()[1].address())),
    ("dport", Kind::Count, |row| count(row.ends()[1].port)),
    ("bytes", Kind::Count, |row| count(row.frame.wire_bytes)),
    ("payload_bytes", Kind::Count, |row| count(row.seen.payload_bytes)),
    ("acked_bytes", Kind::Count, |row| count(row.seen.finding.acked_bytes)),
    ("ack_rtt_ms", Kind::Real, |row| ms(row.seen.finding.ack_rtt_ns? as f64)),
    ("bytes_in_flight", Kind::Count, |row| count(row.seen.finding.bytes_in_flight?)),
    ("findings", Kind::Text, |row| {
        let names = Flags::NAMES.iter().filter(|(flag, _)| row.seen.finding.flags.has(*flag));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        (!names.is_empty()).then(|| Cell::Text(names.join(" ")))
    }),
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
        self.flow.ends_of(self.seen.place.direction)
    }
}

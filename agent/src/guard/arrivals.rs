//! `arrivals.arrows`: payload that reached the socket it was sent to, and how much of it came for the first time.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{Int64Builder, UInt32Builder};
use arrow_schema::DataType::{Int64, UInt32};
use rustc_hash::FxHashMap;

use super::events::{Fields, TUPLE};
use crate::table::{BATCH_ROWS, Table};

/// IPPROTO_TCP; where it stands in struct netwarp_tuple.
const TCP: u8 = 6;
const PROTOCOL: usize = 1;
/// Offset of the tuple in struct netwarp_arrival.
pub const HEAD: usize = 16;

/// The table, its rows not yet written, and what each TCP receiver holds beyond a gap.
pub struct Arrivals {
    table: Table,
    len: usize,
    time_ns: Int64Builder,
    tuple: UInt32Builder,
    payload_bytes: UInt32Builder,
    new_bytes: UInt32Builder,
    beyond: FxHashMap<u32, Beyond>,
}

impl Arrivals {
    pub fn create(dir: &Path) -> Result<Self> {
        let columns = [
            ("time_ns", Int64, false),
            ("tuple_id", UInt32, false),
            ("payload_bytes", UInt32, false),
            ("new_bytes", UInt32, false),
        ];
        Ok(Self {
            table: Table::create(&dir.join("arrivals.arrows"), &columns)?,
            len: 0,
            time_ns: Int64Builder::new(),
            tuple: UInt32Builder::new(),
            payload_bytes: UInt32Builder::new(),
            new_bytes: UInt32Builder::new(),
            beyond: FxHashMap::default(),
        })
    }

    /// struct netwarp_arrival
    pub fn push(&mut self, record: &Fields, time_ns: i64, tuple: u32) -> Result<()> {
        let bytes = record.u32(4);
        let new = if record.u8(HEAD + PROTOCOL) == TCP {
            let (seq, awaited) = (record.u32(HEAD + TUPLE), record.u32(HEAD + TUPLE + 4));
            let receiver = self.beyond.entry(tuple).or_default();
            receiver.take(seq, bytes, awaited)
        } else {
            bytes
        };
        self.time_ns.append_value(time_ns);
        self.tuple.append_value(tuple);
        self.payload_bytes.append_value(bytes);
        self.new_bytes.append_value(new);
        self.len += 1;
        if self.len == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        self.len = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.time_ns.finish()),
            Arc::new(self.tuple.finish()),
            Arc::new(self.payload_bytes.finish()),
            Arc::new(self.new_bytes.finish()),
        ];
        self.table.write(columns)
    }
}

/// What a TCP receiver has of the stream beyond the number that it waits for: ranges without gaps, in order, as
/// distances from that number.
#[derive(Default)]
struct Beyond {
    awaited: u32,
    ranges: Vec<(u32, u32)>,
}

impl Beyond {
    /// Takes `bytes` from `seq` on, while the receiver waits for `awaited`; how many of these it did not have yet.
    fn take(&mut self, seq: u32, bytes: u32, awaited: u32) -> u32 {
        self.wait_for(awaited);
        let from = i64::from(seq.wrapping_sub(awaited) as i32);
        let to = u32::try_from(from + i64::from(bytes)).unwrap_or(0);
        let from = u32::try_from(from).unwrap_or(0);
        if to <= from {
            return 0;
        }
        // Nearly always nothing is held beyond a gap, and the next byte is the one that is waited for.
        if from == 0 && self.ranges.is_empty() {
            return to;
        }
        self.add(from, to)
    }

    /// Distances are from the number that is waited for now: what lies before it is no longer beyond a gap.
    fn wait_for(&mut self, awaited: u32) {
        let moved = awaited.wrapping_sub(self.awaited);
        self.awaited = awaited;
        if moved == 0 || self.ranges.is_empty() {
            return;
        }
        self.ranges.retain_mut(|(first, last)| {
            *first = first.saturating_sub(moved);
            *last = last.saturating_sub(moved);
            last > first
        });
    }

    /// Joins a range with those that it meets; how much of it is new.
    fn add(&mut self, from: u32, to: u32) -> u32 {
        let begin = self.ranges.partition_point(|&(_, last)| last < from);
        let end = self.ranges.partition_point(|&(first, _)| first <= to);
        let (mut joined, mut known) = ((from, to), 0);
        for &(first, last) in &self.ranges[begin..end] {
            known += last.min(to).saturating_sub(first.max(from));
            joined = (joined.0.min(first), joined.1.max(last));
        }
        self.ranges.splice(begin..end, [joined]);
        to - from - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_in_order_is_new() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(u32::MAX - 99, 200, u32::MAX - 99), 200);
        assert_eq!(receiver.take(100, 1448, 100), 1448);
    }

    #[test]
    fn what_comes_again_is_not() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(1000, 100, 2000), 0, "long since taken");
        assert_eq!(receiver.take(1950, 100, 2000), 50, "half of it");
        assert_eq!(receiver.take(3000, 100, 2050), 100, "beyond a gap");
        assert_eq!(receiver.take(3000, 100, 2050), 0, "again");
        assert_eq!(receiver.take(3050, 100, 2050), 50, "half of it again");
        assert_eq!(receiver.take(3500, 100, 2050), 100, "a second gap");
        assert_eq!(receiver.take(2900, 800, 2050), 800 - 150 - 100, "over both");
        assert_eq!(receiver.take(2050, 850, 2050), 850, "the gap is filled");
        assert_eq!(receiver.take(3700, 10, 3700), 10, "and the stream goes on");
    }

    #[test]
    fn numbers_wrap_within_a_gap() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(50, 100, u32::MAX - 9), 100);
        assert_eq!(receiver.take(u32::MAX - 9, 60, u32::MAX - 9), 60);
        assert_eq!(receiver.take(100, 100, 150), 50);
    }
}

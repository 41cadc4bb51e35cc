//! `arrivals.arrows`: payload that reached the socket it was sent to, and how much of it came for the first time.

use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::Arrival;
use crate::table::Batch;
use crate::tables::arrivals;

/// IPPROTO_TCP
const TCP: u8 = 6;

/// The table, and what each TCP receiver holds beyond a gap.
pub struct Arrivals {
    table: Batch<arrivals::Rows>,
    beyond: FxHashMap<u32, Beyond>,
}

impl Arrivals {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            table: Batch::create(dir)?,
            beyond: FxHashMap::default(),
        })
    }

    pub fn push(&mut self, arrival: &Arrival, time_ns: i64, tuple_id: u32) -> Result<()> {
        let payload_bytes = arrival.bytes();
        let new_bytes = if arrival.tuple().protocol() == TCP {
            let receiver = self.beyond.entry(tuple_id).or_default();
            receiver.take(arrival.seq(), payload_bytes, arrival.rcv_nxt())
        } else {
            payload_bytes
        };
        self.table.push(arrivals::Row {
            time_ns,
            tuple_id,
            payload_bytes,
            new_bytes,
        })
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
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

    /// Distances are from the next expected number: what comes before it is no longer beyond a gap.
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

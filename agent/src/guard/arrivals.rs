//! `arrivals.arrows`: payload that reached the socket it was sent to, how many bytes came for the first time, and how
//! many a reader can take as a result.

use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::Arrival;
use netwarp_records::table::Batch;
use netwarp_records::tables::arrivals;

/// IPPROTO_TCP
const TCP: u8 = 6;

/// The table, and the data that each TCP receiver holds beyond a gap.
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
        let (new_bytes, in_order_bytes) = if arrival.tuple().protocol() == TCP {
            let receiver = self.beyond.entry(tuple_id).or_default();
            receiver.take(arrival.seq(), payload_bytes, arrival.rcv_nxt())
        } else {
            (payload_bytes, arrival.in_order())
        };
        self.table.push(arrivals::Row {
            time_ns,
            tuple_id,
            payload_bytes,
            new_bytes,
            in_order_bytes: Some(in_order_bytes),
        })
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// The part of the stream that a TCP receiver holds beyond the number that it waits for: ranges without gaps, in order,
/// as distances from that number.
///
/// A receiver without room may discard what it holds beyond a gap. `readable` is the number up to which bytes have been
/// counted for its reader, so that no byte counts twice; discarded bytes are counted too early, by the time of their
/// retransmission.
#[derive(Default)]
struct Beyond {
    awaited: u32,
    readable: Option<u32>,
    ranges: Vec<(u32, u32)>,
}

impl Beyond {
    /// Takes `bytes` from `seq` on, while the receiver waits for `awaited`. Returns how many of these are new, and how
    /// many a reader can take as a result.
    fn take(&mut self, seq: u32, bytes: u32, awaited: u32) -> (u32, u32) {
        let new = self.put(seq, bytes, awaited);
        let closed = match self.ranges.first() {
            Some(&(0, last)) => last,
            Some(_) => 0,
            None => new,
        };
        (new, self.read_to(awaited.wrapping_add(closed)))
    }

    /// How many bytes before `next` were not readable yet.
    fn read_to(&mut self, next: u32) -> u32 {
        let before = self.readable.unwrap_or(self.awaited);
        let ahead = |number: u32| number.wrapping_sub(self.awaited) as i32;
        let from = ahead(before).max(0);
        let bytes = u32::try_from(ahead(next) - from).unwrap_or(0);
        self.readable = Some(self.awaited.wrapping_add(from as u32).wrapping_add(bytes));
        bytes
    }

    fn put(&mut self, seq: u32, bytes: u32, awaited: u32) -> u32 {
        self.wait_for(awaited);
        let from = i64::from(seq.wrapping_sub(awaited) as i32);
        let to = u32::try_from(from + i64::from(bytes)).unwrap_or(0);
        let from = u32::try_from(from).unwrap_or(0);
        if to <= from {
            return 0;
        }
        // Usually the receiver holds nothing beyond a gap, and gets the byte that it waits for.
        if from == 0 && self.ranges.is_empty() {
            return to;
        }
        self.add(from, to)
    }

    /// Makes distances count from `awaited`: what comes before it is no longer beyond a gap.
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

    /// Merges a range with those that it meets; returns how much of it is new.
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
    fn a_stream_in_order_is_new_and_readable() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(u32::MAX - 99, 200, u32::MAX - 99), (200, 200));
        assert_eq!(receiver.take(100, 1448, 100), (1448, 1448));
    }

    #[test]
    fn what_comes_again_is_not() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(1000, 100, 2000), (0, 0), "long since taken");
        assert_eq!(receiver.take(1950, 100, 2000), (50, 50), "half of it");
        assert_eq!(receiver.take(3000, 100, 2050), (100, 0), "beyond a gap");
        assert_eq!(receiver.take(3000, 100, 2050), (0, 0), "again");
        assert_eq!(receiver.take(3050, 100, 2050), (50, 0), "half of it again");
        assert_eq!(receiver.take(3500, 100, 2050), (100, 0), "a second gap");
        assert_eq!(
            receiver.take(2900, 800, 2050),
            (800 - 150 - 100, 0),
            "over both"
        );
        assert_eq!(
            receiver.take(2050, 850, 2050),
            (850, 1650),
            "the gap is filled"
        );
        assert_eq!(
            receiver.take(3700, 10, 3700),
            (10, 10),
            "and the stream goes on"
        );
    }

    #[test]
    fn numbers_wrap_within_a_gap() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(50, 100, u32::MAX - 9), (100, 0));
        assert_eq!(receiver.take(u32::MAX - 9, 60, u32::MAX - 9), (60, 160));
        assert_eq!(receiver.take(100, 100, 150), (50, 50));
    }

    #[test]
    fn what_a_receiver_threw_away_is_readable_once() {
        let mut receiver = Beyond::default();
        assert_eq!(receiver.take(1100, 100, 1000), (100, 0));
        assert_eq!(receiver.take(1000, 100, 1000), (100, 200));
        // The receiver has discarded what was beyond the gap.
        assert_eq!(receiver.take(1100, 150, 1100), (150 - 100, 50));
    }
}

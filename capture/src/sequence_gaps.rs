//! The gaps in a sequence space below the highest number seen.

use crate::seqno::before;

/// More holes than a window of lost packets has; the oldest are dropped beyond that.
const MAX_HOLES: usize = 4096;

/// Ranges that were not seen, in order: first number, number after the last.
#[derive(Clone, Debug, Default)]
pub struct SequenceGaps {
    ranges: Vec<(u32, u32)>,
}

impl SequenceGaps {
    /// Adds the range from `seq` to `end`, where `next` follows the highest number so far. Returns whether some of it
    /// was seen before.
    pub fn see(&mut self, seq: u32, end: u32, next: u32) -> bool {
        if before(next, seq) {
            if self.ranges.len() == MAX_HOLES {
                self.ranges.remove(0);
            }
            self.ranges.push((next, seq));
            return false;
        }
        let end = if before(next, end) { next } else { end };
        let known = end.wrapping_sub(seq);
        if known == 0 || self.ranges.is_empty() {
            return known > 0;
        }
        known > self.fill(seq, end)
    }

    /// Removes the range from the holes. Returns how much of it was in them.
    fn fill(&mut self, seq: u32, end: u32) -> u32 {
        let mut filled: u32 = 0;
        let mut at = self.ranges.partition_point(|&(_, last)| !before(seq, last));
        while let Some(&(first, last)) = self.ranges.get(at) {
            if !before(first, end) {
                break;
            }
            let from = if before(first, seq) { seq } else { first };
            let to = if before(last, end) { last } else { end };
            filled = filled.wrapping_add(to.wrapping_sub(from));
            let (left, right) = ((first, from), (to, last));
            match (left.0 == left.1, right.0 == right.1) {
                (true, true) => {
                    self.ranges.remove(at);
                }
                (true, false) => {
                    self.ranges.splice(at..=at, [right]);
                    at += 1;
                }
                (false, true) => {
                    self.ranges.splice(at..=at, [left]);
                    at += 1;
                }
                (false, false) => {
                    self.ranges.splice(at..=at, [left, right]);
                    at += 2;
                }
            }
        }
        filled
    }

    /// Drops holes that the other side has acknowledged, though they were not seen here.
    pub fn acknowledge(&mut self, ack: u32) {
        if !self.ranges.is_empty() {
            self.ranges.retain(|&(_, last)| before(ack, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_hole_was_not_seen_before() {
        let mut holes = SequenceGaps::default();
        assert!(!holes.see(100, 200, 100), "new data");
        assert!(!holes.see(300, 400, 200), "beyond a hole");
        assert!(!holes.see(240, 260, 400), "its middle");
        assert!(holes.see(240, 260, 400), "again");
        assert!(!holes.see(200, 240, 400), "its beginning");
        assert!(holes.see(250, 300, 400), "some of it was seen");
        assert!(holes.see(200, 300, 400), "all of it");
    }

    #[test]
    fn numbers_wrap() {
        let mut holes = SequenceGaps::default();
        assert!(!holes.see(100, 200, u32::MAX - 99));
        assert!(!holes.see(u32::MAX - 99, 100, 200));
        assert!(holes.see(u32::MAX, 1, 200));
    }

    #[test]
    fn what_was_acknowledged_is_forgotten() {
        let mut holes = SequenceGaps::default();
        holes.see(300, 400, 200);
        holes.acknowledge(350);
        assert!(holes.see(200, 300, 400));
    }
}

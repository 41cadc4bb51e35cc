//! Data that was sent and is not yet acknowledged.

use std::collections::VecDeque;

use crate::seqno::before;

/// Limit for a sender whose acknowledgements are not in the capture, as in Wireshark.
const MAX_SEGMENTS: usize = 10_000;

/// One segment, or its part that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u32,
    end: u32,
    time_ns: i64,
}

/// The segments, ordered by their ends; segments with equal ends are in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct SentSegments {
    segments: VecDeque<Sent>,
    /// Whether some segment may begin before one that ends earlier
    nested: bool,
}

impl SentSegments {
    /// Stores a segment, unless there are too many.
    pub fn push(&mut self, seq: u32, end: u32, time_ns: i64) {
        if self.segments.len() >= MAX_SEGMENTS {
            return;
        }
        let sent = Sent { seq, end, time_ns };
        match self.segments.back() {
            Some(last) if before(end, last.end) => {
                let at = self.segments.partition_point(|s| !before(end, s.end));
                let after = self.segments.get(at).is_some_and(|s| before(s.seq, seq));
                let within = at
                    .checked_sub(1)
                    .and_then(|i| self.segments.get(i))
                    .is_some_and(|s| before(seq, s.seq));
                self.nested |= after || within;
                self.segments.insert(at, sent);
            }
            last => {
                self.nested |= last.is_some_and(|last| before(seq, last.seq));
                self.segments.push_back(sent);
            }
        }
    }

    /// Removes acknowledged segments. Returns the time of the first transmission of the segment whose end is
    /// acknowledged, if there is one.
    pub fn acknowledge(&mut self, ack: u32) -> Option<i64> {
        let mut sent_ns = None;
        while let Some(first) = self.segments.front().filter(|s| !before(ack, s.end)) {
            if sent_ns.is_none() && first.end == ack {
                sent_ns = Some(first.time_ns);
            }
            self.segments.pop_front();
        }
        self.nested &= !self.segments.is_empty();
        for segment in &mut self.segments {
            if before(segment.seq, ack) {
                segment.seq = ack;
            } else if !self.nested {
                break;
            }
        }
        sent_ns
    }

    /// Bytes from the first one that is not acknowledged to the last one sent; `None` if nothing is.
    pub fn span_bytes(&mut self) -> Option<u32> {
        let (first, last) = (self.segments.front()?, self.segments.back()?);
        let mut begin = first.seq;
        if self.nested {
            let (mut previous, mut nested) = (begin, false);
            for segment in &self.segments {
                nested |= before(segment.seq, previous);
                previous = segment.seq;
                if before(previous, begin) {
                    begin = previous;
                }
            }
            self.nested = nested;
        }
        Some(last.end.wrapping_sub(begin))
    }
}

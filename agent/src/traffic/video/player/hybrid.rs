//! The hybrid player: RobustMPC (X. Yin, A. Jindal, V. Sekar, B. Sinopoli: A Control-Theoretic Approach for Dynamic
//! Adaptive Video Streaming over HTTP, SIGCOMM 2015, sections 4.2 and 4.3).
//!
//! It plays all sequences of bitrates of the next five segments against the throughput that it expects at least, and
//! takes the first bitrate of the one with the best score, QoE_lin.

use crate::constants::{QOE_STALL_COST_MBPS, QOE_SWITCH_COST};

/// Segments that it looks ahead.
const HORIZON: u32 = 5;

/// The player; times in s.
pub struct Hybrid {
    pub segment_s: f64,
    /// The most that the buffer may hold.
    pub most_s: f64,
}

/// The conditions that do not change while it looks ahead.
struct Ahead<'a> {
    player: &'a Hybrid,
    bitrates: &'a [f64],
    throughput_bps: f64,
}

impl Hybrid {
    /// The number of the next segment's bitrate in the ladder; of bitrates that are equally good the lowest.
    pub fn choose(
        &self,
        bitrates: &[f64],
        throughput_bps: f64,
        buffer_s: f64,
        previous: usize,
        left: Option<u32>,
    ) -> usize {
        let ahead = Ahead {
            player: self,
            bitrates,
            throughput_bps,
        };
        let segments = left.unwrap_or(HORIZON).min(HORIZON);
        let before_bps = bitrates.get(previous).copied().unwrap_or_default();
        ahead.best(segments, buffer_s, before_bps).1
    }
}

impl Ahead<'_> {
    /// The best score of so many segments, and the first one's bitrate.
    fn best(&self, segments: u32, buffer_s: f64, before_bps: f64) -> (f64, usize) {
        if segments == 0 {
            return (0.0, 0);
        }
        let mut found = (f64::NEG_INFINITY, 0);
        for (level, &bps) in self.bitrates.iter().enumerate() {
            // A segment is requested once it has room.
            let has_s = buffer_s.min(self.player.most_s - self.player.segment_s);
            let takes_s = bps * self.player.segment_s / self.throughput_bps;
            let stall_s = (takes_s - has_s).max(0.0);
            let after_s = (has_s - takes_s).max(0.0) + self.player.segment_s;
            let own = bps / 1e6
                - QOE_SWITCH_COST * (bps - before_bps).abs() / 1e6
                - QOE_STALL_COST_MBPS * stall_s;
            let score = own + self.best(segments - 1, after_s, bps).0;
            if score > found.0 {
                found = (score, level);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::LADDER;
    use super::*;

    const PLAYER: Hybrid = Hybrid {
        segment_s: 4.0,
        most_s: 30.0,
    };

    #[test]
    fn the_last_segment_is_decided_by_its_own_score() {
        // One segment left, 4 s in the buffer, 1 Mbit/s before and expected: a bitrate r takes 4 r s and costs 3 for
        // each second beyond 4. 0.35 − 0.65, 0.6 − 0.4, 1, 2 − 1 − 12, 3 − 2 − 24.
        assert_eq!(PLAYER.choose(&LADDER, 1e6, 4.0, 2, Some(1)), 2);
        // With 8 s in the buffer 2 Mbit/s are in time: 2 − 1 is as good as 1, and of these the lower one is taken.
        assert_eq!(PLAYER.choose(&LADDER, 1e6, 8.0, 2, Some(1)), 2);
        // After 2 Mbit/s it stays there: 2 against 1 − 1.
        assert_eq!(PLAYER.choose(&LADDER, 1e6, 8.0, 3, Some(1)), 3);
    }

    #[test]
    fn it_climbs_as_the_climb_is_paid_once() {
        // A rise by 1 costs 1 and gives 1 for each of the segments that follow.
        assert_eq!(PLAYER.choose(&LADDER, 9e6, 8.0, 2, Some(2)), 4);
    }

    #[test]
    fn it_sees_a_stall_that_comes_later() {
        // 8 s in the buffer last for one segment of 2 Mbit/s at 1 Mbit/s, and not for a second one.
        assert_eq!(PLAYER.choose(&LADDER, 1e6, 8.0, 3, Some(1)), 3);
        assert_eq!(PLAYER.choose(&LADDER, 1e6, 8.0, 2, None), 2);
        assert_eq!(PLAYER.choose(&LADDER, 2e5, 4.0, 4, None), 0);
    }

    #[test]
    fn a_full_buffer_is_used_no_further_than_it_has_room() {
        // 60 s cannot be in a buffer of 30 s: a segment is requested at 26 s. At 0.4 Mbit/s 3 Mbit/s take 30 s.
        assert_eq!(PLAYER.choose(&[1e6, 3e6], 0.4e6, 60.0, 0, Some(1)), 0);
        let longer = Hybrid {
            most_s: 64.0,
            ..PLAYER
        };
        assert_eq!(longer.choose(&[1e6, 3e6], 0.4e6, 60.0, 1, Some(1)), 1);
        assert_eq!(PLAYER.choose(&[1e6, 3e6], 0.4e6, 60.0, 1, Some(1)), 0);
    }
}

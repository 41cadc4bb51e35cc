//! The buffer-based player: BBA-0 (T. Huang, R. Johari, N. McKeown, M. Trunnell, M. Watson: A Buffer-Based Approach to
//! Rate Adaptation, SIGCOMM 2014, section 4, algorithm 1).
//!
//! Below the reservoir it takes the lowest bitrate, above reservoir and cushion the highest, and in between it maps the
//! buffer linearly to a rate. It keeps the bitrate of the segment before until the map reaches the next one above or
//! below.

/// The player.
pub struct BufferBased {
    pub reservoir_s: f64,
    pub cushion_s: f64,
}

impl BufferBased {
    /// The number of the next segment's bitrate in a ladder that rises.
    pub fn choose(&self, bitrates: &[f64], buffer_s: f64, previous: usize) -> usize {
        let top = bitrates.len().saturating_sub(1);
        if buffer_s <= self.reservoir_s {
            return 0;
        }
        if buffer_s >= self.reservoir_s + self.cushion_s {
            return top;
        }
        let rate = |level: usize| bitrates.get(level).copied().unwrap_or_default();
        let share = (buffer_s - self.reservoir_s) / self.cushion_s;
        let mapped = rate(0) + share * (rate(top) - rate(0));
        if mapped >= rate((previous + 1).min(top)) {
            // The highest below the map.
            bitrates
                .iter()
                .filter(|bps| **bps < mapped)
                .count()
                .saturating_sub(1)
        } else if mapped <= rate(previous.saturating_sub(1)) {
            // The lowest above it.
            bitrates
                .iter()
                .filter(|bps| **bps <= mapped)
                .count()
                .min(top)
        } else {
            previous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::LADDER;
    use super::*;

    /// 350 kbit/s up to 5 s, 3 Mbit/s from 15 s on, and 265 kbit/s more for each second in between.
    const PLAYER: BufferBased = BufferBased {
        reservoir_s: 5.0,
        cushion_s: 10.0,
    };

    #[test]
    fn the_ends_of_the_buffer_decide_alone() {
        for previous in 0..5 {
            assert_eq!(PLAYER.choose(&LADDER, 5.0, previous), 0);
            assert_eq!(PLAYER.choose(&LADDER, 15.0, previous), 4);
        }
    }

    #[test]
    fn a_higher_bitrate_is_taken_when_the_map_reaches_the_next_one() {
        assert_eq!(PLAYER.choose(&LADDER, 5.9, 0), 0, "588.5 kbit/s");
        assert_eq!(PLAYER.choose(&LADDER, 6.0, 0), 1, "615 kbit/s");
        assert_eq!(
            PLAYER.choose(&LADDER, 12.0, 0),
            3,
            "2205 kbit/s: two at once"
        );
        assert_eq!(PLAYER.choose(&LADDER, 12.0, 2), 3);
    }

    #[test]
    fn a_lower_one_is_taken_when_the_map_reaches_the_one_below() {
        assert_eq!(PLAYER.choose(&LADDER, 12.0, 4), 4, "2205 is above 2000");
        assert_eq!(
            PLAYER.choose(&LADDER, 11.0, 4),
            3,
            "1940: the lowest above it"
        );
        assert_eq!(PLAYER.choose(&LADDER, 7.4, 3), 2, "986: from 2000 to 1000");
        assert_eq!(
            PLAYER.choose(&LADDER, 6.0, 4),
            2,
            "615: to the lowest above it"
        );
    }

    #[test]
    fn one_bitrate_is_always_taken() {
        for buffer_s in [0.0, 10.0, 30.0] {
            assert_eq!(PLAYER.choose(&[1e6], buffer_s, 0), 0);
        }
    }
}

//! Players: each decides the bitrate of the next segment, from what it has seen.

mod buffer;
mod hybrid;
mod throughput;

use anyhow::{Result, bail, ensure};

use self::buffer::BufferBased;
use self::hybrid::Hybrid;
use self::throughput::Past;
use crate::traffic::fields::VideoFields;

const NS_PER_S: f64 = 1e9;

/// The state before a segment is requested.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// The level of the buffer, in time of playback.
    pub buffer_ns: i64,
    /// The number, in the ladder, of the bitrate of the segment before; None before the first.
    pub previous: Option<usize>,
    /// Segments that are still to be requested, this one included; None: more than any player looks ahead.
    pub left: Option<u32>,
}

/// The bitrate that is decided, by its number in the ladder, and the throughput that it is decided for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    pub level: usize,
    /// None: the player does not look at it, or has seen none.
    pub expected_bps: Option<f64>,
}

/// How bitrates are decided.
enum Rule {
    Buffer(BufferBased),
    /// The share of the expected throughput that bitrates may have.
    Rate(f64),
    Hybrid(Hybrid),
}

/// A player.
pub struct Player {
    /// The bitrates of the ladder, which rise, in bit/s.
    bitrates: Vec<f64>,
    past: Past,
    rule: Rule,
}

impl Player {
    pub fn new(fields: &VideoFields) -> Result<Self> {
        ensure!(!fields.bitrates_bps.is_empty(), "a video without bitrates");
        let seconds = |ns: i64| ns as f64 / NS_PER_S;
        let rule = match fields.player.as_str() {
            "buffer" => Rule::Buffer(BufferBased {
                reservoir_s: seconds(fields.reservoir_ns),
                cushion_s: seconds(fields.cushion_ns),
            }),
            "rate" => Rule::Rate(fields.safety),
            "hybrid" => Rule::Hybrid(Hybrid {
                segment_s: seconds(fields.segment_ns),
                most_s: seconds(fields.buffer_ns),
            }),
            other => bail!("this agent has no player {other:?}; it has buffer, rate and hybrid"),
        };
        Ok(Self {
            bitrates: fields.bitrates_bps.iter().map(|&bps| bps as f64).collect(),
            past: Past::default(),
            rule,
        })
    }

    /// Decides the bitrate of the next segment. Before any throughput is known it is the lowest.
    pub fn choose(&mut self, seen: &Situation) -> Choice {
        let buffer_s = seen.buffer_ns as f64 / NS_PER_S;
        let mean_bps = self.past.expect();
        let (level, expected_bps) = match (&self.rule, mean_bps) {
            (Rule::Buffer(rule), _) => (
                rule.choose(&self.bitrates, buffer_s, seen.previous.unwrap_or(0)),
                None,
            ),
            (_, None) => (0, None),
            (Rule::Rate(safety), Some(mean_bps)) => {
                let usable_bps = safety * mean_bps;
                let within = self.bitrates.iter().filter(|bps| **bps <= usable_bps);
                (within.count().saturating_sub(1), Some(usable_bps))
            }
            (Rule::Hybrid(rule), Some(mean_bps)) => {
                let least_bps = mean_bps / (1.0 + self.past.largest_error());
                let previous = seen.previous.unwrap_or(0);
                let level = rule.choose(&self.bitrates, least_bps, buffer_s, previous, seen.left);
                (level, Some(least_bps))
            }
        };
        Choice {
            level,
            expected_bps,
        }
    }

    /// Learns the throughput of the segment that was decided last.
    pub fn learn(&mut self, throughput_bps: f64) {
        self.past.add(throughput_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const LADDER: [f64; 5] = [350e3, 600e3, 1e6, 2e6, 3e6];

    fn player(rule: Rule) -> Player {
        Player {
            bitrates: LADDER.to_vec(),
            past: Past::default(),
            rule,
        }
    }

    fn choose(player: &mut Player, buffer_s: i64, previous: usize) -> Choice {
        player.choose(&Situation {
            buffer_ns: buffer_s * 1_000_000_000,
            previous: Some(previous),
            left: None,
        })
    }

    #[test]
    fn the_rate_based_player_takes_the_highest_bitrate_below_a_share_of_the_throughput() {
        let mut player = player(Rule::Rate(0.5));
        let first = choose(&mut player, 0, 0);
        assert_eq!((first.level, first.expected_bps), (0, None));
        player.learn(2.1e6);
        assert_eq!(
            choose(&mut player, 4, 0).level,
            2,
            "1.05 Mbit/s are allowed"
        );
        player.learn(1.9e6);
        assert_eq!(choose(&mut player, 4, 2).level, 1, "0.9975 are allowed");
        player.learn(1e3);
        assert_eq!(choose(&mut player, 4, 1).level, 0, "none is allowed");
    }

    #[test]
    fn the_hybrid_player_lowers_what_it_expects_by_its_largest_error() {
        let mut player = player(Rule::Hybrid(Hybrid {
            segment_s: 4.0,
            most_s: 30.0,
        }));
        assert_eq!(choose(&mut player, 0, 0).expected_bps, None);
        // 2 Mbit/s, and then 1 in their place: an error of 100 %, and a harmonic mean of 4/3 Mbit/s.
        for (seen, least_bps) in [(2e6, 2e6), (1e6, 4e6 / 3.0 / 2.0)] {
            player.learn(seen);
            let expected = choose(&mut player, 4, 0).expected_bps.unwrap_or_default();
            assert!((expected / least_bps - 1.0).abs() < 1e-12, "{expected}");
        }
    }
}

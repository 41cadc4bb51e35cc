//! `cbr`: UDP at a constant bit rate.

use anyhow::Result;

use super::generator::{Generator, Setup};
use super::udp::{self, Pattern};

/// Each packet takes its transmission time at the rate.
struct Even;

impl Pattern for Even {}

pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    udp::prepare(setup, setup.flow.fields()?, Even)
}

#[cfg(test)]
mod tests {
    use super::*;
    use udp::tests::departures;

    #[test]
    fn it_counts_whole_frames() {
        let gaps: Vec<i64> = departures(Even).take(3).map(|d| d.0).collect();
        assert_eq!(gaps, [0, 12_000_000, 24_000_000]);
    }
}

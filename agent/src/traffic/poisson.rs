//! `poisson`: UDP packets of a Poisson process.

use anyhow::Result;

use super::draws::{Distribution, Draws};
use super::generator::{Generator, Setup};
use super::udp::{self, Pattern};

/// Exponential intervals with the mean that the rate gives.
struct Poisson;

impl Pattern for Poisson {
    fn first_ns(&mut self, mean_gap_ns: f64, draws: &mut Draws) -> f64 {
        draws.value(mean_gap_ns, Distribution::Exponential)
    }

    fn gap_ns(&mut self, _own_gap_ns: f64, mean_gap_ns: f64, draws: &mut Draws) -> f64 {
        draws.value(mean_gap_ns, Distribution::Exponential)
    }
}

pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    udp::prepare(setup, setup.flow.fields()?, Poisson)
}

#[cfg(test)]
mod tests {
    use super::*;
    use udp::tests::departures;

    #[test]
    fn it_keeps_the_rate() {
        let last = departures(Poisson).nth(99_999).map_or(0, |d| d.0);
        assert!((last as f64 / 1e5 / 12e6 - 1.0).abs() < 0.02, "{last}");
    }
}

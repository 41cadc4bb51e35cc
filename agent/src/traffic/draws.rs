//! Seeded random draws: one stream for each flow, so that one flow's numbers do not depend on another's.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use crate::lab::Distribution;

const PARETO_SHAPE: f64 = 1.2;

/// A stream of random numbers.
pub struct Draws {
    stream: ChaCha8Rng,
}

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self {
            stream: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Another stream of the same seed, which does not depend on the first one (of number 0).
    pub fn with_stream(seed: u64, number: u64) -> Self {
        let mut draws = Self::new(seed);
        draws.stream.set_stream(number);
        draws
    }

    /// Draws uniformly from (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.stream.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Draws from an exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Draws from the standard normal distribution (G. Box, M. Muller, Annals of Mathematical Statistics 29, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Draws a value of a distribution with this mean.
    pub fn value(&mut self, mean: f64, distribution: Distribution) -> f64 {
        match distribution {
            Distribution::Constant => mean,
            Distribution::Exponential => self.exponential(mean),
            Distribution::Pareto => {
                mean * (PARETO_SHAPE - 1.0) / PARETO_SHAPE
                    * self.uniform().powf(-1.0 / PARETO_SHAPE)
            }
        }
    }

    /// Draws a value of a distribution that is truncated to `[least, most]`: by inversion of the truncated exponential,
    /// else by clamping.
    pub fn within(&mut self, mean: f64, distribution: Distribution, least: f64, most: f64) -> f64 {
        if distribution != Distribution::Exponential {
            return self.value(mean, distribution).clamp(least, most);
        }
        let whole = 1.0 - (-(most - least) / mean).exp();
        (least - mean * (1.0 - self.uniform() * whole).ln()).clamp(least, most)
    }
}

/// The mean of an exponential of this mean that is truncated to `[least, most]`: with w = most − least, least + mean −
/// w / (e^(w/mean) − 1).
pub fn cut_exponential_mean(mean: f64, least: f64, most: f64) -> f64 {
    let width = most - least;
    least + mean - width / (width / mean).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 200_000;

    fn mean_of(mut draw: impl FnMut() -> f64) -> f64 {
        (0..N).map(|_| draw()).sum::<f64>() / N as f64
    }

    #[test]
    fn means_are_what_they_say() {
        let mut draws = Draws::new(1);
        let exponential = mean_of(|| draws.value(7.0, Distribution::Exponential));
        assert!((exponential / 7.0 - 1.0).abs() < 0.01, "{exponential}");
        let cut = mean_of(|| draws.within(600.0, Distribution::Exponential, 16.0, 1472.0));
        assert!(
            (cut / cut_exponential_mean(600.0, 16.0, 1472.0) - 1.0).abs() < 0.01,
            "{cut}"
        );
        assert!((draws.value(5.0, Distribution::Constant) - 5.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_cut_distribution_stays_within() {
        let mut draws = Draws::new(2);
        for _ in 0..10_000 {
            for distribution in [Distribution::Exponential, Distribution::Pareto] {
                let value = draws.within(600.0, distribution, 16.0, 1472.0);
                assert!((16.0..=1472.0).contains(&value));
            }
        }
    }

    #[test]
    fn pareto_is_above_its_least_value() {
        let mut draws = Draws::new(3);
        let least = 6.0 * (PARETO_SHAPE - 1.0) / PARETO_SHAPE;
        assert!((0..1000).all(|_| draws.value(6.0, Distribution::Pareto) >= least));
    }
}

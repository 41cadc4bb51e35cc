//! The throughput that a player expects: the harmonic mean of that of the last segments (J. Jiang, V. Sekar, H. Zhang:
//! Improving Fairness, Efficiency, and Stability in HTTP-based Adaptive Video Streaming with FESTIVE, CoNEXT 2012,
//! section 4.3), here of five, and how wrong that was (X. Yin, A. Jindal, V. Sekar, B. Sinopoli: A Control-Theoretic
//! Approach for Dynamic Adaptive Video Streaming over HTTP, SIGCOMM 2015, section 4.3).

use std::collections::VecDeque;

/// Segments that are remembered.
const REMEMBERED: usize = 5;

/// The throughputs that a player has seen.
#[derive(Debug, Default)]
pub struct Past {
    /// In bit/s, the latest last.
    throughputs: VecDeque<f64>,
    /// How far the expectation was from the throughput that came, as a share of this.
    errors: VecDeque<f64>,
    expected_bps: Option<f64>,
}

impl Past {
    /// The throughput that is expected of the next segment; None before the first.
    pub fn expect(&mut self) -> Option<f64> {
        let inverse: f64 = self.throughputs.iter().map(|bps| 1.0 / bps).sum();
        let count = self.throughputs.len();
        self.expected_bps = (count > 0).then(|| count as f64 / inverse);
        self.expected_bps
    }

    /// Adds the throughput of a segment.
    pub fn add(&mut self, throughput_bps: f64) {
        if let Some(expected_bps) = self.expected_bps {
            let error = (expected_bps - throughput_bps).abs() / throughput_bps;
            push(&mut self.errors, error);
        }
        push(&mut self.throughputs, throughput_bps);
    }

    /// The largest of the remembered errors; 0 if nothing was expected yet.
    pub fn largest_error(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }
}

fn push(values: &mut VecDeque<f64>, value: f64) {
    if values.len() == REMEMBERED {
        values.pop_front();
    }
    values.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmonic_mean_is_of_the_last_five() {
        let mut past = Past::default();
        assert_eq!(past.expect(), None);
        for bps in [9e9, 1e6, 2e6, 4e6, 4e6, 1e6] {
            past.add(bps);
        }
        // 5 / (1 + 1/2 + 1/4 + 1/4 + 1) = 5/3.
        let mean = past.expect().unwrap_or_default();
        assert!((mean / (5e6 / 3.0) - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn an_error_is_forgotten_after_five_segments() {
        let mut past = Past::default();
        for (bps, error) in [(4e6, 0.0), (1e6, 3.0), (1e6, 3.0)] {
            past.expect();
            past.add(bps);
            assert!((past.largest_error() - error).abs() < 1e-12);
        }
        for _ in 0..5 {
            past.expect();
            past.add(1e6);
        }
        // The first of these five was expected to be 3 / (1/4 + 1 + 1) = 4/3 Mbit/s.
        assert!((past.largest_error() - 1.0 / 3.0).abs() < 1e-12);
    }
}

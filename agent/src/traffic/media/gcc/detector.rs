//! The over-use detector with its adaptive threshold: section 5.4 of the draft.

use netwarp_records::tables::usage;

use super::arrivals::{Filter, Variation};

const FIRST_THRESHOLD_MS: f64 = 12.5;
const LEAST_THRESHOLD_MS: f64 = 6.0;
const MOST_THRESHOLD_MS: f64 = 600.0;
/// Gains of the threshold for each ms: where the gradient is above it, and below.
const GAIN_UP: f64 = 0.01;
const GAIN_DOWN: f64 = 0.00018;
/// A gradient that is more than this above the threshold does not change it.
const FAR_MS: f64 = 15.0;
/// Duration of over-use before it is signalled.
const OVERUSE_NS: i64 = 10_000_000;
/// The threshold's gain is for at most this time, since a longer one would overshoot.
const LONGEST_MS: f64 = 100.0;
/// Maximum number of groups that the gradient is multiplied by.
const MOST_GROUPS: u32 = 60;

pub struct Detector {
    threshold_ms: f64,
    usage: u8,
    over_since_ns: Option<i64>,
    before: Option<(i64, f64)>,
}

impl Default for Detector {
    fn default() -> Self {
        Self {
            threshold_ms: FIRST_THRESHOLD_MS,
            usage: usage::NORMAL,
            over_since_ns: None,
            before: None,
        }
    }
}

impl Detector {
    pub fn usage(&self) -> u8 {
        self.usage
    }

    pub fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    /// Judges the estimate after a variation.
    pub fn add(&mut self, filter: &Filter, variation: &Variation) {
        let estimate_ms = filter.gradient_ms() * f64::from(filter.count().min(MOST_GROUPS));
        self.judge(variation.arrived_ns, filter.gradient_ms(), estimate_ms);
    }

    fn judge(&mut self, now_ns: i64, gradient_ms: f64, estimate_ms: f64) {
        let before = self.before.replace((now_ns, gradient_ms));
        if estimate_ms > self.threshold_ms {
            let since_ns = *self.over_since_ns.get_or_insert(now_ns);
            let falls = before.is_some_and(|(_, gradient)| gradient_ms < gradient);
            if now_ns - since_ns >= OVERUSE_NS && !falls {
                self.usage = usage::OVER;
            }
        } else {
            self.over_since_ns = None;
            self.usage = match estimate_ms < -self.threshold_ms {
                true => usage::UNDER,
                false => usage::NORMAL,
            };
        }
        if let Some((before_ns, _)) = before {
            self.adapt((now_ns - before_ns) as f64 / 1e6, estimate_ms.abs());
        }
    }

    fn adapt(&mut self, passed_ms: f64, estimate_ms: f64) {
        let above_ms = estimate_ms - self.threshold_ms;
        if above_ms > FAR_MS {
            return;
        }
        let gain = if above_ms < 0.0 { GAIN_DOWN } else { GAIN_UP };
        let moved_ms = self.threshold_ms + passed_ms.min(LONGEST_MS) * gain * above_ms;
        self.threshold_ms = moved_ms.clamp(LEAST_THRESHOLD_MS, MOST_THRESHOLD_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The usage after estimates that come every 33 ms.
    fn usages(estimates: &[f64]) -> Vec<u8> {
        let mut detector = Detector::default();
        let mut found = Vec::new();
        for (number, estimate) in (0..).zip(estimates) {
            detector.judge(number * 33 * MS, *estimate, *estimate);
            found.push(detector.usage());
        }
        found
    }

    #[test]
    fn over_use_has_to_last_and_not_to_fall() {
        let (normal, over) = (usage::NORMAL, usage::OVER);
        assert_eq!(usages(&[40.0]), [normal], "it has not lasted");
        assert_eq!(usages(&[40.0, 41.0]), [normal, over]);
        assert_eq!(usages(&[40.0, 39.0, 39.5]), [normal, normal, over]);
        assert_eq!(usages(&[40.0, 1.0, 40.0]), [normal; 3]);
        assert_eq!(usages(&[-40.0, 0.0]), [usage::UNDER, normal]);
    }

    #[test]
    fn the_threshold_follows_by_its_equation() {
        let mut detector = Detector::default();
        detector.adapt(10.0, 20.0);
        assert!((detector.threshold_ms() - (12.5 + 10.0 * 0.01 * 7.5)).abs() < 1e-9);
        let before = detector.threshold_ms();
        detector.adapt(10.0, 0.0);
        assert!((detector.threshold_ms() - before * (1.0 - 10.0 * 0.00018)).abs() < 1e-9);
        let before = detector.threshold_ms();
        detector.adapt(10.0, before + 15.1);
        assert!((detector.threshold_ms() - before).abs() < 1e-9, "too far");
        (0..1000).for_each(|_| detector.adapt(33.0, 0.0));
        assert!((detector.threshold_ms() - 6.0).abs() < 1e-9, "the least");
    }
}

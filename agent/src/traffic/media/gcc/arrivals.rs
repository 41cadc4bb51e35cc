//! From arrivals of packets to the gradient of the one-way delay: sections 5.1 to 5.3 of the draft.

use std::collections::VecDeque;

/// Packets sent within this time are a group.
const BURST_NS: i64 = 5_000_000;
/// Variance of the state's noise, in ms².
const STATE_NOISE: f64 = 1e-3;
const FIRST_ERROR: f64 = 0.1;
/// The filter coefficient χ of the variance of the measured noise, of which the draft gives an interval.
const CHI: f64 = 0.01;
/// The first variance of the measured noise in ms²; the draft has none, this is Chromium's.
const FIRST_NOISE: f64 = 50.0;
const LEAST_NOISE: f64 = 1.0;
/// Groups over which the highest rate of groups is taken: K of the draft, which gives no value.
const RATE_GROUPS: usize = 60;

/// The variation of the delay from one group of packets to the next.
pub struct Variation {
    pub delay_ms: f64,
    /// Between the departures of both.
    pub sent_ms: f64,
    /// The arrival of the second.
    pub arrived_ns: i64,
}

#[derive(Clone, Copy)]
struct Group {
    first_sent_ns: i64,
    last_sent_ns: i64,
    arrived_ns: i64,
}

/// Groups of packets that were sent, or that arrived, in a burst.
#[derive(Default)]
pub struct Groups {
    before: Option<Group>,
    current: Option<Group>,
}

impl Groups {
    /// Adds the next packet; returns the variation between the last two groups when it begins another.
    pub fn add(&mut self, sent_ns: i64, arrived_ns: i64) -> Option<Variation> {
        let Some(group) = &mut self.current else {
            self.current = Some(Group::of(sent_ns, arrived_ns));
            return None;
        };
        // Out of order.
        if arrived_ns < group.arrived_ns || sent_ns < group.last_sent_ns {
            return None;
        }
        let after_ns = arrived_ns - group.arrived_ns;
        let caught_up = after_ns < BURST_NS && after_ns < sent_ns - group.last_sent_ns;
        if sent_ns - group.first_sent_ns <= BURST_NS || caught_up {
            group.last_sent_ns = sent_ns;
            group.arrived_ns = arrived_ns;
            return None;
        }
        let complete = *group;
        *group = Group::of(sent_ns, arrived_ns);
        let before = self.before.replace(complete)?;
        let sent_ns = complete.last_sent_ns - before.last_sent_ns;
        Some(Variation {
            delay_ms: (complete.arrived_ns - before.arrived_ns - sent_ns) as f64 / 1e6,
            sent_ms: sent_ns as f64 / 1e6,
            arrived_ns: complete.arrived_ns,
        })
    }
}

impl Group {
    fn of(sent_ns: i64, arrived_ns: i64) -> Self {
        Self {
            first_sent_ns: sent_ns,
            last_sent_ns: sent_ns,
            arrived_ns,
        }
    }
}

/// The Kalman filter of one state, the gradient.
pub struct Filter {
    gradient_ms: f64,
    error: f64,
    noise: f64,
    /// Times between departures of the last groups.
    sent_ms: VecDeque<f64>,
    count: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            gradient_ms: 0.0,
            error: FIRST_ERROR,
            noise: FIRST_NOISE,
            sent_ms: VecDeque::new(),
            count: 0,
        }
    }
}

impl Filter {
    /// The estimate m: by how much the delay grows from group to group.
    pub fn gradient_ms(&self) -> f64 {
        self.gradient_ms
    }

    /// The number of variations so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn add(&mut self, variation: &Variation) {
        self.count += 1;
        self.sent_ms.push_back(variation.sent_ms);
        if self.sent_ms.len() > RATE_GROUPS {
            self.sent_ms.pop_front();
        }
        let residual = variation.delay_ms - self.gradient_ms;
        let shortest_ms = self.sent_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = (1.0 - CHI).powf(30.0 * shortest_ms / 1000.0);
        let outlier = 3.0 * self.noise.sqrt();
        let kept = residual.clamp(-outlier, outlier);
        self.noise = (alpha * self.noise + (1.0 - alpha) * kept * kept).max(LEAST_NOISE);
        let error = self.error + STATE_NOISE;
        let gain = error / (self.noise + error);
        self.gradient_ms += residual * gain;
        self.error = (1.0 - gain) * error;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The delay variations of packets that were sent and arrived at these times, in ms.
    fn variations(packets: &[(i64, i64)]) -> Vec<f64> {
        let mut groups = Groups::default();
        let found = packets
            .iter()
            .filter_map(|(sent, arrived)| groups.add(sent * MS, arrived * MS));
        found.map(|v| v.delay_ms).collect()
    }

    #[test]
    fn a_group_counts_by_its_last_packet() {
        // Groups of two, whose last packets are sent at 1, 34 and 67, and arrive at 50, 85 and 117.
        let packets = [
            (0, 45),
            (1, 50),
            (33, 80),
            (34, 85),
            (66, 112),
            (67, 117),
            (99, 150),
        ];
        assert_eq!(variations(&packets), [2.0, -1.0]);
    }

    #[test]
    fn what_waited_for_the_end_of_an_outage_is_one_group() {
        let packets = [
            (0, 50),
            (33, 300),
            (66, 301),
            (99, 302),
            (132, 330),
            (165, 360),
        ];
        // The group of the outage is that of 33 to 99, which arrived at 302: 203 − 99 from the first packet's 50.
        assert_eq!(variations(&packets), [252.0 - 99.0, 28.0 - 33.0]);
    }

    #[test]
    fn what_overtakes_is_ignored() {
        let with = [
            (0, 50),
            (33, 83),
            (66, 116),
            (50, 117),
            (99, 149),
            (132, 182),
        ];
        let without = [(0, 50), (33, 83), (66, 116), (99, 149), (132, 182)];
        assert_eq!(variations(&with), variations(&without));
    }

    #[test]
    fn the_filter_finds_a_gradient_and_ignores_noise() {
        let add = |filter: &mut Filter, delay_ms| {
            filter.add(&Variation {
                delay_ms,
                sent_ms: 33.0,
                arrived_ns: 0,
            });
        };
        let mut steady = Filter::default();
        (0..500).for_each(|_| add(&mut steady, 1.5));
        assert!((steady.gradient_ms() - 1.5).abs() < 0.01);
        let mut noisy = Filter::default();
        (0..500).for_each(|n| add(&mut noisy, if n % 2 == 0 { 5.0 } else { -5.0 }));
        assert!(noisy.gradient_ms().abs() < 0.1, "{}", noisy.gradient_ms());
        assert!((noisy.noise - 25.0).abs() < 1.0, "{}", noisy.noise);
    }

    #[test]
    fn the_gain_without_noise_is_the_filters_fixed_point() {
        let mut filter = Filter::default();
        for _ in 0..2000 {
            filter.add(&Variation {
                delay_ms: 0.0,
                sent_ms: 33.0,
                arrived_ns: 0,
            });
        }
        // p = e + q of the Riccati equation p² = q (p + r), with r = 1 ms².
        let p = f64::midpoint(STATE_NOISE, (STATE_NOISE * (STATE_NOISE + 4.0)).sqrt());
        assert!((filter.error + STATE_NOISE - p).abs() < 1e-6);
    }
}

//! The speed of a source's own clock while its rate changes: its rate divided by its first rate, and 0 while the source
//! is not active. Gaps between packets are times of that clock, so that a constant source sends exactly the integral of
//! its rate, and a Poisson process remains one whose intensity follows the rate (time change of a Poisson process; D.
//! Daley, D. Vere-Jones: An Introduction to the Theory of Point Processes, 7.4).

use crate::lab::FlowChange;

/// Speeds of the clock, each from an instant on; times are nanoseconds from the flow's start.
pub struct Pace {
    /// Spans, of which the first begins before any packet.
    spans: Vec<(f64, f64)>,
    /// The span in which the last instant was found.
    current: usize,
}

impl Pace {
    /// The pace of a flow that starts at `start_ns` with `rate_bps`.
    pub fn new(start_ns: i64, rate_bps: u64, changes: &[FlowChange]) -> Self {
        let mut spans = vec![(f64::NEG_INFINITY, 1.0)];
        for change in changes {
            let speed = match change.rate_bps {
                _ if !change.active => 0.0,
                None => 1.0,
                Some(now_bps) => now_bps as f64 / rate_bps as f64,
            };
            spans.push(((change.at_ns - start_ns) as f64, speed));
        }
        Self { spans, current: 0 }
    }

    /// Returns the first instant from `at_ns` on at which the source is active and its clock has advanced by `own_ns`;
    /// infinity if there is none. Instants may only be asked for in order.
    pub fn after(&mut self, at_ns: f64, own_ns: f64) -> f64 {
        if at_ns.is_infinite() {
            return at_ns;
        }
        while self.end_of(self.current) <= at_ns {
            self.current += 1;
        }
        let (mut at_ns, mut left_ns) = (at_ns, own_ns);
        for index in self.current.. {
            let Some((_, speed)) = self.spans.get(index) else {
                break;
            };
            let end_ns = self.end_of(index);
            if *speed > 0.0 {
                let there_ns = at_ns + left_ns / speed;
                // Packets leave at whole nanoseconds, which must not be in the next span.
                if there_ns.round() < end_ns {
                    return there_ns;
                }
                left_ns = (left_ns - (end_ns - at_ns) * speed).max(0.0);
            }
            at_ns = end_ns;
        }
        f64::INFINITY
    }

    fn end_of(&self, index: usize) -> f64 {
        self.spans
            .get(index + 1)
            .map_or(f64::INFINITY, |span| span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_ns: i64, active: bool, rate_bps: u64) -> FlowChange {
        FlowChange {
            at_ns,
            active,
            rate_bps: Some(rate_bps),
            think_ns: None,
            think_distribution: None,
        }
    }

    #[test]
    fn without_changes_its_clock_is_the_runs() {
        let mut pace = Pace::new(5, 1000, &[]);
        assert!((pace.after(7.0, 0.1) - 7.1).abs() < f64::EPSILON);
    }

    #[test]
    fn a_gap_takes_what_the_rates_add_up_to() {
        // From a start at 100: whole speed until 200, double until 300, none until 400, then half.
        let changes = [
            change(300, true, 2000),
            change(400, false, 2000),
            change(500, true, 500),
        ];
        let mut pace = Pace::new(100, 1000, &changes);
        let found: Vec<f64> = [(0.0, 150.0), (150.0, 350.0), (150.0, 300.0), (450.0, 10.0)]
            .map(|(at, own)| pace.after(at, own))
            .to_vec();
        assert_eq!(found, [150.0, 600.0, 500.0, 470.0]);
    }

    #[test]
    fn who_is_not_active_waits_and_who_never_is_waits_for_ever() {
        let mut pace = Pace::new(0, 1000, &[change(0, false, 1000), change(50, true, 1000)]);
        assert!((pace.after(10.0, 0.0) - 50.0).abs() < f64::EPSILON);
        let mut pace = Pace::new(0, 1000, &[change(50, false, 1000)]);
        let never = pace.after(49.0, 2.0);
        assert!(never.is_infinite() && pace.after(never, 1.0).is_infinite());
    }
}

//! Decides when a client that repeats its requests may ask: while it is active, and after a pause, whose mean changes.

use super::draws::{Distribution, Draws};
use crate::lab::FlowChange;
use crate::time::{monotonic_ns, sleep_until};

/// A client's pauses, and the times at which it is active.
pub struct Pauses {
    t0_ns: i64,
    mean_ns: i64,
    distribution: Distribution,
    changes: Vec<FlowChange>,
}

impl Pauses {
    pub fn new(
        t0_ns: i64,
        mean_ns: i64,
        distribution: Distribution,
        changes: &[FlowChange],
    ) -> Self {
        Self {
            t0_ns,
            mean_ns,
            distribution,
            changes: changes.to_vec(),
        }
    }

    /// Pauses from `end_ns` on (CLOCK_MONOTONIC), with the mean that applies then.
    pub fn pause(&self, end_ns: i64, draws: &mut Draws) {
        let now = self.at(end_ns);
        let mean_ns = now.and_then(|c| c.think_ns).unwrap_or(self.mean_ns);
        let distribution = now.and_then(|c| c.think_distribution);
        let think = draws.value(mean_ns as f64, distribution.unwrap_or(self.distribution)) as i64;
        if think > 0 {
            sleep_until(end_ns + think);
        }
    }

    /// Waits until the client is active; false if it never is again.
    pub fn wait_until_active(&self) -> bool {
        if self.changes.is_empty() {
            return true;
        }
        match self.active_from(monotonic_ns()) {
            Some(at_ns) => {
                sleep_until(at_ns);
                true
            }
            None => false,
        }
    }

    /// The first instant from this one on at which the client is active.
    fn active_from(&self, at_ns: i64) -> Option<i64> {
        if self.at(at_ns).is_none_or(|change| change.active) {
            return Some(at_ns);
        }
        let mut later = self
            .changes
            .iter()
            .filter(|change| self.t0_ns + change.at_ns > at_ns);
        later
            .find(|change| change.active)
            .map(|change| self.t0_ns + change.at_ns)
    }

    /// The last change at or before this instant.
    fn at(&self, at_ns: i64) -> Option<&FlowChange> {
        let passed = self
            .changes
            .partition_point(|change| self.t0_ns + change.at_ns <= at_ns);
        self.changes.get(passed.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses() -> Pauses {
        let change = |at_ns, active| FlowChange {
            at_ns,
            active,
            rate_bps: None,
            think_ns: Some(7),
            think_distribution: Some(Distribution::Constant),
        };
        let changes = [change(10, false), change(20, true), change(30, false)];
        Pauses::new(1000, 5, Distribution::Exponential, &changes)
    }

    #[test]
    fn it_is_active_from_the_next_change_that_says_so() {
        let found: Vec<Option<i64>> = [1000, 1009, 1010, 1019, 1020, 1029, 1030]
            .map(|at| pauses().active_from(at))
            .to_vec();
        let soon = Some(1020);
        assert_eq!(
            found,
            [Some(1000), Some(1009), soon, soon, soon, Some(1029), None]
        );
    }

    #[test]
    fn pauses_are_as_the_last_change_says() {
        assert_eq!(pauses().at(1009), None);
        assert_eq!(pauses().at(1010).and_then(|c| c.think_ns), Some(7));
    }
}

//! The delay-based rate: increase until over-use, then decrease below the rate that arrived: section 5.5 of the draft.

use std::collections::VecDeque;

use netwarp_records::tables::{rate_state, usage};

/// The window T in which arrivals are counted.
const WINDOW_NS: i64 = 500_000_000;
/// The factor β of a decrease.
const DECREASE: f64 = 0.85;
const INCREASE_PER_S: f64 = 1.08;
/// The rate grows to this multiple of the arriving rate.
const MOST_OF_RECEIVED: f64 = 1.5;
/// The share of a new value in the average of rates at over-use: 1 − 0.95.
const NEW_SHARE: f64 = 0.05;
/// The variance of rates at over-use divided by their mean, in kbit/s: the first value, and Chromium's bounds.
const FIRST_VARIANCE: f64 = 0.4;
const MOST_VARIANCE: f64 = 2.5;
const FIRST_RTT_NS: i64 = 200_000_000;
const FRAMES_PER_S: f64 = 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;
const LEAST_STEP_BPS: f64 = 1000.0;

/// Bounds of the rate in bit/s.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub least_bps: f64,
    pub most_bps: f64,
}

impl Bounds {
    pub fn within(self, bps: f64) -> f64 {
        bps.clamp(self.least_bps, self.most_bps)
    }
}

/// The rate of arriving media.
#[derive(Default)]
struct Received {
    packets: VecDeque<(i64, u32)>,
    bytes: u64,
    /// The first arrival after a pause of a whole window.
    since_ns: Option<i64>,
}

impl Received {
    fn add(&mut self, arrived_ns: i64, bytes: u32) {
        let last_ns = self.packets.back().map(|(at_ns, _)| *at_ns);
        if last_ns.is_none_or(|last_ns| arrived_ns - last_ns > WINDOW_NS) {
            self.since_ns = Some(arrived_ns);
        }
        self.packets.push_back((arrived_ns, bytes));
        self.bytes += u64::from(bytes);
        while let Some((at_ns, bytes)) = self.packets.front().copied() {
            if at_ns > arrived_ns - WINDOW_NS {
                break;
            }
            self.packets.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// In bit/s over the window before the last arrival; None until there was a whole window.
    fn bps(&self) -> Option<f64> {
        let (last_ns, _) = self.packets.back()?;
        let is_whole = last_ns - self.since_ns? >= WINDOW_NS;
        is_whole.then(|| self.bytes as f64 * 8e9 / WINDOW_NS as f64)
    }
}

/// Mean and variance of the rates that arrived at over-use, in kbit/s; the variance is divided by the mean.
struct Convergence {
    mean_kbps: f64,
    variance: f64,
}

impl Convergence {
    /// Three standard deviations.
    fn reach_kbps(&self) -> f64 {
        3.0 * (self.variance * self.mean_kbps).sqrt()
    }

    fn add(&mut self, kbps: f64) {
        self.mean_kbps += NEW_SHARE * (kbps - self.mean_kbps);
        let squared = (kbps - self.mean_kbps).powi(2) / self.mean_kbps.max(1.0);
        let variance = self.variance + NEW_SHARE * (squared - self.variance);
        self.variance = variance.clamp(FIRST_VARIANCE, MOST_VARIANCE);
    }
}

pub struct DelayBased {
    bounds: Bounds,
    bps: f64,
    state: u8,
    received: Received,
    convergence: Option<Convergence>,
    updated_ns: Option<i64>,
    rtt_ns: i64,
}

impl DelayBased {
    pub fn new(bps: f64, bounds: Bounds) -> Self {
        Self {
            bounds,
            bps,
            state: rate_state::INCREASE,
            received: Received::default(),
            convergence: None,
            updated_ns: None,
            rtt_ns: FIRST_RTT_NS,
        }
    }

    pub fn state(&self) -> u8 {
        self.state
    }

    pub fn received_bps(&self) -> Option<f64> {
        self.received.bps()
    }

    /// Counts a packet that arrived.
    pub fn arrived(&mut self, arrived_ns: i64, bytes: u32) {
        self.received.add(arrived_ns, bytes);
    }

    /// The rate after a report.
    pub fn update(&mut self, now_ns: i64, rtt_ns: Option<i64>, usage: u8) -> f64 {
        self.rtt_ns = rtt_ns.unwrap_or(self.rtt_ns);
        let passed_ms = self
            .updated_ns
            .replace(now_ns)
            .map_or(0.0, |before_ns| (now_ns - before_ns) as f64 / 1e6);
        let before = self.state;
        self.state = next_state(before, usage);
        let bps = match self.state {
            rate_state::INCREASE => self.increased(passed_ms),
            rate_state::DECREASE => self.decreased(before != rate_state::DECREASE),
            _ => self.bps,
        };
        self.bps = self.bounds.within(bps);
        self.bps
    }

    fn increased(&mut self, passed_ms: f64) -> f64 {
        let received_bps = self.received.bps();
        let bps = match self.is_near(received_bps) {
            true => self.bps + self.step_bps(passed_ms),
            false => self.bps * INCREASE_PER_S.powf((passed_ms / 1000.0).min(1.0)),
        };
        // A rate that the sender does not use says nothing about the path.
        let most_bps = received_bps.map_or(bps, |received| MOST_OF_RECEIVED * received);
        bps.min(most_bps).max(self.bps)
    }

    /// Half a packet in each response time.
    fn step_bps(&self, passed_ms: f64) -> f64 {
        let frame_bits = self.bps / FRAMES_PER_S;
        let packet_bits = frame_bits / (frame_bits / PACKET_BITS).ceil();
        let response_ms = 100.0 + self.rtt_ns as f64 / 1e6;
        (0.5 * (passed_ms / response_ms).min(1.0) * packet_bits).max(LEAST_STEP_BPS)
    }

    /// Whether the rate that arrives is near those at over-use; forgets them if it is above.
    fn is_near(&mut self, received_bps: Option<f64>) -> bool {
        let (Some(received_bps), Some(known)) = (received_bps, &self.convergence) else {
            return false;
        };
        let above_kbps = received_bps / 1e3 - known.mean_kbps;
        let reach_kbps = known.reach_kbps();
        if above_kbps > reach_kbps {
            self.convergence = None;
        }
        above_kbps.abs() <= reach_kbps
    }

    fn decreased(&mut self, begins: bool) -> f64 {
        let received_bps = self.received.bps().unwrap_or(self.bps);
        if begins {
            let kbps = received_bps / 1e3;
            match &mut self.convergence {
                Some(known) => known.add(kbps),
                None => {
                    self.convergence = Some(Convergence {
                        mean_kbps: kbps,
                        variance: FIRST_VARIANCE,
                    });
                }
            }
        }
        (DECREASE * received_bps).min(self.bps)
    }
}

/// The draft's table of transitions.
fn next_state(state: u8, signal: u8) -> u8 {
    match (signal, state) {
        (usage::OVER, _) => rate_state::DECREASE,
        (usage::UNDER, _) | (_, rate_state::DECREASE) => rate_state::HOLD,
        _ => rate_state::INCREASE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const BOUNDS: Bounds = Bounds {
        least_bps: 100e3,
        most_bps: 10e6,
    };

    /// A control that has received this rate for a second.
    fn receiving(bps: f64, received_bps: f64) -> DelayBased {
        let mut control = DelayBased::new(bps, BOUNDS);
        for number in 0..=100 {
            control.arrived(number * 10 * MS, (received_bps / 800.0) as u32);
        }
        control
    }

    #[test]
    fn states_follow_the_table() {
        use rate_state::{DECREASE, HOLD, INCREASE};
        let rows = [usage::OVER, usage::NORMAL, usage::UNDER]
            .map(|signal| [HOLD, INCREASE, DECREASE].map(|state| next_state(state, signal)));
        let expected = [[DECREASE; 3], [INCREASE, INCREASE, HOLD], [HOLD; 3]];
        assert_eq!(rows, expected);
    }

    #[test]
    fn it_grows_by_eight_percent_a_second_and_falls_below_what_arrives() {
        let mut control = receiving(1e6, 0.9e6);
        control.update(0, Some(50 * MS), usage::NORMAL);
        let grown = control.update(1000 * MS, Some(50 * MS), usage::NORMAL);
        assert!((grown - 1.08e6).abs() < 1.0, "{grown}");
        let fallen = control.update(1100 * MS, Some(50 * MS), usage::OVER);
        assert!((fallen - 0.85 * 0.9e6).abs() < 1.0, "{fallen}");
        let held = control.update(1200 * MS, Some(50 * MS), usage::NORMAL);
        assert!((held - fallen).abs() < 1.0);
    }

    #[test]
    fn near_the_rate_at_over_use_it_grows_by_half_a_packet() {
        let mut control = receiving(1e6, 1e6);
        control.update(0, Some(100 * MS), usage::OVER);
        control.update(100 * MS, Some(100 * MS), usage::NORMAL);
        let before = control.bps;
        let after = control.update(300 * MS, Some(100 * MS), usage::NORMAL);
        // 850 kbit/s are 28,333 bits a frame, in three packets.
        assert!(
            (after - before - 0.5 * 28_333.3 / 3.0).abs() < 1.0,
            "{after}"
        );
    }

    #[test]
    fn what_is_not_sent_does_not_let_it_grow() {
        let mut control = receiving(1e6, 0.5e6);
        control.update(0, None, usage::NORMAL);
        let after = control.update(1000 * MS, None, usage::NORMAL);
        assert!((after - 1e6).abs() < 1.0, "{after}");
    }

    #[test]
    fn a_rate_is_known_after_a_whole_window_and_again_after_a_pause() {
        let mut control = receiving(1e6, 0.8e6);
        assert!((control.received_bps().unwrap_or(0.0) - 0.8e6).abs() < 1.0);
        control.arrived(5000 * MS, 1000);
        assert_eq!(control.received_bps(), None);
    }

    #[test]
    fn a_rate_far_above_those_at_over_use_forgets_them() {
        let mut control = receiving(1e6, 1e6);
        control.update(0, None, usage::OVER);
        assert!(control.is_near(Some(1e6)));
        assert!(!control.is_near(Some(0.8e6)), "below");
        assert!(control.convergence.is_some());
        assert!(!control.is_near(Some(1.2e6)), "above");
        assert!(control.convergence.is_none());
    }
}

//! Google Congestion Control by draft-ietf-rmcat-gcc-02 (S. Holmer et al., 2016), with both controllers at the sender.
//! Times of arrival are by the receiver's clock, all others by the sender's; only differences within each are used.
//!
//! Where the draft is incomplete, this follows Chromium as it was when the draft was written: the gradient is compared
//! with its threshold times the number of groups so far, 60 at most; the loss-based controller begins from the actual
//! rate; and the variance of rates at over-use has bounds. docs/media.md describes all of it.

mod arrivals;
mod detector;
mod rate;

use self::arrivals::{Filter, Groups};
use self::detector::Detector;
use self::rate::DelayBased;

pub use self::rate::Bounds;

/// Shares of lost packets between which the loss-based controller keeps the rate (section 6).
const FEW_LOST: f64 = 0.02;
const MANY_LOST: f64 = 0.1;

/// A packet in a report: when it was sent, when it arrived, and its bytes of media.
pub struct Packet {
    pub sent_ns: i64,
    pub arrived_ns: Option<i64>,
    pub bytes: u32,
}

/// The state after a report.
pub struct State {
    pub delay_based_bps: f64,
    pub loss_based_bps: f64,
    pub received_bps: Option<f64>,
    /// Share of the packets of the report.
    pub lost: f64,
    pub gradient_ms: f64,
    pub threshold_ms: f64,
    /// A code of `netwarp_records::tables::usage`.
    pub usage: u8,
    /// A code of `netwarp_records::tables::rate_state`.
    pub state: u8,
}

pub struct Gcc {
    bounds: Bounds,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    delay_based: DelayBased,
    target_bps: f64,
}

impl Gcc {
    pub fn new(first_bps: f64, bounds: Bounds) -> Self {
        Self {
            bounds,
            groups: Groups::default(),
            filter: Filter::default(),
            detector: Detector::default(),
            delay_based: DelayBased::new(first_bps, bounds),
            target_bps: first_bps,
        }
    }

    /// The rate of media to send.
    pub fn target_bps(&self) -> u64 {
        self.target_bps as u64
    }

    /// Acts on the packets of a report that reached the sender at `now_ns`.
    pub fn report(&mut self, now_ns: i64, rtt_ns: Option<i64>, packets: &[Packet]) -> State {
        for packet in packets {
            let Some(arrived_ns) = packet.arrived_ns else {
                continue;
            };
            self.delay_based.arrived(arrived_ns, packet.bytes);
            if let Some(variation) = self.groups.add(packet.sent_ns, arrived_ns) {
                self.filter.add(&variation);
                self.detector.add(&self.filter, &variation);
            }
        }
        let usage = self.detector.usage();
        let delay_based_bps = self.delay_based.update(now_ns, rtt_ns, usage);
        let arrived = packets.iter().filter(|p| p.arrived_ns.is_some()).count();
        let lost = match packets.len() {
            0 => 0.0,
            all => 1.0 - arrived as f64 / all as f64,
        };
        let loss_based_bps = self.bounds.within(loss_based(self.target_bps, lost));
        self.target_bps = delay_based_bps.min(loss_based_bps);
        State {
            delay_based_bps,
            loss_based_bps,
            received_bps: self.delay_based.received_bps(),
            lost,
            gradient_ms: self.filter.gradient_ms(),
            threshold_ms: self.detector.threshold_ms(),
            usage,
            state: self.delay_based.state(),
        }
    }
}

/// The rate that the loss-based controller allows after one with this share of lost packets (section 6).
fn loss_based(bps: f64, lost: f64) -> f64 {
    match lost {
        p if p > MANY_LOST => bps * (1.0 - 0.5 * p),
        p if p < FEW_LOST => bps * 1.05,
        _ => bps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netwarp_records::tables::{rate_state, usage};

    const MS: i64 = 1_000_000;
    const BOUNDS: Bounds = Bounds {
        least_bps: 100e3,
        most_bps: 2e6,
    };

    #[test]
    fn loss_is_answered_by_the_rules_of_section_6() {
        assert_eq!(
            [0.0, 0.019, 0.02, 0.1, 0.2].map(|lost| loss_based(1e6, lost).round()),
            [1.05e6, 1.05e6, 1e6, 1e6, 0.9e6]
        );
    }

    /// A stream over a link of this rate, with frames of 33 ms and a report every third: its target after each report,
    /// and the greatest delay in the queue.
    fn over_link(capacity_bps: f64, reports: i64) -> (Vec<f64>, i64) {
        let mut gcc = Gcc::new(300e3, BOUNDS);
        let (mut free_ns, mut longest_ns, mut targets) = (0, 0, Vec::new());
        for number in 0..reports {
            let mut packets = Vec::new();
            for frame in 0..3 {
                let sent_ns = (3 * number + frame) * 33 * MS;
                let bytes = (gcc.target_bps * 0.033 / 8.0) as u32;
                let service_ns = (f64::from(bytes) * 8e9 / capacity_bps) as i64;
                let arrived_ns = free_ns.max(sent_ns) + service_ns;
                free_ns = arrived_ns;
                longest_ns = longest_ns.max(arrived_ns - sent_ns);
                packets.push(Packet {
                    sent_ns,
                    arrived_ns: Some(arrived_ns),
                    bytes,
                });
            }
            gcc.report(
                3 * (number + 1) * 33 * MS + 50 * MS,
                Some(50 * MS),
                &packets,
            );
            targets.push(gcc.target_bps);
        }
        (targets, longest_ns)
    }

    #[test]
    fn the_rate_grows_by_eight_percent_a_second_up_to_its_bound() {
        let (targets, _) = over_link(100e6, 400);
        let growth = targets[100] / targets[0];
        assert!((growth / 1.08_f64.powf(9.9) - 1.0).abs() < 0.01, "{growth}");
        assert_eq!(targets.last(), Some(&2e6));
    }

    #[test]
    fn it_stays_below_a_links_rate_with_a_short_queue() {
        let (targets, longest_ns) = over_link(1e6, 1000);
        let late = &targets[500..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((0.75e6..1e6).contains(&mean), "{mean}");
        assert!(longest_ns < 150 * MS, "{longest_ns}");
    }

    #[test]
    fn a_growing_delay_is_over_use_and_lowers_the_rate() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        let mut seen = Vec::new();
        for number in 0..20_i64 {
            let packets: Vec<Packet> = (0..3)
                .map(|frame| (3 * number + frame) * 33 * MS)
                .map(|sent_ns| Packet {
                    sent_ns,
                    arrived_ns: Some(sent_ns + sent_ns / 10),
                    bytes: 4125,
                })
                .collect();
            let state = gcc.report(3 * (number + 1) * 33 * MS, Some(50 * MS), &packets);
            seen.push((state.usage, state.state));
        }
        assert!(
            seen.contains(&(usage::OVER, rate_state::DECREASE)),
            "{seen:?}"
        );
        assert!(gcc.target_bps < 0.9e6, "{}", gcc.target_bps);
    }
}

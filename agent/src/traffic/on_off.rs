//! `on_off`: UDP in bursts.

use anyhow::Result;

use super::draws::{Distribution, Draws};
use super::fields::{OnOffFields, UdpFields};
use super::generator::{Generator, Setup};
use super::udp::{self, Pattern};

/// Even intervals while on; nothing while off.
struct OnOff {
    on: (f64, Distribution),
    off: (f64, Distribution),
    /// End of the current on period.
    until_ns: f64,
}

impl Pattern for OnOff {
    fn not_before_ns(&mut self, mut at_ns: f64, draws: &mut Draws) -> f64 {
        if self.until_ns == 0.0 {
            self.until_ns = draws.value(self.on.0, self.on.1);
        }
        while at_ns >= self.until_ns {
            at_ns = at_ns.max(self.until_ns + draws.value(self.off.0, self.off.1));
            self.until_ns = at_ns + draws.value(self.on.0, self.on.1);
        }
        at_ns
    }
}

pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: OnOffFields = setup.flow.fields()?;
    let pattern = OnOff {
        on: (fields.on_ns as f64, fields.on_distribution),
        off: (fields.off_ns as f64, fields.off_distribution),
        until_ns: 0.0,
    };
    let udp = UdpFields {
        rate_bps: fields.rate_bps,
        packet_size_bytes: fields.packet_size_bytes,
        packet_size_most_bytes: fields.packet_size_most_bytes,
        packet_size_distribution: fields.packet_size_distribution,
    };
    udp::prepare(setup, udp, pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use udp::tests::departures;

    #[test]
    fn it_is_silent_while_off() {
        let pattern = OnOff {
            on: (36e6, Distribution::Constant),
            off: (100e6, Distribution::Constant),
            until_ns: 0.0,
        };
        let times: Vec<i64> = departures(pattern)
            .take(5)
            .map(|d| d.0 / 1_000_000)
            .collect();
        assert_eq!(times, [0, 12, 24, 136, 148]);
    }
}

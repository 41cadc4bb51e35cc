//! The properties of one direction of a link's wire. Made by `make generate` from `python/netwarp/lab_format/wires/`.

use crate::cells::Cell::{Share, Time, Zero};
use crate::cells::{Attribute, attribute};
use crate::lab::Wire;

impl Wire {
    /// Whether it does more than to pass packets on.
    pub fn acts(&self) -> bool {
        [
            self.delay_ns > 0,
            self.jitter_ns > 0,
            self.loss.is_some(),
            self.duplicate > 0.0,
            self.corrupt > 0.0,
            self.reorder > 0.0,
        ]
        .contains(&true)
    }

    /// The attributes of netem that hold one property alone.
    pub fn attributes(&self) -> Vec<Attribute> {
        vec![
            // TCA_NETEM_LATENCY64
            attribute(10, true, &[Time(self.delay_ns)]),
            // TCA_NETEM_JITTER64
            attribute(11, true, &[Time(self.jitter_ns)]),
            // TCA_NETEM_CORRUPT
            attribute(4, false, &[Share(self.corrupt), Zero(4)]),
        ]
    }
}

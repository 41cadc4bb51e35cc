//! One direction of a link's wire. Made by `make generate` from `python/netwarp/lab_format/wires/`.

use serde::Deserialize;

use crate::cells::Cell::{Share, Time, Zero};
use crate::cells::{Attribute, attribute};

/// netem's models of loss, see tc-netem(8).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Loss {
    Random {
        p: f64,
        correlation: f64,
        ecn: bool,
    },
    Gemodel {
        p: f64,
        r: f64,
        one_minus_h: f64,
        one_minus_k: f64,
    },
    State {
        p13: f64,
        p31: f64,
        p32: f64,
        p23: f64,
        p14: f64,
    },
}

/// One direction of a link between its two interfaces. Probabilities are 0 to 1. Without a rate it takes no time to
/// send a packet.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Wire {
    pub rate_bps: Option<u64>,
    pub delay_ns: u64,
    pub jitter_ns: u64,
    pub jitter_correlation: f64,
    pub distribution: Option<String>,
    pub loss: Option<Loss>,
    pub duplicate: f64,
    pub corrupt: f64,
    pub reorder: f64,
    pub limit_pkts: u32,
    pub seed: u64,
}

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

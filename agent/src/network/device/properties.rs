//! The properties of a wire as attributes of the driver: those that may change while packets are on it.

use anyhow::Result;

use super::attribute::Attribute;
use crate::lab::{Loss, Wire};
use crate::network::wire::distribution_table;

const IFLA_WIRE_RATE: u16 = 3;
const IFLA_WIRE_DELAY: u16 = 4;
const IFLA_WIRE_CHAIN: u16 = 6;
const IFLA_WIRE_MARK: u16 = 7;
const IFLA_WIRE_COPY: u16 = 8;
const IFLA_WIRE_FLIP: u16 = 9;
const IFLA_WIRE_SKIP: u16 = 10;
const IFLA_WIRE_JITTER: u16 = 11;
const IFLA_WIRE_TABLE: u16 = 12;

/// The driver's form of the probability 1.
const CERTAIN: f64 = 4_294_967_296.0;
const STATES: usize = 4;

/// A Markov chain of losses: the probabilities of each transition, and of loss in each state.
struct Chain {
    moves: [[f64; STATES]; STATES],
    loses: [f64; STATES],
}

/// All properties of a wire.
pub fn all(wire: &Wire) -> Result<Vec<Attribute>> {
    let mut found = plain(wire);
    found.extend(table(wire)?);
    Ok(found)
}

/// The properties that differ from the previous ones.
pub fn differing(before: &Wire, after: &Wire) -> Result<Vec<Attribute>> {
    let former = plain(before);
    let mut found = plain(after);
    found.retain(|one| !former.contains(one));
    if before.distribution != after.distribution {
        // Without a table the jitter is uniform.
        found.push(table(after)?.unwrap_or((IFLA_WIRE_TABLE, Vec::new())));
    }
    Ok(found)
}

fn plain(wire: &Wire) -> Vec<Attribute> {
    let marks = matches!(wire.loss, Some(Loss::Random { ecn: true, .. }));
    let mut found = vec![
        (IFLA_WIRE_DELAY, wire.delay_ns.to_ne_bytes().to_vec()),
        (IFLA_WIRE_JITTER, wire.jitter_ns.to_ne_bytes().to_vec()),
        (IFLA_WIRE_CHAIN, chain(wire.loss.as_ref()).bytes()),
        (IFLA_WIRE_MARK, vec![u8::from(marks)]),
        (IFLA_WIRE_COPY, share(wire.duplicate).to_vec()),
        (IFLA_WIRE_FLIP, share(wire.corrupt).to_vec()),
        (IFLA_WIRE_SKIP, share(wire.reorder).to_vec()),
    ];
    if let Some(rate_bps) = wire.rate_bps {
        found.push((IFLA_WIRE_RATE, rate_bps.to_ne_bytes().to_vec()));
    }
    found
}

fn table(wire: &Wire) -> Result<Option<Attribute>> {
    let name = wire.distribution.as_ref();
    name.map(|name| Ok((IFLA_WIRE_TABLE, distribution_table(name)?)))
        .transpose()
}

/// Encodes a probability in units of 2⁻³², like all of them.
fn share(p: f64) -> [u8; 8] {
    ((p.clamp(0.0, 1.0) * CERTAIN).round() as u64).to_ne_bytes()
}

impl Chain {
    /// Encodes struct wire_chain, whose probabilities are cumulated.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in &self.moves {
            let mut sum = 0.0;
            for p in &row[..STATES - 1] {
                sum += p;
                bytes.extend_from_slice(&share(sum));
            }
        }
        bytes.extend(self.loses.iter().flat_map(|p| share(*p)));
        bytes
    }
}

/// The chain of a model of losses. Those of `state` are its states 1, 2, 3 and 4 (tc-netem(8)).
fn chain(loss: Option<&Loss>) -> Chain {
    const STAY: [f64; STATES] = [1.0, 0.0, 0.0, 0.0];
    let (moves, loses) = match loss {
        None => ([STAY; STATES], [0.0; STATES]),
        Some(Loss::Random { p, .. }) => ([STAY; STATES], [*p, 0.0, 0.0, 0.0]),
        Some(Loss::Gemodel {
            p,
            r,
            one_minus_h,
            one_minus_k,
        }) => (
            [[1.0 - p, *p, 0.0, 0.0], [*r, 1.0 - r, 0.0, 0.0], STAY, STAY],
            [*one_minus_k, *one_minus_h, 0.0, 0.0],
        ),
        Some(Loss::State {
            p13,
            p31,
            p32,
            p23,
            p14,
        }) => (
            [
                [1.0 - p13 - p14, 0.0, *p13, *p14],
                [0.0, 1.0 - p23, *p23, 0.0],
                [*p31, *p32, 1.0 - p31 - p32, 0.0],
                STAY,
            ],
            [0.0, 0.0, 1.0, 1.0],
        ),
    };
    Chain { moves, loses }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Vec<u64> {
        bytes
            .chunks_exact(8)
            .map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn probabilities_of_a_chain_are_cumulated() {
        let loss = Loss::State {
            p13: 0.25,
            p31: 0.5,
            p32: 0.25,
            p23: 1.0,
            p14: 0.25,
        };
        let quarter = 1 << 30;
        let found = numbers(&chain(Some(&loss)).bytes());
        assert_eq!(found[..3], [2 * quarter, 2 * quarter, 3 * quarter]);
        assert_eq!(found[3..6], [0, 0, 4 * quarter]);
        assert_eq!(found[6..9], [2 * quarter, 3 * quarter, 4 * quarter]);
        assert_eq!(found[12..], [0, 0, 4 * quarter, 4 * quarter]);
    }

    #[test]
    fn everything_is_lost_in_the_only_state() {
        let all = Loss::Random {
            p: 1.0,
            correlation: 0.0,
            ecn: false,
        };
        let found = numbers(&chain(Some(&all)).bytes());
        assert_eq!((found[0], found[12]), (1 << 32, 1 << 32));
    }
}

//! The arrivals of an open-loop flow: when each transfer begins and how many bytes it has. They are drawn before the run
//! begins, from the flow's seed alone, by both ends: times and sizes come from separate random streams, so that a change
//! in one does not affect the other.

use anyhow::{Context, Result, bail, ensure};

use crate::lab::Flow;
use crate::traffic::draws::Draws;
use crate::traffic::fields::OpenLoopFields;

/// Size of the number with which each transfer begins; no transfer is smaller.
pub const HEAD: u64 = 4;
/// Largest number of transfers of a flow: their list takes 16 MB at each end.
const MOST: usize = 1_000_000;
/// Streams of the flow's seed.
const TIMES: u64 = 0;
pub const SIZES: u64 = 1;

/// A transfer to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// From t0.
    pub start_ns: i64,
    pub bytes: u64,
}

/// Draws all arrivals of a flow, in order of time.
pub fn draw(flow: &Flow, fields: &OpenLoopFields) -> Result<Vec<Arrival>> {
    let sizes = Sizes::new(&size_of(fields))?;
    let mut size_draws = Draws::with_stream(flow.seed, SIZES);
    let mut arrivals = Vec::new();
    for after_ns in times(flow.seed, flow.duration_ns, &when_of(fields)) {
        ensure!(
            arrivals.len() < MOST,
            "more than {MOST} transfers; lower the rate of `arrivals`, or shorten the flow"
        );
        arrivals.push(Arrival {
            start_ns: flow.start_ns + after_ns,
            bytes: sizes.draw(&mut size_draws).max(HEAD),
        });
    }
    Ok(arrivals)
}

fn size_of(fields: &OpenLoopFields) -> Size<'_> {
    Size {
        distribution: &fields.size_distribution,
        bytes: fields.size_bytes,
        shape: fields.size_shape,
        cdf_bytes: &fields.cdf_bytes,
        cdf_shares: &fields.cdf_shares,
    }
}

fn when_of(fields: &OpenLoopFields) -> When {
    When {
        poisson: fields.poisson,
        interval_ns: fields.interval_ns,
        times_ns: fields.times_ns.clone(),
    }
}

/// When arrivals come.
pub struct When {
    /// A Poisson process; otherwise a regular one, or listed times.
    pub poisson: bool,
    /// Mean time between arrivals; None: they are listed.
    pub interval_ns: Option<i64>,
    pub times_ns: Vec<i64>,
}

/// Times of arrivals from the flow's start on, until its duration is over.
pub fn times(seed: u64, duration_ns: i64, when: &When) -> Box<dyn Iterator<Item = i64>> {
    let within = move |at_ns: &i64| *at_ns < duration_ns;
    let Some(interval_ns) = when.interval_ns else {
        return Box::new(when.times_ns.clone().into_iter().take_while(within));
    };
    if !when.poisson {
        return Box::new(
            (0..)
                .map(move |n: i64| n.saturating_mul(interval_ns))
                .take_while(within),
        );
    }
    // Intervals are summed before they are rounded, so that rounding does not add up.
    let mut draws = Draws::with_stream(seed, TIMES);
    let mut at_ns = 0.0;
    let arrivals = std::iter::repeat_with(move || {
        at_ns += draws.exponential(interval_ns as f64);
        at_ns as i64
    });
    Box::new(arrivals.take_while(within))
}

/// A distribution of sizes, in the lab's form.
pub struct Size<'a> {
    pub distribution: &'a str,
    pub bytes: u64,
    pub shape: f64,
    pub cdf_bytes: &'a [u64],
    pub cdf_shares: &'a [f64],
}

/// A distribution of sizes, in bytes.
pub enum Sizes {
    Constant(f64),
    Exponential {
        mean: f64,
    },
    /// A Pareto distribution; its mean is `least` × `shape` / (`shape` − 1).
    Pareto {
        least: f64,
        shape: f64,
    },
    /// The logarithm is normal with this median and deviation.
    LogNormal {
        median: f64,
        sigma: f64,
    },
    /// Linear between points (size, share of the transfers that are not larger), which rise.
    Empirical(Vec<(f64, f64)>),
}

impl Sizes {
    pub fn new(size: &Size) -> Result<Self> {
        let (mean, shape) = (size.bytes as f64, size.shape);
        Ok(match size.distribution {
            "constant" => Self::Constant(mean),
            "exponential" => Self::Exponential { mean },
            "pareto" => Self::Pareto {
                least: mean * (shape - 1.0) / shape,
                shape,
            },
            "lognormal" => Self::log_normal(mean, shape),
            "empirical" => Self::Empirical(
                (size.cdf_bytes.iter().map(|&size| size as f64))
                    .zip(size.cdf_shares.iter().copied())
                    .collect(),
            ),
            other => bail!("this agent has no distribution of sizes {other:?}"),
        })
    }

    /// A log-normal distribution by its mean, and the deviation of its logarithm.
    pub fn log_normal(mean: f64, sigma: f64) -> Self {
        Self::LogNormal {
            median: mean * (-sigma * sigma / 2.0).exp(),
            sigma,
        }
    }

    /// Draws a size of at least one byte.
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        let size = match self {
            Self::Constant(size) => *size,
            Self::Exponential { mean } => draws.exponential(*mean),
            Self::Pareto { least, shape } => least * draws.uniform().powf(-1.0 / shape),
            Self::LogNormal { median, sigma } => median * (sigma * draws.normal()).exp(),
            Self::Empirical(points) => quantile(points, draws.uniform()),
        };
        size.round().clamp(1.0, 1e15) as u64
    }
}

/// The smallest size that this share of the transfers does not exceed.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let above = points.partition_point(|point| point.1 < share);
    match (
        above.checked_sub(1).and_then(|n| points.get(n)),
        points.get(above),
    ) {
        (Some((low, before)), Some((high, after))) => {
            low + (high - low) * (share - before) / (after - before)
        }
        (None, Some((size, _))) | (Some((size, _)), None) => *size,
        (None, None) => 0.0,
    }
}

/// The number of a transfer from the bytes with which it begins.
pub fn number_in(head: [u8; HEAD as usize]) -> usize {
    u32::from_le_bytes(head) as usize
}

/// The bytes with which the transfer of this number begins.
pub fn head_of(number: usize) -> Result<[u8; HEAD as usize]> {
    Ok(u32::try_from(number)
        .context("number of a transfer")?
        .to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 20_000;
    const SEEDS: u64 = 20;
    /// Quantile of the normal distribution for 20 tests with an error of 1 % together: 1 − 0.01 / 20 / 2.
    const Z: f64 = 3.48;

    fn flow(seed: u64, duration_ns: i64) -> Result<Flow> {
        let mut lab: crate::lab::Lab =
            serde_json::from_str(include_str!("../../../testdata/lab.json"))?;
        let mut flow = lab.flows.remove(0);
        (flow.seed, flow.start_ns, flow.duration_ns) = (seed, 7, duration_ns);
        Ok(flow)
    }

    fn fields(distribution: &str, mean: u64, shape: f64) -> OpenLoopFields {
        OpenLoopFields {
            cc: "cubic".into(),
            poisson: true,
            interval_ns: Some(1_000_000),
            times_ns: vec![],
            size_distribution: distribution.into(),
            size_bytes: mean,
            size_shape: shape,
            cdf_bytes: vec![],
            cdf_shares: vec![],
        }
    }

    fn drawn(seed: u64, fields: &OpenLoopFields) -> Result<Vec<Arrival>> {
        draw(&flow(seed, N as i64 * 1_000_000)?, fields)
    }

    /// Whether the mean of `n` values differs from the expected one only by chance.
    fn near(found: f64, mean: f64, deviation: f64, n: usize) -> bool {
        (found - mean).abs() < Z * deviation / (n as f64).sqrt()
    }

    #[test]
    fn poisson_arrivals_have_their_number_and_their_intervals() -> Result<()> {
        for seed in 0..SEEDS {
            let found = drawn(seed, &fields("constant", 1000, 0.0))?;
            // The number of arrivals has the mean N and the deviation √N.
            assert!(
                near(found.len() as f64, N as f64, N as f64, N),
                "{seed}: {}",
                found.len()
            );
            // The share e^-1 of exponential intervals is longer than the mean, and the deviation is the mean.
            let gaps: Vec<f64> = (found.windows(2))
                .map(|pair| (pair[1].start_ns - pair[0].start_ns) as f64 / 1e6)
                .collect();
            let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
            let share = (-1.0_f64).exp();
            assert!(
                near(longer, share, (share * (1.0 - share)).sqrt(), gaps.len()),
                "{seed}: {longer}"
            );
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!(near(mean, 1.0, 1.0, gaps.len()), "{seed}: {mean}");
        }
        Ok(())
    }

    #[test]
    fn sizes_have_their_means() -> Result<()> {
        // Deviations in closed form: the mean; m / √(a (a − 2)); m √(e^(s²) − 1); of a line from 0 to 2 m, m / √3.
        let line = OpenLoopFields {
            cdf_bytes: vec![0, 1_000_000],
            cdf_shares: vec![0.0, 1.0],
            ..fields("empirical", 500_000, 0.0)
        };
        let m = 500_000.0;
        for (fields, deviation) in [
            (fields("exponential", 500_000, 0.0), m),
            (fields("pareto", 500_000, 4.0), m / 8_f64.sqrt()),
            (
                fields("lognormal", 500_000, 1.0),
                m * (1_f64.exp() - 1.0).sqrt(),
            ),
            (line, m / 3_f64.sqrt()),
        ] {
            for seed in 0..SEEDS {
                let found = drawn(seed, &fields)?;
                let mean =
                    found.iter().map(|one| one.bytes as f64).sum::<f64>() / found.len() as f64;
                let name = &fields.size_distribution;
                assert!(
                    near(mean, m, deviation, found.len()),
                    "{name} {seed}: {mean}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn heavy_tails_have_their_shape() -> Result<()> {
        // 2 m / (a / (a − 1)) = 2 × least: 2^-a of the sizes are larger, whatever the variance.
        let shape = 1.2;
        for seed in 0..SEEDS {
            let found = drawn(seed, &fields("pareto", 60_000, shape))?;
            let larger = found.iter().filter(|one| one.bytes > 20_000).count() as f64;
            let share = 2_f64.powf(-shape);
            let deviation = (share * (1.0 - share)).sqrt();
            assert!(
                near(larger / found.len() as f64, share, deviation, found.len()),
                "{seed}"
            );
            assert!(found.iter().all(|one| one.bytes >= 10_000));
        }
        Ok(())
    }

    #[test]
    fn an_empirical_distribution_is_linear_between_its_points() {
        let points = [(100.0, 0.5), (200.0, 0.5 + 0.25), (1000.0, 1.0)];
        assert_eq!(
            [0.2, 0.5, 0.625, 0.75, 0.875, 1.0].map(|share| quantile(&points, share)),
            [100.0, 100.0, 150.0, 200.0, 600.0, 1000.0]
        );
    }

    #[test]
    fn sizes_do_not_change_with_the_times() -> Result<()> {
        let poisson = drawn(3, &fields("exponential", 9000, 0.0))?;
        let regular = OpenLoopFields {
            poisson: false,
            ..fields("exponential", 9000, 0.0)
        };
        let found = drawn(3, &regular)?;
        assert!(found.iter().zip(&poisson).all(|(a, b)| a.bytes == b.bytes));
        assert_eq!(
            (found.len(), found[0].start_ns, found[2].start_ns),
            (N, 7, 2_000_007)
        );
        Ok(())
    }

    #[test]
    fn listed_times_end_with_the_flow() -> Result<()> {
        let listed = OpenLoopFields {
            interval_ns: None,
            times_ns: vec![0, 5, 5, 10],
            ..fields("constant", 1, 0.0)
        };
        let found = draw(&flow(1, 10)?, &listed)?;
        let starts: Vec<i64> = found.iter().map(|one| one.start_ns).collect();
        assert_eq!(starts, [7, 12, 12]);
        assert!(
            found.iter().all(|one| one.bytes == HEAD),
            "a transfer has room for its number"
        );
        Ok(())
    }

    #[test]
    fn a_transfer_is_known_by_its_head() -> Result<()> {
        assert_eq!(number_in(head_of(70_000)?), 70_000);
        Ok(())
    }
}

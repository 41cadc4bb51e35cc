//! The distribution of times in bounded memory: exact moments, quantiles to within half a bucket.

/// Buckets in each octave (from a power of two to the next).
const BUCKETS: usize = 64;
const BUCKET_BITS: u32 = BUCKETS.trailing_zeros();
/// Octaves of a 64-bit number; those below `BUCKETS` are one, with a bucket for each number.
const OCTAVES: usize = 64 - BUCKET_BITS as usize + 1;

/// Nanoseconds, counted in buckets whose width is at most 1/64 of their values: a quantile, taken as the middle of its
/// bucket, has an error of at most 1/128 (0.8 %). Memory grows with the octaves in use, to 15 kB at most.
#[derive(Clone, Debug)]
pub struct Distribution {
    count: u64,
    sum: f64,
    sum_of_squares: f64,
    /// The first value: sums are of differences from it, which keeps the variance exact.
    origin: u64,
    least: u64,
    most: u64,
    /// The number of each octave's table plus one; 0 if it has none
    tables: [u8; OCTAVES],
    counts: Vec<[u32; BUCKETS]>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            sum_of_squares: 0.0,
            origin: 0,
            least: u64::MAX,
            most: 0,
            tables: [0; OCTAVES],
            counts: Vec::new(),
        }
    }
}

impl Distribution {
    /// Counts one value.
    pub fn push(&mut self, ns: u64) {
        if self.count == 0 {
            self.origin = ns;
        }
        let difference = ns as f64 - self.origin as f64;
        self.count += 1;
        self.sum += difference;
        self.sum_of_squares += difference * difference;
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
        let (octave, bucket) = place(ns);
        let Some(table) = self.tables.get_mut(octave) else {
            return;
        };
        if *table == 0 {
            self.counts.push([0; BUCKETS]);
            *table = self.counts.len() as u8;
        }
        let count = self
            .counts
            .get_mut(usize::from(*table) - 1)
            .and_then(|counts| counts.get_mut(bucket));
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, exactly; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.origin as f64 + self.sum / self.count as f64)
    }

    /// The standard deviation of the sample (n − 1); `None` with fewer than two values.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let n = self.count as f64;
        (self.count > 1).then(|| {
            let squares = self.sum_of_squares - self.sum * self.sum / n;
            (squares / (n - 1.0)).max(0.0).sqrt()
        })
    }

    /// The smallest value; `None` without values.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The greatest value; `None` without values.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// The value at this rank (0 to 1, nearest rank) to within 0.8 %; `None` without values.
    #[must_use]
    pub fn quantile(&self, rank: f64) -> Option<f64> {
        let wanted = ((self.count as f64 * rank).ceil() as u64).max(1);
        let mut seen = 0;
        for (octave, &table) in self.tables.iter().enumerate() {
            let Some(counts) = usize::from(table)
                .checked_sub(1)
                .and_then(|t| self.counts.get(t))
            else {
                continue;
            };
            for (bucket, &count) in counts.iter().enumerate() {
                seen += u64::from(count);
                if seen >= wanted {
                    return Some(middle(octave, bucket).clamp(self.least as f64, self.most as f64));
                }
            }
        }
        None
    }
}

/// Octave and bucket of a value.
fn place(value: u64) -> (usize, usize) {
    let octave = (64 - BUCKET_BITS).saturating_sub(value.leading_zeros());
    let shift = octave.saturating_sub(1);
    let bucket = (value >> shift) as usize % BUCKETS;
    (octave as usize, bucket)
}

/// The middle of a bucket.
fn middle(octave: usize, bucket: usize) -> f64 {
    if octave == 0 {
        return bucket as f64;
    }
    let width = (1_u64 << (octave - 1)) as f64;
    (BUCKETS + bucket) as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_near_the_middle_of_its_bucket() {
        for power in 0..64 {
            for value in [
                1_u64 << power,
                (1 << power) + (1 << power) / 3,
                (1 << power) - 1,
            ] {
                let (octave, bucket) = place(value);
                let error = (middle(octave, bucket) - value as f64).abs();
                assert!(error <= value as f64 / 128.0, "{value}: {error}");
            }
        }
        assert_eq!(place(u64::MAX).0, OCTAVES - 1);
    }

    #[test]
    fn quantiles_of_a_known_distribution() {
        let mut found = Distribution::default();
        for value in (1..=10_000_u64).rev() {
            found.push(value * 1000);
        }
        assert_eq!(found.count(), 10_000);
        assert_eq!(found.least(), Some(1000));
        assert_eq!(found.most(), Some(10_000_000));
        assert_eq!(found.mean(), Some(5_000_500.0));
        for (rank, exact) in [(0.5, 5_000_000.0), (0.95, 9_500_000.0), (1.0, 10_000_000.0)] {
            let value = found.quantile(rank).unwrap_or_default();
            assert!((value / exact - 1.0_f64).abs() < 0.008, "{rank}: {value}");
        }
        let exact = (10_000.0_f64 * 10_001.0 / 12.0).sqrt() * 1000.0;
        assert!((found.deviation().unwrap_or_default() / exact - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_has_no_mean() {
        let found = Distribution::default();
        assert_eq!(
            (found.mean(), found.quantile(0.5), found.least()),
            (None, None, None)
        );
    }
}

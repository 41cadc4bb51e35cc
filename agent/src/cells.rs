//! Contents of those attributes of netem that hold one property of a wire.

/// A part of an attribute.
pub enum Cell {
    /// A probability, in 32 bits.
    Share(f64),
    /// Nanoseconds, in 64 bits.
    Time(u64),
    /// A number of zero bytes.
    Zero(usize),
}

/// An attribute: its number, its content, and whether every change repeats it. An attribute that is not repeated is
/// sent only if it differs, because some attributes restart a sequence of random numbers.
pub struct Attribute {
    pub number: u16,
    pub content: Vec<u8>,
    pub repeated: bool,
}

/// Builds an attribute from these cells.
pub fn attribute(number: u16, repeated: bool, cells: &[Cell]) -> Attribute {
    let content = cells
        .iter()
        .flat_map(|cell| match cell {
            Cell::Share(p) => probability(*p).to_ne_bytes().to_vec(),
            Cell::Time(ns) => ns.to_ne_bytes().to_vec(),
            Cell::Zero(size) => vec![0; *size],
        })
        .collect();
    Attribute {
        number,
        content,
        repeated,
    }
}

/// Converts a probability to netem's form: a share of 2³² − 1.
pub fn probability(p: f64) -> u32 {
    (p.clamp(0.0, 1.0) * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_fill_the_whole_range() {
        assert_eq!(probability(0.0), 0);
        assert_eq!(probability(1.0), u32::MAX);
        assert_eq!(probability(0.5), 1 << 31);
        assert_eq!(probability(2.0), u32::MAX);
    }

    #[test]
    fn cells_follow_each_other() {
        let found = attribute(13, false, &[Cell::Time(1), Cell::Share(1.0), Cell::Zero(4)]);
        let wanted = [&1_u64.to_ne_bytes()[..], &[0xff; 4], &[0; 4]].concat();
        assert_eq!(found.content, wanted);
    }
}

//! The objects of pages: their sizes, and which of them names which.

use anyhow::Result;

use super::body::USUAL;
use crate::traffic::draws::Draws;
use crate::traffic::fields::HttpFields;
use crate::traffic::open_loop::arrivals::{SIZES, Size, Sizes};

/// The urgency of objects that the page cannot be shown without.
const URGENT: u8 = 1;

/// An object of a page: the first is the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub bytes: u64,
    /// The number of the object that names it.
    pub parent: Option<usize>,
    pub urgency: u8,
}

impl Planned {
    /// An object that no other names, without urgency.
    pub fn alone(bytes: u64) -> Self {
        Self {
            bytes,
            parent: None,
            urgency: USUAL,
        }
    }
}

/// Draws pages one after the other.
pub struct Pages {
    document_bytes: u64,
    objects: usize,
    depth: usize,
    urgent: usize,
    sizes: Sizes,
    draws: Draws,
}

impl Pages {
    pub fn new(fields: &HttpFields, seed: u64) -> Result<Self> {
        Ok(Self {
            document_bytes: fields.document_bytes,
            objects: fields.objects.into(),
            depth: fields.depth.into(),
            urgent: fields.urgent.into(),
            sizes: Sizes::new(&Size {
                distribution: &fields.size_distribution,
                bytes: fields.size_bytes,
                shape: fields.size_shape,
                cdf_bytes: &fields.cdf_bytes,
                cdf_shares: &fields.cdf_shares,
            })?,
            draws: Draws::with_stream(seed, SIZES),
        })
    }

    /// The next page.
    pub fn draw(&mut self) -> Vec<Planned> {
        let mut page = vec![Planned::alone(self.document_bytes)];
        for number in 0..self.objects {
            page.push(Planned {
                bytes: self.sizes.draw(&mut self.draws),
                parent: Some(parent(number, self.objects, self.depth)),
                urgency: if number < self.urgent { URGENT } else { USUAL },
            });
        }
        page
    }
}

/// The object that names the object `number`, of so many beside the document in levels of about the same size. Objects of
/// a level name those of the next in turn.
fn parent(number: usize, objects: usize, depth: usize) -> usize {
    let level_of = |number: usize| number * depth / objects;
    let first_of = |level: usize| (level * objects).div_ceil(depth);
    let level = level_of(number);
    let Some(before) = level.checked_sub(1) else {
        return 0;
    };
    let (first, count) = (first_of(before), first_of(level) - first_of(before));
    match count {
        // There are more levels than objects, and the level before is empty.
        0 => number,
        _ => 1 + first + (number - first_of(level)) % count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parents(objects: usize, depth: usize) -> Vec<usize> {
        (0..objects)
            .map(|number| parent(number, objects, depth))
            .collect()
    }

    #[test]
    fn objects_are_named_by_the_level_before() {
        assert_eq!(parents(4, 1), [0, 0, 0, 0]);
        assert_eq!(parents(6, 3), [0, 0, 1, 2, 3, 4]);
        assert_eq!(parents(5, 2), [0, 0, 0, 1, 2]);
        assert_eq!(parents(3, 3), [0, 1, 2]);
    }

    #[test]
    fn each_object_is_named_by_an_earlier_one() {
        for objects in 1..30 {
            for depth in 1..=10 {
                let parents = parents(objects, depth);
                assert!(parents.iter().enumerate().all(|(n, parent)| *parent <= n));
            }
        }
    }
}

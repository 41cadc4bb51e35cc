//! `damage SEED COUNT`: reads COUNT damaged captures, the same for the same seed, and prints how many it read.
//!
//! Reading must end for any bytes, and the counts must add up; a panic names the number of the capture, and leaves it
//! in `damaged-SEED-NUMBER` in the current directory.
#![allow(clippy::indexing_slicing)]

#[path = "../tests/whole/mod.rs"]
mod whole;

use std::path::Path;
use std::process::ExitCode;

/// A deterministic pseudo-random sequence (Marsaglia's xorshift).
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let [seed, count] = numbers[..] else {
        eprintln!("usage: damage SEED COUNT");
        return ExitCode::from(2);
    };
    // The whole captures are used as often as the corpus, most of which is refused at once.
    let folders = [samples("captures"), samples("corpus")];
    for number in 0..count {
        let mut chance = Chance((seed << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let samples = &folders[chance.next(2)];
        let sample = &samples[chance.next(samples.len())];
        let damaged = damage(sample.clone(), &mut chance);
        if std::panic::catch_unwind(|| whole::read(&damaged)).is_err() {
            let name = format!("damaged-{seed}-{number}");
            eprintln!("capture {number} of seed {seed} made it panic; it is in {name}");
            if let Err(error) = std::fs::write(&name, &damaged) {
                eprintln!("{name}: {error}");
            }
            return ExitCode::from(101);
        }
    }
    println!("{count} captures");
    ExitCode::SUCCESS
}

/// The captures in a folder of the tests: whole ones, or the corpus that the fuzzer found.
fn samples(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

/// Applies one to eight damages: bytes, bits, lengths at the edges of their width, parts removed or doubled, the end
/// cut off.
fn damage(mut bytes: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
    for _ in 0..=chance.next(8) {
        if bytes.is_empty() {
            break;
        }
        let at = chance.next(bytes.len());
        let end = (at + 1 + chance.next(64)).min(bytes.len());
        match chance.next(7) {
            0 => bytes[at] = chance.next(256) as u8,
            1 => bytes[at] ^= 1 << chance.next(8),
            2 => bytes.truncate(at),
            3 => {
                let edges = [0, 1, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff_u32];
                let value = edges[chance.next(edges.len())];
                let written = if chance.next(2) == 0 {
                    value.to_le_bytes()
                } else {
                    value.to_be_bytes()
                };
                let width = (bytes.len() - at).min(4);
                bytes[at..at + width].copy_from_slice(&written[..width]);
            }
            4 => {
                bytes.drain(at..end);
            }
            5 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes[at..end].fill([0, 0xff][chance.next(2)]),
        }
    }
    bytes
}

//! Reads files that are damaged in every way: none may end the program, and the readable part is read.
#![allow(clippy::indexing_slicing, clippy::panic)]

mod whole;

use std::path::Path;

use netwarp_capture::file::{Damage, Reader};
use whole::read;

/// Captures of runs and of other programs, small enough to be kept here, and files that the fuzzer found.
fn samples(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(bytes) = std::fs::read(entry.path()) {
            found.push((name, bytes));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no samples in {}", folder.display());
    found
}

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

#[test]
fn samples_are_read_whole() {
    for (name, bytes) in samples("captures") {
        let done = read(&bytes);
        assert!(done.whole, "{name}");
        assert!(done.analysis.stats().tcp > 10, "{name}");
    }
}

#[test]
fn what_the_fuzzer_found_does_no_harm() {
    for (_, bytes) in samples("corpus") {
        read(&bytes);
    }
}

#[test]
fn a_file_may_end_anywhere() {
    for (_, bytes) in samples("captures") {
        let mut tcp = 0;
        for end in (0..bytes.len()).step_by(61) {
            let now = read(&bytes[..end]).analysis.stats().tcp;
            assert!(now >= tcp, "more of a file tells more");
            tcp = now;
        }
    }
}

#[test]
fn any_byte_may_be_another() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for (_, bytes) in samples("captures") {
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            for _ in 0..=chance.next(8) {
                let at = chance.next(damaged.len());
                match chance.next(4) {
                    0 => damaged[at] = chance.next(256) as u8,
                    1 => damaged[at] ^= 1 << chance.next(8),
                    2 => damaged.truncate(at.max(24)),
                    _ => {
                        let end = (at + 4).min(damaged.len());
                        damaged[at..end].fill([0, 0xff][chance.next(2)]);
                    }
                }
            }
            read(&damaged);
        }
    }
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    let opened = |bytes: &[u8]| Reader::open(bytes).map(|_| ());
    assert_eq!(opened(b""), Err(Damage::Empty));
    assert_eq!(opened(b"time,rtt\n1,2\n"), Err(Damage::NotACapture(None)));
    for (bytes, kind) in [
        (&b"\x1f\x8b\x08\x00\x00\x00"[..], "gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"BZh91AY", "bzip2"),
    ] {
        match opened(bytes) {
            Err(Damage::NotACapture(Some(what))) => assert!(what.contains(kind), "{what}"),
            other => panic!("{kind}: {other:?}"),
        }
    }
    assert_eq!(
        opened(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"),
        Err(Damage::Header)
    );
}

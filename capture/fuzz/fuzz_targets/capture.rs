//! Any bytes as a capture file.

#![no_main]

#[path = "../../tests/whole/mod.rs"]
mod whole;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    whole::read(bytes);
});

//! TCP sequence numbers, which wrap around.

/// Whether `a` comes before `b` in sequence space (RFC 9293, section 3.4).
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

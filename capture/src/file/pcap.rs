//! The pcap format (draft-ietf-opsawg-pcap): a header of 24 bytes, then frames behind headers of 16.

use super::step::{Damage, Frame, MAX_FRAME_BYTES, Step};
use crate::bytes::{Order, be32};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetsov's libpcap: eight more bytes before each frame.
const MODIFIED: u32 = 0xa1b2_cd34;
const FILE_HEADER_BYTES: usize = 24;
const FRAME_HEADER_BYTES: usize = 16;
const MODIFIED_HEADER_BYTES: usize = 24;
/// The upper bits of the link type hold the length of the frame check sequence.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// Whether a file begins as these do.
pub fn is_magic(bytes: &[u8]) -> bool {
    let known = |magic| matches!(magic, MICROSECONDS | NANOSECONDS | MODIFIED);
    be32(bytes, 0).is_some_and(|magic| known(magic) || known(magic.swap_bytes()))
}

/// The fields of the file's header.
#[derive(Debug)]
pub struct Pcap {
    order: Order,
    tick_ns: i64,
    link_type: u32,
    header_bytes: usize,
}

impl Pcap {
    /// Reads the file's header, if it is one; returns its length.
    pub fn open(bytes: &[u8]) -> Option<(Self, usize)> {
        let magic = be32(bytes, 0)?;
        let (order, magic) = match magic {
            MICROSECONDS | NANOSECONDS | MODIFIED => (Order::Big, magic),
            _ => (Order::Little, magic.swap_bytes()),
        };
        let (tick_ns, header_bytes) = match magic {
            MICROSECONDS => (1000, FRAME_HEADER_BYTES),
            NANOSECONDS => (1, FRAME_HEADER_BYTES),
            MODIFIED => (1000, MODIFIED_HEADER_BYTES),
            _ => return None,
        };
        let link_type = order.u32(bytes, 20)? & LINK_TYPE_MASK;
        let reader = Self {
            order,
            tick_ns,
            link_type,
            header_bytes,
        };
        Some((reader, FILE_HEADER_BYTES))
    }

    pub fn step<'a>(&self, bytes: &'a [u8]) -> Result<Step<'a>, Damage> {
        let header = || {
            let word = |at| self.order.u32(bytes, at);
            Some((word(0)?, word(4)?, word(8)?, word(12)?))
        };
        let Some((seconds, ticks, captured, wire_bytes)) = header() else {
            return Ok(Step::More(self.header_bytes));
        };
        if captured > MAX_FRAME_BYTES {
            return Err(Damage::FrameLength(captured));
        }
        let end = self.header_bytes + captured as usize;
        let Some(frame) = bytes.get(self.header_bytes..end) else {
            return Ok(Step::More(end));
        };
        let frame = Frame {
            time_ns: i64::from(seconds) * 1_000_000_000 + i64::from(ticks) * self.tick_ns,
            link_type: self.link_type,
            // A wire length below the captured length is corrected, as in Wireshark.
            wire_bytes: wire_bytes.max(captured),
            bytes: frame,
        };
        Ok(Step::Frame(frame, end))
    }
}

//! TCP segments (RFC 9293) and their options.

use crate::bytes::{be16, be32, u8_at};

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;
/// The header up to the window: a segment that is shorter cannot be analysed.
const HEADER_NEEDED_BYTES: usize = 16;
const HEADER_BYTES: usize = 20;
/// Wireshark looks at three of the four blocks that an option can hold; a fourth leaves no room for timestamps.
pub const MAX_SACK_BLOCKS: usize = 3;
/// RFC 7323, section 2.3
const MAX_WINDOW_SCALE: u8 = 14;
const OPTION_END: u8 = 0;
const OPTION_NOTHING: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;
/// Two fillers and timestamps: the only options of most segments.
const ONLY_TIMESTAMPS: u32 = 0x0101_080a;

/// A TCP segment's header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Number of its first byte
    pub seq: u32,
    /// Number of the byte that is expected next
    pub ack: u32,
    /// FIN, SYN, RST, ACK …
    pub flags: u8,
    /// The window field, not scaled
    pub window: u16,
    /// Bytes of payload
    pub payload_bytes: u32,
    /// Its options
    pub options: Options,
}

/// A segment's options, as far as they were captured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Maximum segment size
    pub mss_bytes: Option<u16>,
    /// Shift of the window (RFC 7323), 14 at most
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted (RFC 2018)
    pub sack_permitted: bool,
    /// Whether there are timestamps (RFC 7323)
    pub timestamps: bool,
    /// Blocks that arrived out of order: first byte, byte after the last
    pub sack: Sack,
}

/// The blocks of a SACK option, in its order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sack {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl Sack {
    /// The blocks in use.
    pub fn blocks(&self) -> &[(u32, u32)] {
        self.blocks.get(..usize::from(self.count)).unwrap_or(&[])
    }
}

impl Segment {
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Number of the first byte after it: SYN and FIN count as a byte each.
    pub fn end(&self) -> u32 {
        let flags = u32::from(self.has(SYN | FIN));
        self.seq
            .wrapping_add(self.payload_bytes)
            .wrapping_add(flags)
    }
}

/// Reads a segment from the captured `bytes` of `wire_bytes`. `None` if the header is cut off or broken.
pub fn read(bytes: &[u8], wire_bytes: u32) -> Option<Segment> {
    let header = bytes.first_chunk::<HEADER_NEEDED_BYTES>()?;
    let header_bytes = usize::from(header[12] >> 4) * 4;
    if header_bytes < HEADER_BYTES {
        return None;
    }
    Some(Segment {
        seq: be32(header, 4)?,
        ack: be32(header, 8)?,
        flags: header[13],
        window: be16(header, 14)?,
        payload_bytes: wire_bytes.checked_sub(header_bytes as u32)?,
        options: if header_bytes == HEADER_BYTES {
            Options::default()
        } else {
            let end = header_bytes.min(bytes.len());
            options(bytes.get(HEADER_BYTES..end).unwrap_or(&[]))
        },
    })
}

fn options(bytes: &[u8]) -> Options {
    let mut found = Options::default();
    let mut rest = bytes;
    if be32(rest, 0) == Some(ONLY_TIMESTAMPS) {
        found.timestamps = true;
        rest = rest.get(12..).unwrap_or(&[]);
    }
    while let Some((&kind, after)) = rest.split_first() {
        match kind {
            OPTION_END => break,
            OPTION_NOTHING => rest = after,
            _ => {
                // The length counts itself and the kind; the value may be cut off.
                let Some(length) = u8_at(rest, 1).map(usize::from).filter(|&l| l >= 2) else {
                    break;
                };
                let value = rest.get(2..length.min(rest.len())).unwrap_or(&[]);
                found.take(kind, length, value);
                rest = rest.get(length..).unwrap_or(&[]);
            }
        }
    }
    found
}

impl Options {
    fn take(&mut self, kind: u8, length: usize, value: &[u8]) {
        match (kind, length) {
            (OPTION_MSS, 4) => self.mss_bytes = be16(value, 0),
            (OPTION_WINDOW_SCALE, 3) => {
                self.window_scale = u8_at(value, 0).map(|shift| shift.min(MAX_WINDOW_SCALE));
            }
            (OPTION_SACK_PERMITTED, 2) => self.sack_permitted = true,
            (OPTION_TIMESTAMPS, 10) => self.timestamps = true,
            (OPTION_SACK, _) => {
                self.sack = Sack::default();
                for (slot, block) in self.sack.blocks.iter_mut().zip(value.chunks_exact(8)) {
                    if let (Some(left), Some(right)) = (be32(block, 0), be32(block, 4)) {
                        *slot = (left, right);
                        self.sack.count += 1;
                    }
                }
            }
            _ => {}
        }
    }
}

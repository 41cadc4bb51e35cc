//! The pcapng format (draft-ietf-opsawg-pcapng): sections of blocks. Blocks that are neither a packet nor needed to
//! read one are skipped.

use super::step::{Damage, Frame, MAX_FRAME_BYTES, MAX_HEADERS_BYTES, Step};
use crate::bytes::{Order, be32, u8_at};

pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;
/// Type, length, and the length again at the end.
const MIN_BLOCK_BYTES: u32 = 12;
/// More interfaces than files have, and few enough to keep in memory.
const MAX_INTERFACES: usize = 65_536;

/// One interface of the section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u32,
    snap: u32,
    clock: Clock,
}

/// The unit of a timestamp.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Whole nanoseconds per tick
    Multiple { tick_ns: u64, offset_ns: i64 },
    /// Ticks per second that do not divide a nanosecond's frequency
    Rate { per_second: u128, offset_ns: i64 },
}

/// The state of the section that is being read.
#[derive(Debug)]
pub struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

impl Default for Pcapng {
    fn default() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
        }
    }
}

impl Pcapng {
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<Step<'a>, Damage> {
        let Some(kind) = be32(bytes, 0) else {
            return Ok(Step::More(12));
        };
        if kind == SECTION_HEADER {
            let Some(magic) = be32(bytes, 8) else {
                return Ok(Step::More(12));
            };
            self.order = match magic {
                BYTE_ORDER_MAGIC => Order::Big,
                _ if magic.swap_bytes() == BYTE_ORDER_MAGIC => Order::Little,
                _ => return Err(Damage::ByteOrder),
            };
            self.interfaces.clear();
        }
        let (Some(kind), Some(length)) = (self.order.u32(bytes, 0), self.order.u32(bytes, 4))
        else {
            return Ok(Step::More(8));
        };
        if length < MIN_BLOCK_BYTES {
            return Err(Damage::BlockLength(length));
        }
        // Some programs do not count the padding.
        let whole = u64::from(length).next_multiple_of(4);
        let wanted = matches!(
            kind,
            INTERFACE_DESCRIPTION | PACKET | SIMPLE_PACKET | ENHANCED_PACKET
        );
        if !wanted {
            return Ok(Step::Skip(whole));
        }
        if whole > u64::from(MAX_FRAME_BYTES) + MAX_HEADERS_BYTES as u64 {
            return Err(Damage::BlockLength(length));
        }
        let whole = whole as usize;
        let Some(body) = bytes.get(8..whole.saturating_sub(4)) else {
            return Ok(Step::More(whole));
        };
        if bytes.len() < whole {
            return Ok(Step::More(whole));
        }
        let frame = match kind {
            INTERFACE_DESCRIPTION => {
                self.describe(body).ok_or(Damage::BlockLength(length))?;
                return Ok(Step::Skip(whole as u64));
            }
            ENHANCED_PACKET => self.enhanced(body, self.order.u32(body, 0)),
            PACKET => self.enhanced(body, self.order.u16(body, 0).map(u32::from)),
            _ => self.simple(body),
        };
        match frame.ok_or(Damage::BlockLength(length))? {
            Ok(frame) => Ok(Step::Frame(frame, whole)),
            Err(damage) => Err(damage),
        }
    }

    /// Interface Description Block. `None` if it is too short, or there are too many.
    fn describe(&mut self, body: &[u8]) -> Option<()> {
        let link_type = u32::from(self.order.u16(body, 0)?);
        let snap = self.order.u32(body, 4)?;
        let (mut resolution, mut offset_s) = (6, 0);
        let mut at = 8;
        while let (Some(code), Some(length)) =
            (self.order.u16(body, at), self.order.u16(body, at + 2))
        {
            match code {
                OPTION_END => break,
                OPTION_TSRESOL => resolution = u8_at(body, at + 4)?,
                OPTION_TSOFFSET => offset_s = self.order.u64(body, at + 4)? as i64,
                _ => {}
            }
            at += 4 + usize::from(length).next_multiple_of(4);
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return None;
        }
        self.interfaces.push(Interface {
            link_type,
            snap,
            clock: Clock::new(resolution, offset_s),
        });
        Some(())
    }

    /// Enhanced Packet Block, and the obsolete Packet Block, which has a drop count in the upper half of its interface
    /// field.
    fn enhanced<'a>(
        &self,
        body: &'a [u8],
        interface: Option<u32>,
    ) -> Option<Result<Frame<'a>, Damage>> {
        let number = interface?;
        let Some(interface) = self.interfaces.get(number as usize) else {
            return Some(Err(Damage::Interface(number)));
        };
        let word = |at| self.order.u32(body, at);
        let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let (captured, wire_bytes) = (word(12)?, word(16)?);
        let Some(bytes) = body.get(20..20usize.saturating_add(captured as usize)) else {
            return Some(Err(Damage::FrameLength(captured)));
        };
        Some(Ok(Frame {
            time_ns: interface.clock.ns(ticks),
            link_type: interface.link_type,
            wire_bytes: wire_bytes.max(captured),
            bytes,
        }))
    }

    /// Simple Packet Block: of the first interface, and without a time.
    fn simple<'a>(&self, body: &'a [u8]) -> Option<Result<Frame<'a>, Damage>> {
        let Some(interface) = self.interfaces.first() else {
            return Some(Err(Damage::Interface(0)));
        };
        let wire_bytes = self.order.u32(body, 0)?;
        let snap = if interface.snap == 0 {
            u32::MAX
        } else {
            interface.snap
        };
        let Some(bytes) = body.get(4..4usize.saturating_add(wire_bytes.min(snap) as usize)) else {
            return Some(Err(Damage::FrameLength(wire_bytes)));
        };
        Some(Ok(Frame {
            time_ns: 0,
            link_type: interface.link_type,
            wire_bytes,
            bytes,
        }))
    }
}

impl Clock {
    /// `if_tsresol` and `if_tsoffset`: the upper bit chooses between powers of 2 and of 10.
    fn new(resolution: u8, offset_s: i64) -> Self {
        let offset_ns = offset_s.saturating_mul(1_000_000_000);
        let power = u32::from(resolution & 0x7f);
        if resolution & 0x80 == 0 && power <= 9 {
            let tick_ns = 10_u64.pow(9 - power);
            return Self::Multiple { tick_ns, offset_ns };
        }
        let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
        let per_second = base.checked_pow(power).unwrap_or(u128::MAX);
        Self::Rate {
            per_second,
            offset_ns,
        }
    }

    fn ns(self, ticks: u64) -> i64 {
        let (ns, offset_ns) = match self {
            Self::Multiple { tick_ns, offset_ns } => (ticks.saturating_mul(tick_ns), offset_ns),
            Self::Rate {
                per_second,
                offset_ns,
            } => {
                let ns = u128::from(ticks) * 1_000_000_000 / per_second;
                (u64::try_from(ns).unwrap_or(u64::MAX), offset_ns)
            }
        };
        i64::try_from(ns)
            .unwrap_or(i64::MAX)
            .saturating_add(offset_ns)
    }
}

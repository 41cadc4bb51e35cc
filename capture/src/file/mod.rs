//! Capture files: pcap and pcapng. The reader is fed with bytes and holds none, so that its caller decides how they are
//! read and how many stay in memory.

mod pcap;
mod pcapng;
mod step;

pub use step::{Damage, Frame, MAX_FRAME_BYTES, MAX_STEP_BYTES, Step};

use crate::bytes::{Order, u8_at};

/// The state of reading a file.
#[derive(Debug)]
pub enum Reader {
    /// The older format: one header, then frames
    Pcap(pcap::Pcap),
    /// The newer one: blocks of many kinds
    Pcapng(pcapng::Pcapng),
}

/// The bytes that show what kind of file it is.
pub const MAGIC_BYTES: usize = 24;

impl Reader {
    /// A reader that finds nothing, as a placeholder.
    #[must_use]
    pub fn none() -> Self {
        Self::Pcapng(pcapng::Pcapng::default())
    }

    /// Begins with the first `MAGIC_BYTES` of a file, or with all of it if it has fewer. Returns the number of bytes
    /// used.
    ///
    /// # Errors
    /// The file is of another kind, which the error names, or of an unknown kind.
    pub fn open(bytes: &[u8]) -> Result<(Self, usize), Damage> {
        if bytes.is_empty() {
            return Err(Damage::Empty);
        }
        if let Some((reader, used)) = pcap::Pcap::open(bytes) {
            return Ok((Self::Pcap(reader), used));
        }
        if Order::Big.u32(bytes, 0) == Some(pcapng::SECTION_HEADER) {
            return Ok((Self::Pcapng(pcapng::Pcapng::default()), 0));
        }
        if pcap::is_magic(bytes) {
            return Err(Damage::Header);
        }
        Err(Damage::NotACapture(look_alike(bytes)))
    }

    /// Reads the next item at the beginning of `bytes`.
    ///
    /// # Errors
    /// The reason why the rest of the file cannot be read.
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<Step<'a>, Damage> {
        match self {
            Self::Pcap(reader) => reader.step(bytes),
            Self::Pcapng(reader) => reader.step(bytes),
        }
    }
}

/// Recognises files that users take for captures.
fn look_alike(bytes: &[u8]) -> Option<&'static str> {
    match (u8_at(bytes, 0)?, u8_at(bytes, 1)?) {
        (0x1f, 0x8b) => Some("compressed with gzip (unpack it with gunzip)"),
        (0x28, 0xb5) => Some("compressed with zstd (unpack it with unzstd)"),
        (0xfd, b'7') => Some("compressed with xz (unpack it with unxz)"),
        (b'B', b'Z') => Some("compressed with bzip2 (unpack it with bunzip2)"),
        (b's', b'n') => Some("a snoop file (tshark -F pcap -r FILE -w NEW turns it into pcap)"),
        _ => None,
    }
}

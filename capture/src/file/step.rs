//! What is read of a capture file, step by step.

use std::fmt;

/// A longer frame is not believed: it is the largest snapshot length that libpcap and Wireshark know.
pub const MAX_FRAME_BYTES: u32 = 262_144;
/// What has to be there for the reader to move on, at most, besides the frame itself.
pub const MAX_HEADERS_BYTES: usize = 4096;
/// A buffer of this size holds whatever the reader asks for.
pub const MAX_STEP_BYTES: usize = MAX_FRAME_BYTES as usize + MAX_HEADERS_BYTES;

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When, in nanoseconds since 1970 (or whatever the clock of the file counts from)
    pub time_ns: i64,
    /// The file's number for the link layer: LINKTYPE_…
    pub link_type: u32,
    /// Its length on the wire
    pub wire_bytes: u32,
    /// What was captured of it
    pub bytes: &'a [u8],
}

/// What the next bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A frame, and the bytes that it takes of the file
    Frame(Frame<'a>, usize),
    /// So many bytes that are no frame; there may be more of them than were shown
    Skip(u64),
    /// So many bytes have to be shown to go on; if the file has fewer, it was cut off
    More(usize),
}

/// Why a file cannot be read, or not any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It has no bytes at all
    Empty,
    /// It does not begin like a capture; what it looks like, if that is known
    NotACapture(Option<&'static str>),
    /// It ends within its header
    Header,
    /// A frame says it is this long
    FrameLength(u32),
    /// A block says it is this long
    BlockLength(u32),
    /// A packet of an interface that was not described
    Interface(u32),
    /// A section header without a byte order that is known
    ByteOrder,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(out, "the file is empty"),
            Self::NotACapture(None) => write!(out, "this is neither a pcap nor a pcapng file"),
            Self::NotACapture(Some(kind)) => {
                write!(out, "this is {kind}, not a pcap or pcapng file")
            }
            Self::Header => write!(out, "the file ends within its header"),
            Self::FrameLength(bytes) => {
                write!(
                    out,
                    "a frame says that {bytes} bytes of it were captured, more than any program captures"
                )
            }
            Self::BlockLength(bytes) => write!(
                out,
                "a block says that it is {bytes} bytes long, which none can be"
            ),
            Self::Interface(number) => write!(
                out,
                "a packet belongs to interface {number}, which is not described"
            ),
            Self::ByteOrder => write!(out, "a section header tells no byte order"),
        }
    }
}

impl std::error::Error for Damage {}

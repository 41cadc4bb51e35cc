//! Steps of reading a capture file.

use std::fmt;

/// Longer frames are taken for damage: this is the largest snapshot length of libpcap and Wireshark.
pub const MAX_FRAME_BYTES: u32 = 262_144;
/// Most bytes that the reader needs to move on, besides the frame itself.
pub const MAX_HEADERS_BYTES: usize = 4096;
/// Size of a buffer that is enough for any request of the reader.
pub const MAX_STEP_BYTES: usize = MAX_FRAME_BYTES as usize + MAX_HEADERS_BYTES;

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Time in nanoseconds since 1970 (or since the epoch of the file's clock)
    pub time_ns: i64,
    /// The link layer's number in the file: LINKTYPE_…
    pub link_type: u32,
    /// Length on the wire
    pub wire_bytes: u32,
    /// The captured bytes
    pub bytes: &'a [u8],
}

/// The next item of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A frame, and its size in the file
    Frame(Frame<'a>, usize),
    /// This many bytes that are not a frame; there may be more of them than were passed
    Skip(u64),
    /// This many bytes are needed to go on; if the file has fewer, it was cut off
    More(usize),
}

/// The reason why a file cannot be read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It has no bytes at all
    Empty,
    /// It does not begin like a capture; its likely kind, if that is known
    NotACapture(Option<&'static str>),
    /// It ends within its header
    Header,
    /// A frame claims this length
    FrameLength(u32),
    /// A block claims this length
    BlockLength(u32),
    /// A packet of an interface that was not described
    Interface(u32),
    /// A section header without a known byte order
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
                "a block says that it is {bytes} bytes long, which is impossible"
            ),
            Self::Interface(number) => write!(
                out,
                "a packet belongs to interface {number}, which is not described"
            ),
            Self::ByteOrder => write!(out, "a section header has no valid byte order"),
        }
    }
}

impl std::error::Error for Damage {}

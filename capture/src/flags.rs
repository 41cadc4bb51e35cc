//! The findings about a segment.

/// A set of findings on one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        impl Flags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*
            /// All flags with their names, which up to `reused_ports` are those of Wireshark's fields after
            /// `tcp.analysis.`
            pub const NAMES: &[(Self, &str)] = &[$((Self::$name, $text)),*];
        }
    };
}

flags! {
    /// Apparently sent before
    RETRANSMISSION = 0, "retransmission";
    /// Soon after two or more duplicate ACKs that ask for it
    FAST_RETRANSMISSION = 1, "fast_retransmission";
    /// Contains data that was already acknowledged
    SPURIOUS_RETRANSMISSION = 2, "spurious_retransmission";
    /// Overtaken on the way
    OUT_OF_ORDER = 3, "out_of_order";
    /// Only repeats the last ACK
    DUPLICATE_ACK = 4, "duplicate_ack";
    /// Segments before it are not in the capture
    LOST_SEGMENT = 5, "lost_segment";
    /// Acknowledges a segment that is not in the capture
    ACK_LOST_SEGMENT = 6, "ack_lost_segment";
    /// The receiver's buffer is full
    ZERO_WINDOW = 7, "zero_window";
    /// A byte sent to test whether the buffer is still full
    ZERO_WINDOW_PROBE = 8, "zero_window_probe";
    /// The answer that it is
    ZERO_WINDOW_PROBE_ACK = 9, "zero_window_probe_ack";
    /// Fills the receiver's window to the last byte
    WINDOW_FULL = 10, "window_full";
    /// Only announces a new window
    WINDOW_UPDATE = 11, "window_update";
    /// Repeats the last byte to test whether the peer is there
    KEEP_ALIVE = 12, "keep_alive";
    /// The answer that it is
    KEEP_ALIVE_ACK = 13, "keep_alive_ack";
    /// A new connection between ports that had one
    REUSED_PORTS = 14, "reused_ports";
    /// Some of its bytes were seen before: certain, and not one of Wireshark's
    RESENT = 15, "resent";
    /// Probably sent because a timer expired: not one of Wireshark's
    TIMEOUT = 16, "timeout";
}

impl Flags {
    /// Whether one of these is set.
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Adds these.
    pub fn set(&mut self, flags: Self) {
        self.0 |= flags.0;
    }
}

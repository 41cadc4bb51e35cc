//! Numbers that the kernel reports about a socket: each with its column name, block, offset and width. Blocks are
//! netlink attributes (INET_DIAG_… of linux/inet_diag.h); block 0 is the message's own header.

pub const HEADER: u16 = 0;
pub const INET_DIAG_INFO: u16 = 2;
pub const INET_DIAG_VEGASINFO: u16 = 3;
pub const INET_DIAG_CONG: u16 = 4;
pub const INET_DIAG_SKMEMINFO: u16 = 7;
const INET_DIAG_DCTCPINFO: u16 = 9;
const INET_DIAG_BBRINFO: u16 = 16;
/// One more than the highest block in use.
pub const BLOCKS: usize = 17;

/// The encoding of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
    /// Bits of a byte: (lowest, mask).
    Bits(u8, u8),
    /// The lowest bit of a byte.
    Flag,
    /// Bytes per second in 64 bits, 0 or all ones for none; reported in bits per second.
    Rate,
    /// A time in 32 bits, 0 or all ones before the first sample: an estimate of the RTT.
    Estimate,
    /// A time in 32 bits, 0 or the largest signed number before the first sample (vegas_enable() and tcp_vegas_init()
    /// in net/ipv4/tcp_vegas.c).
    Vegas,
    /// A time in 32 bits that is valid only if the estimate before it is: until there is a sample of the RTT, its
    /// variation holds the basis of the first timeout (TCP_TIMEOUT_INIT, tcp_init_sock()).
    Variation,
}

impl Width {
    /// The value at `at`; `None` if the kernel returned fewer bytes, or the value means "none".
    pub fn read(self, bytes: &[u8], at: usize) -> Option<u64> {
        match self {
            Self::U8 => bytes.get(at).map(|&b| u64::from(b)),
            Self::Bits(lowest, mask) => bytes.get(at).map(|&b| u64::from((b >> lowest) & mask)),
            Self::Flag => bytes.get(at).map(|&b| u64::from(b & 1)),
            Self::U16 => word::<2>(bytes, at).map(|b| u64::from(u16::from_ne_bytes(b))),
            Self::U32 => word::<4>(bytes, at).map(|b| u64::from(u32::from_ne_bytes(b))),
            Self::U64 => word::<8>(bytes, at).map(u64::from_ne_bytes),
            Self::Rate => word::<8>(bytes, at)
                .map(u64::from_ne_bytes)
                .filter(|&rate| rate != 0 && rate != u64::MAX)
                .map(|rate| rate.saturating_mul(8)),
            Self::Estimate => Self::U32
                .read(bytes, at)
                .filter(|&time| time != 0 && time != u64::from(u32::MAX)),
            Self::Vegas => Self::U32
                .read(bytes, at)
                .filter(|&time| time != 0 && time != i32::MAX as u64),
            Self::Variation => {
                Self::Estimate.read(bytes, at.checked_sub(4)?)?;
                Self::U32.read(bytes, at)
            }
        }
    }
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// A number: its column name (the kernel's spelling with its unit), block, offset in bytes, width.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub block: u16,
    pub offset: usize,
    pub width: Width,
}

impl Field {
    pub const fn new(block: u16, name: &'static str, offset: usize, width: Width) -> Self {
        Self {
            name,
            block,
            offset,
            width,
        }
    }
}

/// The socket's state (1 established …), which is in the header.
pub const STATE: Field = Field::new(HEADER, "state", 1, Width::U8);

/// The other reported fields of struct inet_diag_msg.
pub const MESSAGE: &[Field] = &[
    Field::new(HEADER, "recv_queue_bytes", 56, Width::U32),
    Field::new(HEADER, "send_queue_bytes", 60, Width::U32),
    Field::new(HEADER, "uid", 64, Width::U32),
    Field::new(HEADER, "inode", 68, Width::U32),
];

/// The blocks of individual congestion controls: tcp_bbr_info, tcpvegas_info, tcp_dctcp_info.
pub const CONTROLS: &[Field] = &[
    Field::new(INET_DIAG_BBRINFO, "bbr_bw_bps", 0, Width::Rate),
    Field::new(INET_DIAG_BBRINFO, "bbr_min_rtt_us", 8, Width::Estimate),
    Field::new(INET_DIAG_BBRINFO, "bbr_pacing_gain", 12, Width::U32),
    Field::new(INET_DIAG_BBRINFO, "bbr_cwnd_gain", 16, Width::U32),
    Field::new(INET_DIAG_VEGASINFO, "vegas_enabled", 0, Width::Flag),
    Field::new(INET_DIAG_VEGASINFO, "vegas_rttcnt", 4, Width::U32),
    Field::new(INET_DIAG_VEGASINFO, "vegas_rtt_us", 8, Width::Vegas),
    Field::new(INET_DIAG_VEGASINFO, "vegas_min_rtt_us", 12, Width::Vegas),
    Field::new(INET_DIAG_DCTCPINFO, "dctcp_enabled", 0, Width::Flag),
    Field::new(INET_DIAG_DCTCPINFO, "dctcp_ce_state", 2, Width::U16),
    Field::new(INET_DIAG_DCTCPINFO, "dctcp_alpha", 4, Width::U32),
    Field::new(INET_DIAG_DCTCPINFO, "dctcp_ab_ecn_bytes", 8, Width::U32),
    Field::new(INET_DIAG_DCTCPINFO, "dctcp_ab_tot_bytes", 12, Width::U32),
];

/// SK_MEMINFO_… of linux/sock_diag.h, which ss prints as `skmem`.
pub const MEMORY: &[Field] = &[
    Field::new(INET_DIAG_SKMEMINFO, "skmem_rmem_alloc_bytes", 0, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_rcvbuf_bytes", 4, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_wmem_alloc_bytes", 8, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_sndbuf_bytes", 12, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_fwd_alloc_bytes", 16, Width::U32),
    Field::new(
        INET_DIAG_SKMEMINFO,
        "skmem_wmem_queued_bytes",
        20,
        Width::U32,
    ),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_optmem_bytes", 24, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_backlog_bytes", 28, Width::U32),
    Field::new(INET_DIAG_SKMEMINFO, "skmem_drops", 32, Width::U32),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// tcpvegas_info of a socket in SYN-SENT, after the handshake, and with samples.
    #[test]
    fn vegas_has_no_rtt_before_its_first_sample() {
        let read = |name: &str, rtt: u32| {
            let mut bytes = [0_u8; 16];
            bytes[8..12].copy_from_slice(&rtt.to_ne_bytes());
            bytes[12..16].copy_from_slice(&rtt.to_ne_bytes());
            CONTROLS
                .iter()
                .find(|f| f.name == name)
                .and_then(|f| f.width.read(&bytes, f.offset))
        };
        for name in ["vegas_rtt_us", "vegas_min_rtt_us"] {
            assert_eq!(read(name, 0), None, "{name}");
            assert_eq!(read(name, 0x7fff_ffff), None, "{name}");
            assert_eq!(read(name, 20_000), Some(20_000), "{name}");
        }
    }
}

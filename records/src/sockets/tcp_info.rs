//! struct tcp_info (linux/tcp.h) by field name. Kernels only ever append to it: a field beyond what this kernel
//! returned is absent, unknown bytes are ignored. Without a column are tcpi_fackets and tcpi_last_ack_sent, which the
//! kernel no longer fills in, and the word at 276, whose meaning changed after Linux 6.18 (two halves for AccECN's
//! failures, later ECN's mode and further options).

use super::field::{Field, INET_DIAG_INFO, Width};

const fn field(name: &'static str, offset: usize, width: Width) -> Field {
    Field::new(INET_DIAG_INFO, name, offset, width)
}

/// Every field that has a column, in the order of the columns of `sockets.arrows`.
pub const FIELDS: &[Field] = &[
    field("ca_state", 1, Width::U8),
    field("retransmits", 2, Width::U8),
    field("probes", 3, Width::U8),
    field("backoff", 4, Width::U8),
    field("options", 5, Width::U8),
    field("snd_wscale", 6, Width::Bits(0, 0xf)),
    field("rcv_wscale", 6, Width::Bits(4, 0xf)),
    field("delivery_rate_app_limited", 7, Width::Flag),
    field("fastopen_client_fail", 7, Width::Bits(1, 0x3)),
    field("rto_us", 8, Width::U32),
    field("ato_us", 12, Width::U32),
    field("snd_mss_bytes", 16, Width::U32),
    field("rcv_mss_bytes", 20, Width::U32),
    field("unacked_pkts", 24, Width::U32),
    field("sacked_pkts", 28, Width::U32),
    field("lost_pkts", 32, Width::U32),
    field("retrans_pkts", 36, Width::U32),
    field("last_data_sent_ms", 44, Width::U32),
    field("last_data_recv_ms", 52, Width::U32),
    field("last_ack_recv_ms", 56, Width::U32),
    field("pmtu_bytes", 60, Width::U32),
    field("rcv_ssthresh_bytes", 64, Width::U32),
    field("rtt_us", 68, Width::Estimate),
    field("rttvar_us", 72, Width::Variation),
    field("snd_ssthresh_pkts", 76, Width::U32),
    field("snd_cwnd_pkts", 80, Width::U32),
    field("advmss_bytes", 84, Width::U32),
    field("reordering", 88, Width::U32),
    field("rcv_rtt_us", 92, Width::Estimate),
    field("rcv_space_bytes", 96, Width::U32),
    field("total_retrans", 100, Width::U32),
    field("pacing_rate_bps", 104, Width::Rate),
    field("max_pacing_rate_bps", 112, Width::Rate),
    field("bytes_acked", 120, Width::U64),
    field("bytes_received", 128, Width::U64),
    field("segs_out", 136, Width::U32),
    field("segs_in", 140, Width::U32),
    field("notsent_bytes", 144, Width::U32),
    field("min_rtt_us", 148, Width::Estimate),
    field("data_segs_in", 152, Width::U32),
    field("data_segs_out", 156, Width::U32),
    field("delivery_rate_bps", 160, Width::Rate),
    field("busy_time_us", 168, Width::U64),
    field("rwnd_limited_us", 176, Width::U64),
    field("sndbuf_limited_us", 184, Width::U64),
    field("delivered_pkts", 192, Width::U32),
    field("delivered_ce_pkts", 196, Width::U32),
    field("bytes_sent", 200, Width::U64),
    field("bytes_retrans", 208, Width::U64),
    field("dsack_dups", 216, Width::U32),
    field("reord_seen", 220, Width::U32),
    field("rcv_ooopack", 224, Width::U32),
    field("snd_wnd_bytes", 228, Width::U32),
    field("rcv_wnd_bytes", 232, Width::U32),
    field("rehash", 236, Width::U32),
    field("total_rto", 240, Width::U16),
    field("total_rto_recoveries", 242, Width::U16),
    field("total_rto_time_ms", 244, Width::U32),
    field("received_ce_pkts", 248, Width::U32),
    field("delivered_e1_bytes", 252, Width::U32),
    field("delivered_e0_bytes", 256, Width::U32),
    field("delivered_ce_bytes", 260, Width::U32),
    field("received_e1_bytes", 264, Width::U32),
    field("received_e0_bytes", 268, Width::U32),
    field("received_ce_bytes", 272, Width::U32),
];

/// Number of bytes of it that are known here.
pub const KNOWN: usize = 280;

/// The bytes that the kernel returned.
pub struct TcpInfo<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpInfo<'a> {
    /// Wraps the structure as far as the kernel returned it.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Reads a field by its column name; `None` if this kernel does not have it.
    pub fn get(&self, name: &str) -> Option<u64> {
        FIELDS
            .iter()
            .find(|f| f.name == name)
            .and_then(|f| self.read(f))
    }

    /// Reads a field; `None` if this kernel does not have it, or the value means "none".
    pub fn read(&self, field: &Field) -> Option<u64> {
        field.width.read(self.bytes, field.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_did_not_return_is_absent() {
        let mut bytes = vec![0_u8; 104];
        bytes[68..72].copy_from_slice(&20_000_u32.to_ne_bytes());
        let info = TcpInfo::new(&bytes);
        assert_eq!(info.get("rtt_us"), Some(20_000));
        assert_eq!(info.get("total_retrans"), Some(0));
        assert_eq!(info.get("pacing_rate_bps"), None);
    }

    /// The values of a socket that has sent its SYN and received nothing (tcp_init_sock(), tcp_get_info()).
    #[test]
    fn before_the_first_sample_there_is_no_rtt() {
        let mut bytes = vec![0_u8; 248];
        bytes[72..76].copy_from_slice(&250_000_u32.to_ne_bytes());
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        let names = [
            "rtt_us",
            "rttvar_us",
            "min_rtt_us",
            "rcv_rtt_us",
            "delivery_rate_bps",
        ];
        for name in names {
            assert_eq!(TcpInfo::new(&bytes).get(name), None, "{name}");
        }
        bytes[68..72].copy_from_slice(&20_000_u32.to_ne_bytes());
        assert_eq!(TcpInfo::new(&bytes).get("rttvar_us"), Some(250_000));
    }

    #[test]
    fn no_pacing_is_absent_and_rates_are_bits() {
        let mut bytes = vec![0xff_u8; 248];
        assert_eq!(TcpInfo::new(&bytes).get("max_pacing_rate_bps"), None);
        bytes[160..168].copy_from_slice(&1_250_000_u64.to_ne_bytes());
        assert_eq!(
            TcpInfo::new(&bytes).get("delivery_rate_bps"),
            Some(10_000_000)
        );
    }
}

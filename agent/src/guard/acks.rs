//! `acks.arrows`: a sender's state after each ACK that it processed.

use super::layout::Ack;
use netwarp_records::tables::acks::Row;

/// The row of a record.
pub fn row(ack: &Ack, time_ns: i64, tuple_id: u32) -> Row {
    let pacing = ack.pacing_rate();
    let bbr = ack.has_bbr() != 0;
    Row {
        time_ns,
        tuple_id,
        bytes_acked: ack.bytes_acked(),
        snd_cwnd_pkts: ack.snd_cwnd(),
        snd_ssthresh_pkts: ack.snd_ssthresh(),
        rtt_us: Some(ack.rtt_us()).filter(|&rtt| rtt >= 0),
        srtt_us: ack.srtt_us(),
        rttvar_us: ack.rttvar_us(),
        min_rtt_us: ack.min_rtt_us(),
        in_flight_pkts: ack.in_flight(),
        lost_pkts: ack.lost(),
        retrans_out_pkts: ack.retrans_out(),
        retransmits: ack.total_retrans(),
        delivered_pkts: ack.delivered(),
        delivered_ce_pkts: ack.delivered_ce(),
        ca_state: ack.ca_state(),
        app_limited: ack.app_limited() != 0,
        snd_wnd_bytes: ack.snd_wnd(),
        rcv_wnd_bytes: ack.rcv_wnd(),
        mss_bytes: ack.mss(),
        pacing_rate_bps: (pacing != u64::MAX).then(|| pacing.saturating_mul(8)),
        bbr_bw_bps: bbr.then(|| ack.bbr_bw().saturating_mul(8)),
        bbr_pacing_gain: bbr.then(|| ack.bbr_pacing_gain()),
        bbr_cwnd_gain: bbr.then(|| ack.bbr_cwnd_gain()),
    }
}

//! `acks.arrows`: a sender's state after each ACK that it processed.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, UInt8Builder, UInt16Builder, UInt32Builder,
    UInt64Builder,
};
use arrow_schema::DataType::{Boolean, Int32, Int64, UInt8, UInt16, UInt32, UInt64};

use super::events::{Fields, TUPLE};
use crate::table::{BATCH_ROWS, Table};

/// Offsets in struct netwarp_ack, after the tuple.
const AFTER: usize = 24 + TUPLE;

/// The 32-bit columns in the order of the table: name, offset.
const WORDS: [(&str, usize); 14] = [
    ("snd_cwnd_pkts", AFTER + 24),
    ("snd_ssthresh_pkts", AFTER + 28),
    ("srtt_us", AFTER + 32),
    ("rttvar_us", AFTER + 36),
    ("min_rtt_us", AFTER + 40),
    ("in_flight_pkts", AFTER + 44),
    ("lost_pkts", AFTER + 48),
    ("retrans_out_pkts", AFTER + 52),
    ("retransmits", AFTER + 56),
    ("delivered_pkts", AFTER + 60),
    ("delivered_ce_pkts", AFTER + 64),
    ("snd_wnd_bytes", AFTER + 68),
    ("rcv_wnd_bytes", AFTER + 72),
    ("mss_bytes", AFTER + 76),
];

/// The table and its rows not yet written.
pub struct Acks {
    table: Table,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    len: usize,
    time_ns: Int64Builder,
    tuple: UInt32Builder,
    bytes_acked: UInt64Builder,
    rtt_us: Int32Builder,
    words: [UInt32Builder; WORDS.len()],
    ca_state: UInt8Builder,
    app_limited: BooleanBuilder,
    pacing_rate_bps: UInt64Builder,
    bbr_bw_bps: UInt64Builder,
    bbr_pacing_gain: UInt16Builder,
    bbr_cwnd_gain: UInt16Builder,
}

impl Acks {
    pub fn create(dir: &Path) -> Result<Self> {
        let mut columns = vec![
            ("time_ns", Int64, false),
            ("tuple_id", UInt32, false),
            ("bytes_acked", UInt64, false),
            ("rtt_us", Int32, true),
        ];
        columns.extend(WORDS.iter().map(|(name, _)| (*name, UInt32, false)));
        columns.extend([
            ("ca_state", UInt8, false),
            ("app_limited", Boolean, false),
            ("pacing_rate_bps", UInt64, true),
            ("bbr_bw_bps", UInt64, true),
            ("bbr_pacing_gain", UInt16, true),
            ("bbr_cwnd_gain", UInt16, true),
        ]);
        Ok(Self {
            table: Table::create(&dir.join("acks.arrows"), &columns)?,
            rows: Rows::default(),
        })
    }

    /// struct netwarp_ack
    pub fn push(&mut self, record: &Fields, time_ns: i64, tuple: u32) -> Result<()> {
        let rows = &mut self.rows;
        rows.time_ns.append_value(time_ns);
        rows.tuple.append_value(tuple);
        rows.bytes_acked.append_value(record.u64(AFTER));
        rows.rtt_us
            .append_option(Some(record.i32(4)).filter(|&rtt| rtt >= 0));
        for (builder, (_, at)) in rows.words.iter_mut().zip(WORDS) {
            builder.append_value(record.u32(at));
        }
        rows.ca_state.append_value(record.u8(AFTER + 84));
        rows.app_limited.append_value(record.u8(AFTER + 85) != 0);
        let pacing = record.u64(AFTER + 8);
        rows.pacing_rate_bps
            .append_option((pacing != u64::MAX).then(|| pacing.saturating_mul(8)));
        let bbr = record.u8(AFTER + 86) != 0;
        rows.bbr_bw_bps
            .append_option(bbr.then(|| record.u64(AFTER + 16).saturating_mul(8)));
        rows.bbr_pacing_gain
            .append_option(bbr.then(|| record.u16(AFTER + 80)));
        rows.bbr_cwnd_gain
            .append_option(bbr.then(|| record.u16(AFTER + 82)));
        rows.len += 1;
        if rows.len == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        let rows = &mut self.rows;
        rows.len = 0;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(rows.time_ns.finish()),
            Arc::new(rows.tuple.finish()),
            Arc::new(rows.bytes_acked.finish()),
            Arc::new(rows.rtt_us.finish()),
        ];
        columns.extend(
            rows.words
                .iter_mut()
                .map(|w| Arc::new(w.finish()) as ArrayRef),
        );
        columns.extend([
            Arc::new(rows.ca_state.finish()) as ArrayRef,
            Arc::new(rows.app_limited.finish()),
            Arc::new(rows.pacing_rate_bps.finish()),
            Arc::new(rows.bbr_bw_bps.finish()),
            Arc::new(rows.bbr_pacing_gain.finish()),
            Arc::new(rows.bbr_cwnd_gain.finish()),
        ]);
        self.table.write(columns)
    }
}

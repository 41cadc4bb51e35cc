//! `packets.arrows`: one row for each packet in each queue, written when its fate is known. An arrival and a departure
//! belong together by the address of the packet's buffer, which is its identity while it lives.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_array::builder::{Int64Builder, UInt8Builder, UInt16Builder, UInt32Builder};
use arrow_schema::DataType::{Int64, UInt8, UInt16, UInt32};
use rustc_hash::FxHashMap;

use super::events::Fields;
use crate::table::{BATCH_ROWS, Table};

const SENT: u8 = 0;
const DROPPED: u8 = 1;
const QUEUED: u8 = 2;
const ECN: u8 = 3;

#[derive(Clone, Copy)]
struct Packet {
    interface: u32,
    tuple: u32,
    bytes: u32,
    enqueue_ns: i64,
    length: u32,
    backlog: u32,
    ecn: u8,
    refused: bool,
}

/// How a packet's time in a queue ended.
#[derive(Default)]
struct End {
    fate: u8,
    dequeue_ns: Option<i64>,
    drop_ns: Option<i64>,
    length_after: Option<u32>,
    reason: Option<u16>,
    ecn: Option<u8>,
}

/// The packets that are in queues, and the table of those that were.
pub struct Packets {
    queued: FxHashMap<u64, Packet>,
    table: Table,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    len: usize,
    interface: UInt32Builder,
    tuple: UInt32Builder,
    bytes: UInt32Builder,
    enqueue_ns: Int64Builder,
    dequeue_ns: Int64Builder,
    drop_ns: Int64Builder,
    length: UInt32Builder,
    length_after: UInt32Builder,
    backlog: UInt32Builder,
    fate: UInt8Builder,
    reason: UInt16Builder,
    ecn_in: UInt8Builder,
    ecn_out: UInt8Builder,
}

impl Packets {
    pub fn create(dir: &Path) -> Result<Self> {
        let table = Table::create(
            &dir.join("packets.arrows"),
            &[
                ("interface_index", UInt32, false),
                ("tuple_id", UInt32, false),
                ("packet_bytes", UInt32, false),
                ("enqueue_ns", Int64, false),
                ("dequeue_ns", Int64, true),
                ("drop_ns", Int64, true),
                ("length_pkts", UInt32, false),
                ("length_after_pkts", UInt32, true),
                ("backlog_bytes", UInt32, false),
                ("fate", UInt8, false),
                ("drop_reason", UInt16, true),
                ("ecn_in", UInt8, false),
                ("ecn_out", UInt8, true),
            ],
        )?;
        Ok(Self {
            queued: FxHashMap::default(),
            table,
            rows: Rows::default(),
        })
    }

    /// struct netwarp_enqueue. Whether the queue kept the packet shows in what follows: a departure or its end. (The
    /// verdict alone does not tell: NET_XMIT_CN is fq_codel's for a packet that it kept and RED's for one it dropped.)
    pub fn enqueue(&mut self, record: &Fields, time_ns: i64, tuple: u32) -> Result<()> {
        const NET_XMIT_DROP: u8 = 1;
        let packet = Packet {
            interface: record.u32(4),
            tuple,
            bytes: record.u32(24),
            enqueue_ns: time_ns,
            length: record.u32(28),
            backlog: record.u32(32),
            ecn: record.u8(42) & ECN,
            refused: record.u8(43) == NET_XMIT_DROP,
        };
        match self.queued.insert(record.u64(16), packet) {
            // Its buffer serves another packet now, so it went without a word: some qdiscs consume.
            Some(gone) => self.row(
                &gone,
                &End {
                    fate: DROPPED,
                    drop_ns: Some(time_ns),
                    ..End::default()
                },
            ),
            None => Ok(()),
        }
    }

    /// struct netwarp_dequeue
    pub fn dequeue(&mut self, record: &Fields, time_ns: i64) -> Result<()> {
        // One that came before recording began has no row: its arrival is not known.
        let Some(packet) = self.queued.remove(&record.u64(16)) else {
            return Ok(());
        };
        let end = End {
            fate: SENT,
            dequeue_ns: Some(time_ns),
            length_after: Some(record.u32(24)),
            ecn: Some(record.u8(32) & ECN),
            ..End::default()
        };
        self.row(&packet, &end)
    }

    /// struct netwarp_free: of all packets that end anywhere, those that were in a queue.
    pub fn free(&mut self, record: &Fields, time_ns: i64) -> Result<()> {
        let Some(packet) = self.queued.remove(&record.u64(16)) else {
            return Ok(());
        };
        let end = End {
            fate: DROPPED,
            drop_ns: Some(time_ns),
            reason: Some(record.u32(4) as u16),
            ..End::default()
        };
        self.row(&packet, &end)
    }

    pub fn finish(mut self) -> Result<()> {
        let mut left: Vec<Packet> = self.queued.drain().map(|(_, packet)| packet).collect();
        // The addresses mean nothing: order by arrival, for the same bytes every time.
        left.sort_by_key(|p| (p.enqueue_ns, p.interface, p.length, p.tuple));
        for packet in left {
            let dropped = packet.refused;
            let end = End {
                fate: if dropped { DROPPED } else { QUEUED },
                drop_ns: dropped.then_some(packet.enqueue_ns),
                ..End::default()
            };
            self.row(&packet, &end)?;
        }
        self.flush()?;
        self.table.finish()
    }

    fn row(&mut self, packet: &Packet, end: &End) -> Result<()> {
        let rows = &mut self.rows;
        rows.interface.append_value(packet.interface);
        rows.tuple.append_value(packet.tuple);
        rows.bytes.append_value(packet.bytes);
        rows.enqueue_ns.append_value(packet.enqueue_ns);
        rows.dequeue_ns.append_option(end.dequeue_ns);
        rows.drop_ns.append_option(end.drop_ns);
        rows.length.append_value(packet.length);
        rows.length_after.append_option(end.length_after);
        rows.backlog.append_value(packet.backlog);
        rows.fate.append_value(end.fate);
        rows.reason.append_option(end.reason);
        rows.ecn_in.append_value(packet.ecn);
        rows.ecn_out.append_option(end.ecn);
        rows.len += 1;
        if rows.len == BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let rows = &mut self.rows;
        rows.len = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.interface.finish()),
            Arc::new(rows.tuple.finish()),
            Arc::new(rows.bytes.finish()),
            Arc::new(rows.enqueue_ns.finish()),
            Arc::new(rows.dequeue_ns.finish()),
            Arc::new(rows.drop_ns.finish()),
            Arc::new(rows.length.finish()),
            Arc::new(rows.length_after.finish()),
            Arc::new(rows.backlog.finish()),
            Arc::new(rows.fate.finish()),
            Arc::new(rows.reason.finish()),
            Arc::new(rows.ecn_in.finish()),
            Arc::new(rows.ecn_out.finish()),
        ];
        self.table.write(columns)
    }
}

//! `packets.arrows`: one row for each packet in each queue, written when its fate is known. An arrival and a departure
//! belong together by the number that the kernel gave the packet at this queue. An aggregate that its queue splits leaves
//! in parts, and has a row for each.

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
const TAKEN: u8 = 3;
const ECN: u8 = 3;
/// SKB_CONSUMED of enum skb_drop_reason.
const CONSUMED: u32 = 1;
/// In a verdict: an action of a filter took the packet.
const STOLEN: u8 = 0x80;

#[derive(Clone, Copy)]
struct Packet {
    interface: u32,
    tuple: u32,
    bytes: u32,
    segments: u32,
    enqueue_ns: i64,
    length: u32,
    backlog: u32,
    ecn: u8,
    stolen: bool,
    /// When its buffer was given back without a word.
    consumed_ns: Option<i64>,
}

/// How a packet's time in a queue ended, or that of a part of it.
#[derive(Clone, Copy, Default)]
struct End {
    fate: u8,
    dequeue_ns: Option<i64>,
    drop_ns: Option<i64>,
    length_after: Option<u32>,
    reason: Option<u16>,
    ecn: Option<u8>,
}

/// What left or ended at once: all of a packet, or some segments of an aggregate.
#[derive(Clone, Copy)]
struct Part {
    id: u64,
    segments: u32,
    bytes: u32,
}

/// The packets that are in queues, and the table of those that were.
pub struct Packets {
    queued: FxHashMap<u64, Packet>,
    /// What ended while the queue was still taking it, so that its arrival is yet to be told.
    early: FxHashMap<u64, Vec<(Part, Option<End>, i64)>>,
    table: Table,
    rows: Rows,
}

#[derive(Default)]
struct Rows {
    len: usize,
    interface: UInt32Builder,
    tuple: UInt32Builder,
    bytes: UInt32Builder,
    segments: UInt32Builder,
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
                ("segments", UInt32, false),
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
            early: FxHashMap::default(),
            table,
            rows: Rows::default(),
        })
    }

    /// struct netwarp_enqueue. Whether the queue kept the packet shows in what follows: a departure or its end. (The
    /// verdict alone does not tell: NET_XMIT_CN is fq_codel's for a packet that it kept and RED's for one it dropped.)
    pub fn enqueue(&mut self, record: &Fields, time_ns: i64, tuple: u32) -> Result<()> {
        let id = record.u64(16);
        let packet = Packet {
            interface: record.u32(4),
            tuple,
            bytes: record.u32(24),
            segments: record.u32(36),
            enqueue_ns: time_ns,
            length: record.u32(28),
            backlog: record.u32(32),
            ecn: record.u8(42) & ECN,
            stolen: record.u8(43) & STOLEN != 0,
            consumed_ns: None,
        };
        self.queued.insert(id, packet);
        for (part, end, time_ns) in self.early.remove(&id).unwrap_or_default() {
            self.end(part, end, time_ns)?;
        }
        Ok(())
    }

    /// struct netwarp_dequeue
    pub fn dequeue(&mut self, record: &Fields, time_ns: i64) -> Result<()> {
        let part = Part {
            id: record.u64(16),
            segments: record.u32(36),
            bytes: record.u32(40),
        };
        let end = End {
            fate: SENT,
            dequeue_ns: Some(time_ns),
            length_after: Some(record.u32(24)),
            ecn: Some(record.u8(32) & ECN),
            ..End::default()
        };
        // One that came before recording began has no row: its arrival is not known.
        self.leave(part, &end)
    }

    /// struct netwarp_free
    pub fn free(&mut self, record: &Fields, time_ns: i64) -> Result<()> {
        let part = Part {
            id: record.u64(16),
            segments: record.u32(24),
            bytes: record.u32(28),
        };
        let reason = record.u32(4);
        let end = (reason != CONSUMED).then(|| End {
            fate: DROPPED,
            drop_ns: Some(time_ns),
            reason: Some(reason as u16),
            ..End::default()
        });
        if self.queued.contains_key(&part.id) {
            return self.end(part, end, time_ns);
        }
        let early = self.early.entry(part.id).or_default();
        early.push((part, end, time_ns));
        Ok(())
    }

    /// Ends a part with a word, or remembers that its buffer was given back without one: that may have been for a copy
    /// that goes on in its stead.
    fn end(&mut self, part: Part, end: Option<End>, time_ns: i64) -> Result<()> {
        let Some(packet) = self.queued.get_mut(&part.id) else {
            return Ok(());
        };
        match end {
            Some(end) if packet.stolen => self.leave(part, &End { fate: TAKEN, ..end }),
            Some(end) => self.leave(part, &end),
            None => {
                packet.consumed_ns = Some(time_ns);
                Ok(())
            }
        }
    }

    fn leave(&mut self, part: Part, end: &End) -> Result<()> {
        let Some(packet) = self.queued.get_mut(&part.id) else {
            return Ok(());
        };
        let gone = Packet {
            segments: part.segments,
            bytes: part.bytes,
            ..*packet
        };
        packet.segments = packet.segments.saturating_sub(part.segments);
        packet.bytes = packet.bytes.saturating_sub(part.bytes);
        if packet.segments == 0 {
            self.queued.remove(&part.id);
        }
        self.row(&gone, end)
    }

    pub fn finish(mut self) -> Result<()> {
        let mut left: Vec<(u64, Packet)> = self.queued.drain().collect();
        // By number, which is by arrival: the same bytes every time.
        left.sort_by_key(|(id, _)| *id);
        for (_, packet) in left {
            let dropped = packet.consumed_ns.is_some();
            let end = End {
                fate: if dropped { DROPPED } else { QUEUED },
                drop_ns: packet.consumed_ns,
                reason: dropped.then_some(CONSUMED as u16),
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
        rows.segments.append_value(packet.segments);
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
            Arc::new(rows.segments.finish()),
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

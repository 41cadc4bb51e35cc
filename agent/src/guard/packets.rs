//! `packets.arrows`: one row for each packet in each queue, written when its fate is known. An arrival and a departure
//! are matched by the number that the kernel gave the packet at this queue. An aggregate that its queue splits leaves
//! in parts, and has a row for each.

use std::collections::hash_map::Entry;
use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::{Dequeue, Enqueue, Free};
use netwarp_records::table::Batch;
use netwarp_records::tables::fate::{DROPPED, QUEUED, SENT, TAKEN};
use netwarp_records::tables::packets;

const ECN: u8 = 3;
/// SKB_CONSUMED of enum skb_drop_reason.
const CONSUMED: u32 = 1;
/// Verdict: the action of a filter took the packet.
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
    /// When its buffer was freed without a reason.
    consumed_ns: Option<i64>,
}

/// How and when the time of a packet, or of a part of it, in a queue ended.
#[derive(Clone, Copy, Default)]
struct End {
    fate: u8,
    dequeue_ns: Option<i64>,
    drop_ns: Option<i64>,
    length_after: Option<u32>,
    reason: Option<u16>,
    ecn: Option<u8>,
}

/// The part of a packet that left or ended at once: all of it, or some segments of an aggregate.
#[derive(Clone, Copy)]
struct Part {
    id: u64,
    segments: u32,
    bytes: u32,
}

/// The packets that are in queues, and the table of those that were.
pub struct Packets {
    queued: FxHashMap<u64, Packet>,
    /// Parts that ended while the queue was still accepting them, so that their arrival is still to come.
    early: FxHashMap<u64, Vec<(Part, Option<End>, i64)>>,
    table: Batch<packets::Rows>,
}

impl Packets {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            queued: FxHashMap::default(),
            early: FxHashMap::default(),
            table: Batch::create(dir)?,
        })
    }

    /// Records an arrival. Whether the queue kept the packet shows in its next record: a departure or an end. (The
    /// verdict alone does not tell: fq_codel returns NET_XMIT_CN for a packet that it kept and RED for one that it
    /// dropped.)
    pub fn enqueue(&mut self, arrived: &Enqueue, time_ns: i64, tuple: u32) -> Result<()> {
        let id = arrived.id();
        let about = arrived.tuple();
        let packet = Packet {
            interface: arrived.ifindex(),
            tuple,
            bytes: arrived.bytes(),
            segments: arrived.segs(),
            enqueue_ns: time_ns,
            length: arrived.qlen(),
            backlog: arrived.backlog(),
            ecn: about.tos() & ECN,
            stolen: about.verdict() & STOLEN != 0,
            consumed_ns: None,
        };
        self.queued.insert(id, packet);
        if self.early.is_empty() {
            return Ok(());
        }
        for (part, end, time_ns) in self.early.remove(&id).unwrap_or_default() {
            self.end(part, end, time_ns)?;
        }
        Ok(())
    }

    pub fn dequeue(&mut self, left: &Dequeue, time_ns: i64) -> Result<()> {
        let part = Part {
            id: left.id(),
            segments: left.segs(),
            bytes: left.bytes(),
        };
        let end = End {
            fate: SENT,
            dequeue_ns: Some(time_ns),
            length_after: Some(left.qlen()),
            ecn: Some(left.tos() as u8 & ECN),
            ..End::default()
        };
        // A packet that came before recording began has no row, since its arrival is unknown.
        self.leave(part, &end)
    }

    pub fn free(&mut self, freed: &Free, time_ns: i64) -> Result<()> {
        let part = Part {
            id: freed.id(),
            segments: freed.segs(),
            bytes: freed.bytes(),
        };
        let reason = freed.reason();
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

    /// Ends a part with a reason, or notes that its buffer was freed without one: a copy may be on its way in its
    /// place.
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
        let Entry::Occupied(mut queued) = self.queued.entry(part.id) else {
            return Ok(());
        };
        let packet = queued.get_mut();
        let gone = Packet {
            segments: part.segments,
            bytes: part.bytes,
            ..*packet
        };
        packet.segments = packet.segments.saturating_sub(part.segments);
        packet.bytes = packet.bytes.saturating_sub(part.bytes);
        if packet.segments == 0 {
            queued.remove();
        }
        self.row(&gone, end)
    }

    pub fn finish(mut self) -> Result<()> {
        let mut left: Vec<(u64, Packet)> = self.queued.drain().collect();
        // Sorted by number, which is by arrival, so that the bytes are the same every time.
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
        self.table.finish()
    }

    fn row(&mut self, packet: &Packet, end: &End) -> Result<()> {
        self.table.push(packets::Row {
            interface_index: packet.interface,
            tuple_id: packet.tuple,
            packet_bytes: packet.bytes,
            segments: packet.segments,
            enqueue_ns: packet.enqueue_ns,
            dequeue_ns: end.dequeue_ns,
            drop_ns: end.drop_ns,
            length_pkts: packet.length,
            length_after_pkts: end.length_after,
            backlog_bytes: packet.backlog,
            fate: end.fate,
            drop_reason: end.reason,
            ecn_in: packet.ecn,
            ecn_out: end.ecn,
        })
    }
}

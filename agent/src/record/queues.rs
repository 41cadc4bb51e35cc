//! `queues.arrows`: statistics of every qdisc at the nodes' interfaces (RTM_GETQDISC, linux/gen_stats.h).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::lab::Lab;
use crate::network::{Namespace, Network};
use crate::traffic_control::{RTM_GETQDISC, TCA_KIND, TCA_STATS2, TCMSG_BYTES};
use netwarp_records::netlink::{Netlink, Request, attributes};
use netwarp_records::table::Batch;
use netwarp_records::tables::queues;

const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// One qdisc at one instant.
#[derive(Default)]
pub struct Qdisc {
    pub index: u32,
    handle: u32,
    parent: u32,
    pub kind: String,
    bytes: u64,
    packets: u64,
    pub length: u32,
    pub backlog: u32,
    pub drops: u32,
    requeues: u32,
    overlimits: u32,
}

impl Qdisc {
    fn row(&self, time_ns: i64) -> queues::Row<'_> {
        queues::Row {
            time_ns,
            interface_index: self.index,
            handle: self.handle,
            parent: self.parent,
            kind: &self.kind,
            bytes: self.bytes,
            packets: self.packets,
            drops: self.drops,
            overlimits: self.overlimits,
            requeues: self.requeues,
            length_pkts: self.length,
            backlog_bytes: self.backlog,
        }
    }
}

/// Samples of queues.
pub struct Queues {
    nodes: Vec<Netlink>,
    indices: BTreeSet<u32>,
    table: Batch<queues::Rows>,
}

impl Queues {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let mut nodes = Vec::new();
        for node in lab.nodes.iter().filter(|node| lab.runs(node)) {
            nodes.push(
                network
                    .node(&node.name)?
                    .run(|| Netlink::open(NETLINK_ROUTE))??,
            );
        }
        let indices = lab
            .links
            .iter()
            .flat_map(|l| &l.ends)
            .filter(|end| network.nodes.contains_key(&end.node))
            .map(|e| e.index)
            .collect();
        Ok(Self {
            nodes,
            indices,
            table: Batch::create(dir)?,
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let (table, indices) = (&mut self.table, &self.indices);
        let mut outcome = Ok(());
        for node in &mut self.nodes {
            node.dump(
                Request::new(RTM_GETQDISC, 0).raw(&[0; TCMSG_BYTES]),
                |_, payload| {
                    if let Some(qdisc) = read(payload).filter(|q| indices.contains(&q.index))
                        && let Err(e) = table.push(qdisc.row(time_ns))
                    {
                        outcome = Err(e);
                    }
                },
            )?;
        }
        outcome
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// Reads every qdisc of a namespace.
pub fn read_all(namespace: &Namespace) -> Result<Vec<Qdisc>> {
    let mut route = namespace.run(|| Netlink::open(NETLINK_ROUTE))??;
    let mut qdiscs = Vec::new();
    route.dump(
        Request::new(RTM_GETQDISC, 0).raw(&[0; TCMSG_BYTES]),
        |_, payload| qdiscs.extend(read(payload)),
    )?;
    Ok(qdiscs)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn long(bytes: &[u8]) -> u64 {
    u64::from(word(bytes, 0)) | (u64::from(word(bytes, 4)) << 32)
}

fn read(payload: &[u8]) -> Option<Qdisc> {
    let rest = payload.get(TCMSG_BYTES..)?;
    let mut qdisc = Qdisc {
        index: word(payload, 4),
        handle: word(payload, 8),
        parent: word(payload, 12),
        ..Qdisc::default()
    };
    for (kind, value) in attributes(rest) {
        match kind {
            TCA_KIND => {
                qdisc.kind = String::from_utf8_lossy(value)
                    .trim_end_matches('\0')
                    .to_string()
            }
            TCA_STATS2 => read_stats(value, &mut qdisc),
            _ => {}
        }
    }
    Some(qdisc)
}

/// Parses struct gnet_stats_basic or struct gnet_stats_queue.
fn read_stats(stats: &[u8], qdisc: &mut Qdisc) {
    for (kind, value) in attributes(stats) {
        match kind {
            TCA_STATS_BASIC => {
                qdisc.bytes = long(value);
                qdisc.packets = qdisc.packets.max(u64::from(word(value, 8)));
            }
            TCA_STATS_PKT64 => qdisc.packets = long(value),
            TCA_STATS_QUEUE => {
                qdisc.length = word(value, 0);
                qdisc.backlog = word(value, 4);
                qdisc.drops = word(value, 8);
                qdisc.requeues = word(value, 12);
                qdisc.overlimits = word(value, 16);
            }
            _ => {}
        }
    }
}

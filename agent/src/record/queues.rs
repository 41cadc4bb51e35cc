//! `queues.arrows`: statistics of every qdisc at the nodes' interfaces (RTM_GETQDISC, linux/gen_stats.h).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::DataType::{Int64, UInt32, UInt64, Utf8};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::lab::Lab;
use crate::netlink::{Netlink, Request, attributes};
use crate::network::{Namespace, Network};
use crate::table::{BATCH_ROWS, Table};

const RTM_GETQDISC: u16 = 38;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
/// sizeof(struct tcmsg)
const MESSAGE: usize = 20;

/// One qdisc at one instant.
#[derive(Default)]
pub struct Row {
    time_ns: i64,
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

/// Samples of queues.
pub struct Queues {
    nodes: Vec<Netlink>,
    indices: BTreeSet<u32>,
    table: Table,
    rows: Vec<Row>,
}

impl Queues {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let mut nodes = Vec::new();
        for node in &lab.nodes {
            nodes.push(
                network
                    .node(&node.name)?
                    .run(|| Netlink::open(NETLINK_ROUTE))??,
            );
        }
        let table = Table::create(
            &dir.join("queues.arrows"),
            &[
                ("time_ns", Int64, false),
                ("interface_index", UInt32, false),
                ("handle", UInt32, false),
                ("parent", UInt32, false),
                ("kind", Utf8, false),
                ("bytes", UInt64, false),
                ("packets", UInt64, false),
                ("drops", UInt32, false),
                ("overlimits", UInt32, false),
                ("requeues", UInt32, false),
                ("length_pkts", UInt32, false),
                ("backlog_bytes", UInt32, false),
            ],
        )?;
        let indices = lab
            .links
            .iter()
            .flat_map(|l| &l.ends)
            .map(|e| e.index)
            .collect();
        Ok(Self {
            nodes,
            indices,
            table,
            rows: Vec::new(),
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let (rows, indices) = (&mut self.rows, &self.indices);
        for node in &mut self.nodes {
            node.dump(
                Request::new(RTM_GETQDISC, 0).raw(&[0; MESSAGE]),
                |_, payload| {
                    rows.extend(read(payload, time_ns).filter(|row| indices.contains(&row.index)));
                },
            )?;
        }
        if self.rows.len() >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        let all = || self.rows.iter();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(all().map(|r| r.time_ns).collect::<Int64Array>()),
            Arc::new(all().map(|r| r.index).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.handle).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.parent).collect::<UInt32Array>()),
            Arc::new(
                all()
                    .map(|r| Some(r.kind.as_str()))
                    .collect::<StringArray>(),
            ),
            Arc::new(all().map(|r| r.bytes).collect::<UInt64Array>()),
            Arc::new(all().map(|r| r.packets).collect::<UInt64Array>()),
            Arc::new(all().map(|r| r.drops).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.overlimits).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.requeues).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.length).collect::<UInt32Array>()),
            Arc::new(all().map(|r| r.backlog).collect::<UInt32Array>()),
        ];
        self.table.write(columns)?;
        self.rows.clear();
        Ok(())
    }
}

/// Every qdisc of a namespace as it is now.
pub fn read_all(namespace: &Namespace) -> Result<Vec<Row>> {
    let mut route = namespace.run(|| Netlink::open(NETLINK_ROUTE))??;
    let mut rows = Vec::new();
    route.dump(
        Request::new(RTM_GETQDISC, 0).raw(&[0; MESSAGE]),
        |_, payload| rows.extend(read(payload, 0)),
    )?;
    Ok(rows)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn long(bytes: &[u8]) -> u64 {
    u64::from(word(bytes, 0)) | (u64::from(word(bytes, 4)) << 32)
}

fn read(payload: &[u8], time_ns: i64) -> std::option::IntoIter<Row> {
    if payload.len() < MESSAGE {
        return None.into_iter();
    }
    let mut row = Row {
        time_ns,
        index: word(payload, 4),
        handle: word(payload, 8),
        parent: word(payload, 12),
        ..Row::default()
    };
    for (kind, value) in attributes(&payload[MESSAGE..]) {
        match kind {
            TCA_KIND => {
                row.kind = String::from_utf8_lossy(value)
                    .trim_end_matches('\0')
                    .to_string()
            }
            TCA_STATS2 => read_stats(value, &mut row),
            _ => {}
        }
    }
    Some(row).into_iter()
}

/// struct gnet_stats_basic, struct gnet_stats_queue
fn read_stats(stats: &[u8], row: &mut Row) {
    for (kind, value) in attributes(stats) {
        match kind {
            TCA_STATS_BASIC => {
                row.bytes = long(value);
                row.packets = row.packets.max(u64::from(word(value, 8)));
            }
            TCA_STATS_PKT64 => row.packets = long(value),
            TCA_STATS_QUEUE => {
                row.length = word(value, 0);
                row.backlog = word(value, 4);
                row.drops = word(value, 8);
                row.requeues = word(value, 12);
                row.overlimits = word(value, 16);
            }
            _ => {}
        }
    }
}

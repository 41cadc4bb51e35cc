//! `links.arrows`: counters of every node interface, read in one dump from the wires' side of the veth pairs
//! (RTM_GETSTATS): what the wire received, the node sent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use arrow_schema::DataType::{Int64, UInt32, UInt64};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink::{Netlink, Request, attributes};
use crate::network::{Namespace, Network};
use crate::table::{BATCH_ROWS, Table};

const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
/// sizeof(struct if_stats_msg)
const MESSAGE: usize = 12;
/// From a wire's interface index to its node's.
const WIRE_OFFSET: u32 = 100_000;

struct Row {
    time_ns: i64,
    index: u32,
    /// struct rtnl_link_stats64: rx_packets, tx_packets, rx_bytes, tx_bytes, errors …, rx_dropped, tx_dropped
    stats: [u64; 8],
}

/// Samples of links.
pub struct Links {
    wire: Netlink,
    table: Table,
    rows: Vec<Row>,
}

impl Links {
    pub fn open(network: &Network, dir: &Path) -> Result<Self> {
        let wire = network.wire.run(|| Netlink::open(NETLINK_ROUTE))??;
        let table = Table::create(
            &dir.join("links.arrows"),
            &[
                ("time_ns", Int64, false),
                ("interface_index", UInt32, false),
                ("tx_bytes", UInt64, false),
                ("tx_packets", UInt64, false),
                ("rx_bytes", UInt64, false),
                ("rx_packets", UInt64, false),
                ("tx_dropped", UInt64, false),
                ("rx_dropped", UInt64, false),
            ],
        )?;
        Ok(Self {
            wire,
            table,
            rows: Vec::new(),
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let rows = &mut self.rows;
        self.wire.dump(request(), |_, payload| {
            rows.extend(read(payload, time_ns));
        })?;
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
        let stat =
            |i: usize| -> ArrayRef { Arc::new(all().map(|r| r.stats[i]).collect::<UInt64Array>()) };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(all().map(|r| r.time_ns).collect::<Int64Array>()),
            Arc::new(all().map(|r| r.index).collect::<UInt32Array>()),
            stat(2),
            stat(0),
            stat(3),
            stat(1),
            stat(6),
            stat(7),
        ];
        self.table.write(columns)?;
        self.rows.clear();
        Ok(())
    }
}

/// Packets and bytes of one direction of an interface.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    pub packets: u64,
    pub bytes: u64,
}

/// What every interface of a namespace has received and sent so far, by its own index.
pub fn read_all(namespace: &Namespace) -> Result<BTreeMap<u32, [Counters; 2]>> {
    let mut route = namespace.run(|| Netlink::open(NETLINK_ROUTE))??;
    let mut counters = BTreeMap::new();
    route.dump(request(), |_, payload| {
        if let Some((index, stats)) = read_stats(payload) {
            let [received, sent] = [(0, 2), (1, 3)].map(|(p, b)| Counters {
                packets: stats[p],
                bytes: stats[b],
            });
            counters.insert(index, [received, sent]);
        }
    })?;
    Ok(counters)
}

fn request() -> Request {
    let mut message = [0; MESSAGE];
    message[8..12].copy_from_slice(&(1_u32 << (IFLA_STATS_LINK_64 - 1)).to_ne_bytes());
    Request::new(RTM_GETSTATS, 0).raw(&message)
}

fn read(payload: &[u8], time_ns: i64) -> Option<Row> {
    let (index, stats) = read_stats(payload)?;
    Some(Row {
        time_ns,
        index: index.checked_sub(WIRE_OFFSET)?,
        stats,
    })
}

fn read_stats(payload: &[u8]) -> Option<(u32, [u64; 8])> {
    let index = payload
        .get(4..8)
        .map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))?;
    let (_, value) =
        attributes(payload.get(MESSAGE..)?).find(|(kind, _)| *kind == IFLA_STATS_LINK_64)?;
    let mut stats = [0; 8];
    for (stat, bytes) in stats.iter_mut().zip(value.chunks_exact(8)) {
        *stat = u64::from_ne_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ]);
    }
    Some((index, stats))
}

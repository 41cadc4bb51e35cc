//! `links.arrows`: counters of every node interface, read in one dump from the wires' side of the veth pairs
//! (RTM_GETSTATS): packets that the wire received, the node sent. Devices have no such side, so that they are read at
//! their nodes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustc_hash::FxHashMap;

use crate::backend::Wiring;
use crate::lab::Lab;
use crate::network::{Namespace, Network};
use netwarp_records::netlink::{Netlink, Request, attributes};
use netwarp_records::table::Batch;
use netwarp_records::tables::links;

const RTM_GETSTATS: u16 = 94;
const IFLA_STATS_LINK_64: u16 = 1;
/// sizeof(struct if_stats_msg)
const MESSAGE: usize = 12;

/// Samples of links.
pub struct Links {
    sources: Vec<Source>,
    table: Batch<links::Rows>,
}

/// A namespace whose interfaces are read.
struct Source {
    route: Netlink,
    /// The nodes' interfaces, by the interfaces that are read: the wires' sides, or the nodes' own.
    indices: FxHashMap<u32, u32>,
    /// Whether the node's own side is read.
    own: bool,
}

impl Links {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let own = network.backend.wiring() == Wiring::Cable;
        let mut sources = vec![Source {
            route: network.wire.run(|| Netlink::open(NETLINK_ROUTE))??,
            indices: lab
                .links
                .iter()
                .filter(|link| !link.device)
                .flat_map(|l| &l.ends)
                .filter(|end| network.nodes.contains_key(&end.node))
                .map(|end| (if own { end.index } else { end.wire_index }, end.index))
                .collect(),
            own,
        }];
        for node in lab.nodes.iter().filter(|node| lab.runs(node)) {
            let devices = lab.links.iter().filter(|link| link.device);
            let indices: FxHashMap<u32, u32> = devices
                .flat_map(|l| &l.ends)
                .filter(|end| end.node == node.name)
                .map(|end| (end.index, end.index))
                .collect();
            if !indices.is_empty() {
                sources.push(Source {
                    route: network
                        .node(&node.name)?
                        .run(|| Netlink::open(NETLINK_ROUTE))??,
                    indices,
                    own: true,
                });
            }
        }
        Ok(Self {
            sources,
            table: Batch::create(dir)?,
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let table = &mut self.table;
        let mut outcome = Ok(());
        for source in &mut self.sources {
            let (indices, own) = (&source.indices, source.own);
            source.route.dump(request(), |_, payload| {
                if let Some(row) = read(payload, indices, own, time_ns)
                    && let Err(e) = table.push(row)
                {
                    outcome = Err(e);
                }
            })?;
        }
        outcome
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// Counters of one direction of an interface: packets and bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    pub packets: u64,
    pub bytes: u64,
}

/// Reads what every interface of a namespace has received and sent so far, by the interface's index.
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

/// Swaps the directions: packets that the wire's side received, the node sent.
fn read(
    payload: &[u8],
    indices: &FxHashMap<u32, u32>,
    own: bool,
    time_ns: i64,
) -> Option<links::Row> {
    let (index, mut stats) = read_stats(payload)?;
    if own {
        for pair in stats.chunks_exact_mut(2) {
            pair.reverse();
        }
    }
    let [
        rx_packets,
        tx_packets,
        rx_bytes,
        tx_bytes,
        _,
        _,
        rx_dropped,
        tx_dropped,
    ] = stats;
    Some(links::Row {
        time_ns,
        interface_index: *indices.get(&index)?,
        tx_bytes: rx_bytes,
        tx_packets: Some(rx_packets),
        rx_bytes: tx_bytes,
        rx_packets: Some(tx_packets),
        tx_dropped: Some(rx_dropped),
        rx_dropped: Some(tx_dropped),
    })
}

/// Parses the first fields of struct rtnl_link_stats64: rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors,
/// tx_errors, rx_dropped, tx_dropped.
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

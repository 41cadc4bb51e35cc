//! `wires.arrows`: packets that each direction of each link received, delivered, lost and still holds at the end of the
//! run. Received is the sum of the other three.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::links::{self, Counters};
use super::queues;
use crate::lab::Lab;
use crate::network::Network;
use crate::network::device::{self, Sums};
use netwarp_records::table::Batch;
use netwarp_records::tables::wires;

/// Reads all wires and writes the table.
pub fn write(network: &Network, lab: &Lab, dir: &Path) -> Result<()> {
    let counters: BTreeMap<u32, [Counters; 2]> = links::read_all(&network.wire)?;
    let netems: BTreeMap<u32, queues::Qdisc> = queues::read_all(&network.wire)?
        .into_iter()
        .filter(|queue| queue.kind == "netem")
        .map(|queue| (queue.index, queue))
        .collect();
    let mut table = Batch::<wires::Rows>::create(dir)?;
    for link in &lab.links {
        let [a, b] = &link.ends;
        for (from, to) in [(a, b), (b, a)] {
            let is_here = |node| network.nodes.contains_key(node);
            if !is_here(&from.node) && !is_here(&to.node) {
                continue;
            }
            if link.device {
                table.push(of_device(from.index, device::read_sums(network, from)?))?;
                continue;
            }
            let netem = netems.get(&to.wire_index);
            let [received, _] = counters.get(&from.wire_index).copied().unwrap_or_default();
            let [_, transmitted] = counters.get(&to.wire_index).copied().unwrap_or_default();
            table.push(wires::Row {
                interface_index: from.index,
                sent_pkts: received.packets,
                sent_bytes: received.bytes,
                delivered_pkts: transmitted.packets,
                delivered_bytes: transmitted.bytes,
                lost_pkts: netem.map_or(0, |q| u64::from(q.drops)),
                queued_pkts: netem.map_or(0, |q| u64::from(q.length)),
                queued_bytes: netem.map_or(0, |q| u64::from(q.backlog)),
            })?;
        }
    }
    table.finish()
}

fn of_device(interface_index: u32, sums: Sums) -> wires::Row {
    let [sent_pkts, sent_bytes] = sums.taken;
    let [delivered_pkts, delivered_bytes] = sums.delivered;
    let [lost_pkts, lost_bytes] = sums.lost;
    let [copied_pkts, copied_bytes] = sums.copied;
    wires::Row {
        interface_index,
        sent_pkts,
        sent_bytes,
        delivered_pkts,
        delivered_bytes,
        lost_pkts,
        // Between parts of a network the machine at each end has a row, and what is added of both is right.
        queued_pkts: (sent_pkts + copied_pkts).wrapping_sub(delivered_pkts + lost_pkts),
        queued_bytes: (sent_bytes + copied_bytes).wrapping_sub(delivered_bytes + lost_bytes),
    }
}

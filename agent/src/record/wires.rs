//! `wires.arrows`: what each direction of each link took in, gave out, lost and still holds at the end of the run. The
//! four must add up.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::DataType::{UInt32, UInt64};

use super::links::{self, Counters};
use super::queues;
use crate::lab::Lab;
use crate::network::Network;
use crate::table::Table;

/// One direction; `index` is the interface that sends into it.
struct Row {
    index: u32,
    sent: Counters,
    delivered: Counters,
    lost: u64,
    queued: u64,
    queued_bytes: u64,
}

/// Reads all wires and writes the table.
pub fn write(network: &Network, lab: &Lab, dir: &Path) -> Result<()> {
    let counters: BTreeMap<u32, [Counters; 2]> = links::read_all(&network.wire)?;
    let netems: BTreeMap<u32, queues::Row> = queues::read_all(&network.wire)?
        .into_iter()
        .filter(|queue| queue.kind == "netem")
        .map(|queue| (queue.index, queue))
        .collect();
    let mut rows = Vec::new();
    for link in &lab.links {
        let [a, b] = &link.ends;
        for (from, to) in [(a, b), (b, a)] {
            let netem = netems.get(&to.wire_index);
            let [received, _] = counters.get(&from.wire_index).copied().unwrap_or_default();
            let [_, transmitted] = counters.get(&to.wire_index).copied().unwrap_or_default();
            rows.push(Row {
                index: from.index,
                sent: received,
                delivered: transmitted,
                lost: netem.map_or(0, |q| u64::from(q.drops)),
                queued: netem.map_or(0, |q| u64::from(q.length)),
                queued_bytes: netem.map_or(0, |q| u64::from(q.backlog)),
            });
        }
    }
    let mut table = Table::create(
        &dir.join("wires.arrows"),
        &[
            ("interface_index", UInt32, false),
            ("sent_pkts", UInt64, false),
            ("sent_bytes", UInt64, false),
            ("delivered_pkts", UInt64, false),
            ("delivered_bytes", UInt64, false),
            ("lost_pkts", UInt64, false),
            ("queued_pkts", UInt64, false),
            ("queued_bytes", UInt64, false),
        ],
    )?;
    let all = || rows.iter();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(all().map(|r| r.index).collect::<UInt32Array>()),
        Arc::new(all().map(|r| r.sent.packets).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.sent.bytes).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.delivered.packets).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.delivered.bytes).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.lost).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.queued).collect::<UInt64Array>()),
        Arc::new(all().map(|r| r.queued_bytes).collect::<UInt64Array>()),
    ];
    table.write(columns)?;
    table.finish()
}

//! `flows.arrows`: the totals of each flow at its end.

use std::path::Path;

use anyhow::Result;

use crate::lab::Flow;
use netwarp_records::sockets::TcpInfo;
use netwarp_records::table::Batch;
use netwarp_records::tables::flows;

/// Totals of a flow; times are from t0. Byte counts are the kernel's (tcp_info), not what the program asked for.
#[derive(Debug, Default)]
pub struct FlowStats {
    pub flow_id: u32,
    pub name: String,
    pub tool: String,
    pub start_ns: i64,
    pub connect_ns: Option<i64>,
    pub end_ns: i64,
    pub sent_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    pub retransmits: Option<u32>,
    pub rwnd_limited_us: Option<u64>,
    pub sndbuf_limited_us: Option<u64>,
    pub busy_us: Option<u64>,
    pub error: Option<String>,
    pub sent_pkts: Option<u64>,
    pub received_pkts: Option<u64>,
    pub duplicate_pkts: Option<u64>,
    pub reordered_pkts: Option<u64>,
    pub jitter_us: Option<f64>,
    pub received_in_ns: Option<i64>,
    pub unsent_pkts: Option<u64>,
}

impl FlowStats {
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow_id: flow.id,
            name: flow.name.clone(),
            tool: flow.tool.clone(),
            start_ns: flow.start_ns,
            end_ns: flow.start_ns + flow.duration_ns,
            ..Self::default()
        }
    }

    /// Adds the counts of a sending socket; a flow may have several.
    pub fn add_sender(&mut self, info: &TcpInfo) {
        let add = |sum: &mut Option<u64>, name: &str| {
            if let Some(value) = info.get(name) {
                *sum = Some(sum.unwrap_or(0) + value);
            }
        };
        add(&mut self.sent_bytes, "bytes_sent");
        add(&mut self.busy_us, "busy_time_us");
        add(&mut self.rwnd_limited_us, "rwnd_limited_us");
        add(&mut self.sndbuf_limited_us, "sndbuf_limited_us");
        if let Some(value) = info.get("total_retrans") {
            self.retransmits = Some(self.retransmits.unwrap_or(0) + value as u32);
        }
    }

    /// Adds the counts of sending sockets that were closed before, which `add_sender` has summed up.
    pub fn add_closed(&mut self, closed: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).reduce(|a, b| a + b);
        self.sent_bytes = sum(self.sent_bytes, closed.sent_bytes);
        self.busy_us = sum(self.busy_us, closed.busy_us);
        self.rwnd_limited_us = sum(self.rwnd_limited_us, closed.rwnd_limited_us);
        self.sndbuf_limited_us = sum(self.sndbuf_limited_us, closed.sndbuf_limited_us);
        let counts = self.retransmits.into_iter().chain(closed.retransmits);
        self.retransmits = counts.reduce(|a, b| a + b);
    }

    fn row(&self) -> flows::Row<'_> {
        flows::Row {
            flow_id: self.flow_id,
            name: &self.name,
            tool: &self.tool,
            start_ns: self.start_ns,
            connect_ns: self.connect_ns,
            end_ns: self.end_ns,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            retransmits: self.retransmits,
            rwnd_limited_us: self.rwnd_limited_us,
            sndbuf_limited_us: self.sndbuf_limited_us,
            busy_us: self.busy_us,
            error: self.error.as_deref(),
            sent_pkts: self.sent_pkts,
            received_pkts: self.received_pkts,
            duplicate_pkts: self.duplicate_pkts,
            reordered_pkts: self.reordered_pkts,
            jitter_us: self.jitter_us,
            received_in_ns: self.received_in_ns,
            unsent_pkts: self.unsent_pkts,
        }
    }
}

/// Writes the table.
pub fn write(dir: &Path, flows: &[FlowStats]) -> Result<()> {
    let mut table = Batch::<flows::Rows>::create(dir)?;
    for stats in flows {
        table.push(stats.row())?;
    }
    table.finish()
}

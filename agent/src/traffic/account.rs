//! `flows.arrows`: what each flow says of itself at its end.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::DataType::{Float64, Int64, UInt32, UInt64, Utf8};

use crate::lab::Flow;
use crate::sockets::TcpInfo;
use crate::table::Table;

/// Times are from t0. Byte counts are the kernel's own (tcp_info), not what the program asked for.
#[derive(Debug, Default)]
pub struct Account {
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
}

impl Account {
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

    /// What a sending socket says of itself, beside what others of the same flow have said.
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
}

/// Writes the accounts of all flows.
pub fn write(dir: &Path, accounts: &[Account]) -> Result<()> {
    let mut table = Table::create(
        &dir.join("flows.arrows"),
        &[
            ("flow_id", UInt32, false),
            ("name", Utf8, false),
            ("tool", Utf8, false),
            ("start_ns", Int64, false),
            ("connect_ns", Int64, true),
            ("end_ns", Int64, false),
            ("sent_bytes", UInt64, true),
            ("received_bytes", UInt64, true),
            ("retransmits", UInt32, true),
            ("rwnd_limited_us", UInt64, true),
            ("sndbuf_limited_us", UInt64, true),
            ("busy_us", UInt64, true),
            ("error", Utf8, true),
            ("sent_pkts", UInt64, true),
            ("received_pkts", UInt64, true),
            ("duplicate_pkts", UInt64, true),
            ("reordered_pkts", UInt64, true),
            ("jitter_us", Float64, true),
            ("received_in_ns", Int64, true),
        ],
    )?;
    let all = || accounts.iter();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(all().map(|a| a.flow_id).collect::<UInt32Array>()),
        Arc::new(
            all()
                .map(|a| Some(a.name.as_str()))
                .collect::<StringArray>(),
        ),
        Arc::new(
            all()
                .map(|a| Some(a.tool.as_str()))
                .collect::<StringArray>(),
        ),
        Arc::new(all().map(|a| a.start_ns).collect::<Int64Array>()),
        Arc::new(all().map(|a| a.connect_ns).collect::<Int64Array>()),
        Arc::new(all().map(|a| a.end_ns).collect::<Int64Array>()),
        Arc::new(all().map(|a| a.sent_bytes).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.received_bytes).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.retransmits).collect::<UInt32Array>()),
        Arc::new(all().map(|a| a.rwnd_limited_us).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.sndbuf_limited_us).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.busy_us).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.error.as_deref()).collect::<StringArray>()),
        Arc::new(all().map(|a| a.sent_pkts).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.received_pkts).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.duplicate_pkts).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.reordered_pkts).collect::<UInt64Array>()),
        Arc::new(all().map(|a| a.jitter_us).collect::<Float64Array>()),
        Arc::new(all().map(|a| a.received_in_ns).collect::<Int64Array>()),
    ];
    table.write(columns)?;
    table.finish()
}

//! `pings.arrows`: each echo request with its round-trip time.

use std::path::Path;

use anyhow::Result;

use netwarp_records::table::Batch;
use netwarp_records::tables::pings;

/// One echo request.
#[derive(Debug, Clone, Copy)]
pub struct Echo {
    pub sent_ns: i64,
    pub rtt_ns: Option<i64>,
}

/// A flow's rows of `pings.arrows`.
pub struct Echoes {
    pub flow_id: u32,
    pub echoes: Vec<Echo>,
}

/// Writes the table.
pub fn write(dir: &Path, flows: &[Echoes]) -> Result<()> {
    let mut table = Batch::<pings::Rows>::create(dir)?;
    for flow in flows {
        for (sequence, echo) in (0..).zip(&flow.echoes) {
            table.push(pings::Row {
                flow_id: flow.flow_id,
                sequence,
                sent_ns: echo.sent_ns,
                rtt_ns: echo.rtt_ns,
            })?;
        }
    }
    table.finish()
}

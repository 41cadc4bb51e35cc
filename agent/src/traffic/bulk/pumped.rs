//! A connection whose ends are in the kernel: they do the same at the same instants as a thread for each.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

use crate::backend::{Pump, PumpEnd, Pumps};
use crate::traffic::connection::{is_answered, is_sent};
use crate::traffic::fields::BulkFields;
use crate::traffic::flow_stats::FlowStats;
use crate::traffic::generator::{Generator, Setup};
use crate::traffic::threads::{lock, spawn};
use crate::traffic::transfers::Transfers;
use netwarp_records::sockets::TcpInfo;

/// One connection.
struct Pumped {
    pumps: Arc<Pumps>,
    id: u32,
    to: SocketAddr,
    t0_ns: i64,
    receives: bool,
}

/// Has the kernel open both ends, and connect and send at the flow's instants.
pub fn prepare(
    setup: &Setup,
    pumps: &Arc<Pumps>,
    fields: &BulkFields,
) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let destination = setup.destination();
    pumps.begin(&Pump {
        id: flow.id,
        from: setup.source().map(|node| PumpEnd {
            net: node.file(),
            address: SocketAddr::new(flow.source, flow.source_port),
        }),
        to: destination.map(|node| PumpEnd {
            net: node.file(),
            address: to,
        }),
        destination: to,
        congestion_control: &fields.cc,
        options: &flow.sockets,
        bytes: fields.bytes,
        connect_at_ns: t0_ns + flow.start_ns - fields.connect_ahead_ns,
        start_at_ns: t0_ns + flow.start_ns,
    })?;
    if destination.is_some() {
        lock(&setup.tables.transfers).begin_flow(flow, fields.bytes);
    }
    Ok(Box::new(Pumped {
        pumps: Arc::clone(pumps),
        id: flow.id,
        to,
        t0_ns,
        receives: destination.is_some(),
    }))
}

/// Records transfers when they are complete, in a thread for all.
pub fn record(pumps: &Arc<Pumps>, transfers: &Arc<Mutex<Transfers>>, t0_ns: i64) -> Result<()> {
    let (pumps, transfers) = (Arc::clone(pumps), Arc::clone(transfers));
    spawn("transfers".into(), move || {
        while let Ok(complete) = pumps.complete() {
            let mut table = lock(&transfers);
            for (flow_id, done_ns) in complete {
                if table.complete(flow_id, done_ns - t0_ns).is_err() {
                    return;
                }
            }
        }
    })
    .map(drop)
}

impl Generator for Pumped {
    fn stop(&mut self) {
        self.pumps.stop(self.id);
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let pumped = self.pumps.ask(self.id)?;
        let since_t0 = |at_ns: i64| at_ns - self.t0_ns;
        stats.connect_ns = pumped.connected_ns.map(since_t0);
        if let Some(done_ns) = pumped.done_ns {
            stats.end_ns = since_t0(done_ns).min(stats.end_ns);
        }
        let refused = pumped.refused.map(|errno| {
            let why = std::io::Error::from_raw_os_error(errno);
            format!("cannot accept the connection, or set its options: {why}")
        });
        stats.error = refused.or(self.error(pumped.error, pumped.connected_ns.is_some()));
        if !pumped.sender.is_empty() {
            stats.add_sender(&TcpInfo::new(&pumped.sender));
        }
        let bytes = match pumped.done_ns {
            Some(_) => pumped.taken,
            // The kernel's counter includes the FIN as a byte.
            None => pumped.received,
        };
        stats.received_bytes = self.receives.then_some(bytes);
        Ok(())
    }
}

impl Pumped {
    /// The message of a flow that failed. Loss in the network is a result, and not an error.
    fn error(&self, errno: Option<i32>, connected: bool) -> Option<String> {
        let ended = Err(std::io::Error::from_raw_os_error(errno?));
        let failed = match connected {
            true => is_sent(ended),
            false => is_answered(ended).with_context(|| format!("cannot connect to {}", self.to)),
        };
        failed.err().map(|e| format!("{e:#}"))
    }
}

//! `open_loop`: transfers that begin whether or not earlier ones are complete, each over its own TCP connection (B.
//! Schroeder, A. Wierman, M. Harchol-Balter: Open Versus Closed: A Cautionary Tale, NSDI 2006).
//!
//! The number of connections has no bound when the network is overloaded, so that threads serve a part of them and one
//! thread the rest (`crowd`). The receiver closes a connection when it has all bytes, so that it keeps the TIME_WAIT
//! state, and the sender's ports are free for later connections.

pub mod arrivals;
mod crowd;
mod shared;
mod sink;
mod source;

use std::sync::{Arc, Mutex};

use anyhow::Result;

use self::shared::Shared;
use self::sink::Sink;
use self::source::Source;
use super::connection::{self, Opening};
use super::fields::OpenLoopFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::socket::tcp_info;
use super::threads::{lock, spawn};
use super::transfers::{Transfer, Transfers};
use crate::time::monotonic_ns;
use netwarp_records::sockets::TcpInfo;

/// Connections that the kernel holds for the sink until it accepts them: the most that it allows by default.
const BACKLOG: i32 = 4096;
struct OpenLoop {
    flow_id: u32,
    shared: Shared,
    sends: bool,
    receives: bool,
    transfers: Arc<Mutex<Transfers>>,
}

/// Draws the arrivals, listens, and starts a thread at each end.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let flow = setup.flow;
    let fields: OpenLoopFields = flow.fields()?;
    let shared = Shared::new(setup.t0_ns, arrivals::draw(flow, &fields)?);
    let opening = Opening::tcp(setup, &fields.cc);
    let (listener, to) = connection::listener(setup, &opening, BACKLOG)?;
    let open_loop = OpenLoop {
        flow_id: flow.id,
        shared: shared.clone(),
        sends: setup.source().is_some(),
        receives: listener.is_some(),
        transfers: Arc::clone(&setup.tables.transfers),
    };
    if let Some(listener) = listener {
        Sink::start(format!("to {}", flow.name), listener, shared.clone())?;
    }
    if let Some(node) = setup.source() {
        let node = node.try_clone()?;
        let source = Source::new(opening, flow.source, to, shared.clone())?;
        spawn(format!("from {}", flow.name), move || {
            shared.keep_error(node.run(|| source.run()).and_then(|ran| ran));
        })?;
    }
    Ok(Box::new(open_loop))
}

impl Generator for OpenLoop {
    /// Transfers that have begun go on until they are complete or the run ends.
    fn stop(&mut self) {
        lock(&self.shared.progress).stopped = true;
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.shared.progress);
        let now_ns = monotonic_ns() - self.shared.t0_ns;
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        if self.sends {
            stats.add_closed(&progress.sent);
            for &fd in &progress.sending {
                stats.add_sender(&TcpInfo::new(&tcp_info(fd)?));
            }
        }
        if !self.receives {
            return Ok(());
        }
        let mut received_bytes = progress.received_bytes;
        for &fd in &progress.receiving {
            let taken = TcpInfo::new(&tcp_info(fd)?).get("bytes_received");
            received_bytes += taken.unwrap_or(0);
        }
        stats.received_bytes = Some(received_bytes);
        let mut transfers = lock(&self.transfers);
        for (number, (arrival, &end_ns)) in self
            .shared
            .arrivals
            .iter()
            .zip(&progress.ends_ns)
            .enumerate()
        {
            // A run that is stopped early ends before some arrivals.
            if arrival.start_ns >= now_ns {
                break;
            }
            transfers.add(Transfer {
                flow_id: self.flow_id,
                sequence: number as u32,
                start_ns: arrival.start_ns,
                end_ns,
                request_bytes: 0,
                bytes: arrival.bytes,
            })?;
            stats.end_ns = stats.end_ns.max(end_ns.unwrap_or(now_ns));
        }
        Ok(())
    }
}

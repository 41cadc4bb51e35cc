//! `sctp`: one association that always has a message to send, on each of its streams in turn, until its time is over or
//! its bytes are sent.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use nix::sys::socket::{Shutdown, shutdown};

use super::connection::{self, Ends, Listener, Opening};
use super::fields::SctpFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::messages::{AssociationStats, Order, discard, send_message, wait_until_acked};
use super::threads::{lock, spawn};
use super::transfers::Transfers;
use crate::time::{monotonic_ns, sleep_until};

/// State that the threads share with the main thread.
#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    done_ns: Option<i64>,
    /// Bytes that the receiver's program has taken.
    taken: u64,
    /// Counts of the sender's association, at its end.
    sent: Option<AssociationStats>,
    error: Option<String>,
    stopped: bool,
}

/// One association and the threads at its ends.
struct Sctp {
    sender: Option<Arc<OwnedFd>>,
    receives: bool,
    progress: Arc<Mutex<Progress>>,
}

/// A sender's messages and their destination.
struct Plan {
    fields: SctpFields,
    to: SocketAddr,
    t0_ns: i64,
}

/// Listens at the destination, and starts the threads. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let fields: SctpFields = flow.fields()?;
    let bytes = fields.bytes;
    let Ends {
        listener,
        client,
        to,
    } = connection::open(setup, &Opening::sctp(setup, fields.streams))?;
    let sctp = Sctp {
        sender: client.map(Arc::new),
        receives: listener.is_some(),
        progress: Arc::default(),
    };
    let (id, start_ns) = (flow.id, flow.start_ns);
    if let Some(listener) = listener {
        let (progress, transfers) = (
            Arc::clone(&sctp.progress),
            Arc::clone(&setup.tables.transfers),
        );
        lock(&transfers).begin_flow(flow, bytes);
        spawn(format!("to {}", flow.name), move || {
            if let Err(e) = receive(&listener, id, bytes, &progress, t0_ns, &transfers) {
                lock(&progress).error = Some(format!("{e:#}"));
            }
        })?;
    }
    if let Some(sender) = sctp.sender.clone() {
        let progress = Arc::clone(&sctp.progress);
        let plan = Plan { fields, to, t0_ns };
        spawn(format!("from {}", flow.name), move || {
            sleep_until(t0_ns + start_ns);
            if let Err(e) = send(&sender, &plan, &progress) {
                let mut progress = lock(&progress);
                if !progress.stopped {
                    progress.error = Some(format!("{e:#}"));
                }
            }
        })?;
    }
    Ok(Box::new(sctp))
}

impl Generator for Sctp {
    fn stop(&mut self) {
        let mut progress = lock(&self.progress);
        progress.stopped = true;
        if let Some(sender) = &self.sender {
            // Read before the end, after which the kernel no longer has the association. None: it has ended already, and
            // its thread has read them.
            if let Some(sent) = AssociationStats::of(sender.as_raw_fd()) {
                progress.sent = Some(sent);
            }
            // Wakes a sender that sleeps in sendmsg; the socket's data is still delivered, then SHUTDOWN.
            let _ = shutdown(sender.as_raw_fd(), Shutdown::Write);
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.progress);
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        stats.end_ns = progress.done_ns.unwrap_or(stats.end_ns).min(stats.end_ns);
        let running = self
            .sender
            .as_ref()
            .and_then(|sender| AssociationStats::of(sender.as_raw_fd()));
        if let Some(sent) = progress.sent.or(running) {
            stats.retransmits = Some(sent.retransmitted_chunks);
        }
        stats.received_bytes = self.receives.then_some(progress.taken);
        Ok(())
    }
}

fn send(socket: &OwnedFd, plan: &Plan, progress: &Mutex<Progress>) -> Result<()> {
    if !connection::connect(socket, plan.to)? {
        return Ok(());
    }
    lock(progress).connect_ns = Some(monotonic_ns() - plan.t0_ns);
    let fields = &plan.fields;
    let order = match fields.ordered {
        true => Order::InStream,
        false => Order::None,
    };
    let mut left = fields.bytes.unwrap_or(u64::MAX);
    for stream in (0..fields.streams).cycle() {
        if left == 0 {
            break;
        }
        let length = left.min(fields.message_size_bytes);
        match send_message(socket.as_raw_fd(), length as usize, stream, order) {
            Ok(()) => left -= length,
            // Caused by stop(), or the run is over.
            Err(e) if e.raw_os_error() == Some(libc::EPIPE) => return Ok(()),
            failed => {
                connection::is_answered(failed).context("send")?;
                return Ok(());
            }
        }
    }
    let acked =
        wait_until_acked(socket.as_raw_fd()).context("wait for the last acknowledgement")?;
    let mut progress = lock(progress);
    if acked && !progress.stopped {
        progress.sent = AssociationStats::of(socket.as_raw_fd());
        shutdown(socket.as_raw_fd(), Shutdown::Write).context("shutdown")?;
    }
    Ok(())
}

fn receive(
    listener: &Listener,
    flow_id: u32,
    bytes: Option<u64>,
    progress: &Mutex<Progress>,
    t0_ns: i64,
    transfers: &Mutex<Transfers>,
) -> Result<()> {
    let fd: RawFd = listener.accept()?;
    let wanted = bytes.unwrap_or(u64::MAX);
    while lock(progress).taken < wanted {
        match discard(fd) {
            Ok(got) if got > 0 => lock(progress).taken += got,
            _ => break,
        }
    }
    let end_ns = monotonic_ns() - t0_ns;
    let mut shared = lock(progress);
    shared.done_ns = Some(end_ns);
    if Some(shared.taken) == bytes {
        lock(transfers).complete(flow_id, end_ns)?;
    }
    Ok(())
}

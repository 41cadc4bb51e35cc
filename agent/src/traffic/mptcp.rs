//! `mptcp`: one connection of Multipath TCP that always has something to send, until its time is over or its bytes are
//! sent. The kernel's path manager opens its subflows (`network/mptcp.rs`).

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::socket::{Shutdown, shutdown};

use super::connection::{self, Ends, Listener, Opening};
use super::fields::MptcpFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup, Tables};
use super::mptcp_records::{Connection, Read};
use super::mptcp_socket::Totals;
use super::tcp;
use super::threads::{lock, spawn};
use crate::lab::Flow;
use crate::time::{monotonic_ns, sleep_until};

/// State that the threads share with the main thread.
#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    done_ns: Option<i64>,
    /// Bytes that the receiver's application has read.
    taken: u64,
    /// Totals of the sender at its end.
    sent: Option<Totals>,
    error: Option<String>,
    stopped: bool,
}

/// One connection and the threads at its ends.
struct Mptcp {
    sender: Option<Arc<OwnedFd>>,
    receives: bool,
    progress: Arc<Mutex<Progress>>,
    tables: Tables,
}

/// Where the receiver writes what it reads.
struct Receiver {
    flow: Flow,
    bytes: Option<u64>,
    t0_ns: i64,
    sender: Option<Arc<OwnedFd>>,
    tables: Tables,
}

/// Listens at the destination, and starts the threads. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let MptcpFields {
        cc,
        bytes,
        receiver_is_mptcp,
    } = flow.fields()?;
    let opening = Opening::mptcp(setup, &cc);
    let listening = match receiver_is_mptcp {
        true => opening.clone(),
        false => Opening::tcp(setup, &cc),
    };
    let Ends {
        listener,
        client,
        to,
    } = connection::open_with(setup, &listening, &opening)?;
    let mptcp = Mptcp {
        sender: client.map(Arc::new),
        receives: listener.is_some(),
        progress: Arc::default(),
        tables: setup.tables.clone(),
    };
    let start_ns = flow.start_ns;
    if let Some(listener) = listener {
        let progress = Arc::clone(&mptcp.progress);
        let receiver = Receiver {
            flow: flow.clone(),
            bytes,
            t0_ns,
            sender: mptcp.sender.clone(),
            tables: setup.tables.clone(),
        };
        lock(&setup.tables.transfers).begin_flow(flow, bytes);
        spawn(format!("to {}", flow.name), move || {
            if let Err(e) = receiver.receive(&listener, &progress) {
                lock(&progress).error = Some(format!("{e:#}"));
            }
        })?;
    }
    if let Some(sender) = mptcp.sender.clone() {
        let progress = Arc::clone(&mptcp.progress);
        spawn(format!("from {}", flow.name), move || {
            sleep_until(t0_ns + start_ns);
            if let Err(e) = send(&sender, to, bytes, &progress, t0_ns) {
                // Stopping a socket that is still connecting resets it: then it counts as never connected.
                let mut progress = lock(&progress);
                if !progress.stopped {
                    progress.error = Some(format!("{e:#}"));
                }
            }
        })?;
    }
    Ok(Box::new(mptcp))
}

impl Generator for Mptcp {
    fn stop(&mut self) {
        let mut progress = lock(&self.progress);
        progress.stopped = true;
        if let Some(sender) = &self.sender {
            // Read before the end, after which the kernel no longer has the subflows.
            if progress.sent.is_none() && progress.connect_ns.is_some() {
                progress.sent = Totals::of(sender.as_raw_fd()).ok();
            }
            // Wakes a sender that sleeps in sendmsg; the socket's data is still delivered, then DATA_FIN.
            let _ = shutdown(sender.as_raw_fd(), Shutdown::Write);
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let mut progress = lock(&self.progress);
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        stats.end_ns = progress.done_ns.unwrap_or(stats.end_ns).min(stats.end_ns);
        stats.received_bytes = self.receives.then_some(progress.taken);
        let connected = progress.connect_ns.is_some();
        let sent = match (progress.sent.take(), &self.sender) {
            (None, Some(sender)) if connected => Some(Totals::of(sender.as_raw_fd())?),
            (found, _) => found,
        };
        if let Some(sent) = sent {
            sent.add_to(stats);
            let mptcp = sent.mptcp;
            lock(&self.tables.mptcp).connections.add(Connection {
                flow_id: stats.flow_id,
                fell_back: mptcp.is_none(),
                subflows: mptcp.as_ref().map(|of| of.subflows),
                sent_bytes: mptcp.as_ref().and_then(|of| of.sent_bytes),
                reinjected_bytes: mptcp.as_ref().and_then(|of| of.reinjected_bytes),
            })?;
        } else if self.sender.is_some() {
            stats.sent_bytes = Some(0);
        }
        Ok(())
    }
}

fn send(
    socket: &OwnedFd,
    to: SocketAddr,
    bytes: Option<u64>,
    progress: &Mutex<Progress>,
    t0_ns: i64,
) -> Result<()> {
    if !connection::connect(socket, to)? {
        return Ok(());
    }
    lock(progress).connect_ns = Some(monotonic_ns() - t0_ns);
    connection::send_all(socket, bytes)
}

impl Receiver {
    /// Reads whatever can be read as soon as it can, so that each read tells when the bytes became readable.
    fn receive(&self, listener: &Listener, progress: &Mutex<Progress>) -> Result<()> {
        let fd: RawFd = listener.accept()?;
        let wanted = self.bytes.unwrap_or(u64::MAX);
        let mut taken = 0;
        while taken < wanted {
            let got = match tcp::discard_now(fd, wanted - taken) {
                Ok(got) if got > 0 => got,
                _ => break,
            };
            taken += got;
            lock(progress).taken = taken;
            lock(&self.tables.mptcp).reads.add(Read {
                flow_id: self.flow.id,
                time_ns: monotonic_ns() - self.t0_ns,
                in_order_bytes: got,
            })?;
        }
        let end_ns = monotonic_ns() - self.t0_ns;
        let mut shared = lock(progress);
        shared.done_ns = Some(end_ns);
        if Some(taken) == self.bytes {
            // Now the sender still has its subflows, since it waits for the last acknowledgement.
            shared.sent = match &self.sender {
                Some(sender) => Some(Totals::of(sender.as_raw_fd())?),
                None => None,
            };
            drop(shared);
            lock(&self.tables.transfers).complete(self.flow.id, end_ns)?;
        }
        Ok(())
    }
}

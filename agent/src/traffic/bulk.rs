//! `bulk`: one TCP connection that always has something to send, until its time is over or its bytes are sent.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::socket::{Shutdown, shutdown};

use super::connection::{self, Ends, Listener, Opening};
use super::fields::BulkFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::socket::tcp_info;
use super::tcp;
use super::threads::{lock, spawn};
use super::transfers::Transfers;
use crate::time::{monotonic_ns, sleep_until};
use netwarp_records::sockets::TcpInfo;

/// State that the threads share with the main thread.
#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    done_ns: Option<i64>,
    receiver: Option<RawFd>,
    /// Bytes that the receiver took, once the stream has ended.
    taken: Option<u64>,
    error: Option<String>,
    stopped: bool,
}

/// One connection and the threads at its ends.
struct Bulk {
    sender: Option<Arc<OwnedFd>>,
    receives: bool,
    progress: Arc<Mutex<Progress>>,
}

/// Listens at the destination, and starts the threads. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let BulkFields {
        cc,
        bytes,
        connect_ahead_ns,
    } = flow.fields()?;
    let Ends {
        listener,
        client,
        to,
    } = connection::open(setup, &Opening::tcp(setup, &cc))?;
    let bulk = Bulk {
        sender: client.map(Arc::new),
        receives: listener.is_some(),
        progress: Arc::default(),
    };
    let (progress, transfers) = (
        Arc::clone(&bulk.progress),
        Arc::clone(&setup.tables.transfers),
    );
    let (id, start_ns) = (flow.id, flow.start_ns);
    let connect_at_ns = t0_ns + start_ns - connect_ahead_ns;
    if let Some(listener) = listener {
        lock(&transfers).begin_flow(flow, bytes);
        spawn(format!("to {}", flow.name), move || {
            if let Err(e) = receive(&listener, id, bytes, &progress, t0_ns, &transfers) {
                lock(&progress).error = Some(format!("{e:#}"));
            }
        })?;
    }
    if let Some(sender) = bulk.sender.clone() {
        let progress = Arc::clone(&bulk.progress);
        spawn(format!("from {}", flow.name), move || {
            sleep_until(connect_at_ns);
            if let Err(e) = send(&sender, to, bytes, &progress, t0_ns, start_ns) {
                // Stopping a socket that is still connecting resets it: then it counts as never connected.
                let mut progress = lock(&progress);
                if !progress.stopped {
                    progress.error = Some(format!("{e:#}"));
                }
            }
        })?;
    }
    Ok(Box::new(bulk))
}

impl Generator for Bulk {
    fn stop(&mut self) {
        lock(&self.progress).stopped = true;
        // Wakes a sender that sleeps in sendmsg; the socket's data is still delivered, then FIN.
        if let Some(sender) = &self.sender {
            let _ = shutdown(sender.as_raw_fd(), Shutdown::Write);
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.progress);
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        stats.end_ns = progress.done_ns.unwrap_or(stats.end_ns).min(stats.end_ns);
        if let Some(sender) = &self.sender {
            stats.add_sender(&TcpInfo::new(&tcp_info(sender.as_raw_fd())?));
        }
        stats.received_bytes = match (progress.taken, progress.receiver) {
            // The kernel's counter includes the FIN as a byte.
            (Some(taken), _) => Some(taken),
            (None, Some(fd)) => TcpInfo::new(&tcp_info(fd)?).get("bytes_received"),
            (None, None) => self.receives.then_some(0),
        };
        Ok(())
    }
}

fn send(
    socket: &OwnedFd,
    to: SocketAddr,
    bytes: Option<u64>,
    progress: &Mutex<Progress>,
    t0_ns: i64,
    start_ns: i64,
) -> Result<()> {
    if !connection::connect(socket, to)? {
        return Ok(());
    }
    lock(progress).connect_ns = Some(monotonic_ns() - t0_ns);
    sleep_until(t0_ns + start_ns);
    connection::send_all(socket, bytes)
}

fn receive(
    listener: &Listener,
    flow_id: u32,
    bytes: Option<u64>,
    progress: &Mutex<Progress>,
    t0_ns: i64,
    transfers: &Mutex<Transfers>,
) -> Result<()> {
    let fd = listener.accept()?;
    lock(progress).receiver = Some(fd);
    let got = tcp::discard(fd, bytes.unwrap_or(u64::MAX));
    let end_ns = monotonic_ns() - t0_ns;
    let mut shared = lock(progress);
    (shared.done_ns, shared.taken) = (Some(end_ns), Some(got));
    drop(shared);
    if Some(got) == bytes {
        lock(transfers).complete(flow_id, end_ns)?;
    }
    Ok(())
}

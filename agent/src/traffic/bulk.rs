//! `bulk`: one TCP connection that always has something to send, until its time is over or its bytes are sent. Where the
//! kernel can, both ends are its own (`pumped`); elsewhere each has a thread, which sleeps in the kernel.

mod ends;
pub mod pumped;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::socket::{Shutdown, shutdown};

use self::ends::{Done, Progress, Sending};
use super::connection::{self, Ends, Listener, Opening};
use super::fields::BulkFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::socket::tcp_info;
use super::tcp;
use super::threads::{lock, spawn};
use crate::time::{monotonic_ns, sleep_until};
use netwarp_records::sockets::TcpInfo;

/// One connection.
struct Bulk {
    sender: Option<Arc<OwnedFd>>,
    receives: bool,
    progress: Arc<Mutex<Progress>>,
}

/// Opens both ends, and prepares what they do. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: BulkFields = setup.flow.fields()?;
    let opening = Opening::tcp(setup, &fields.cc);
    match setup.pumps {
        None => prepare_threads(setup, &opening, &fields),
        Some(pumps) => pumped::prepare(setup, pumps, &fields).or_else(|refused| {
            // Sockets of the agent are refused as well, with a reason.
            connection::open(setup, &opening)?;
            Err(refused)
        }),
    }
}

fn prepare_threads(
    setup: &Setup,
    opening: &Opening,
    fields: &BulkFields,
) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns, bytes) = (setup.flow, setup.t0_ns, fields.bytes);
    let Ends {
        listener,
        client,
        to,
    } = connection::open(setup, opening)?;
    let bulk = Bulk {
        sender: client.map(Arc::new),
        receives: listener.is_some(),
        progress: Arc::default(),
    };
    let (progress, transfers) = (
        Arc::clone(&bulk.progress),
        Arc::clone(&setup.tables.transfers),
    );
    if let Some(listener) = listener {
        lock(&transfers).begin_flow(flow, bytes);
        let done = Done {
            flow_id: flow.id,
            bytes,
            t0_ns,
            progress: Arc::clone(&progress),
            transfers,
        };
        receive_by_thread(format!("to {}", flow.name), listener, done)?;
    }
    if let Some(socket) = bulk.sender.clone() {
        let sending = Sending {
            socket,
            to,
            bytes,
            connect_at_ns: t0_ns + flow.start_ns - fields.connect_ahead_ns,
            start_at_ns: t0_ns + flow.start_ns,
            t0_ns,
            progress,
        };
        send_by_thread(format!("from {}", flow.name), sending)?;
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

fn send_by_thread(name: String, sending: Sending) -> Result<()> {
    spawn(name, move || {
        sleep_until(sending.connect_at_ns);
        if let Err(e) = send(&sending) {
            sending.failed(&e);
        }
    })
    .map(drop)
}

fn send(sending: &Sending) -> Result<()> {
    let socket = &sending.socket;
    if !connection::connect(socket, sending.to)? {
        return Ok(());
    }
    sending.connected();
    sleep_until(sending.start_at_ns);
    connection::send_all(socket, sending.bytes)
}

fn receive_by_thread(name: String, listener: Listener, done: Done) -> Result<()> {
    spawn(name, move || {
        if let Err(e) = receive(&listener, &done) {
            done.failed(&e);
        }
    })
    .map(drop)
}

fn receive(listener: &Listener, done: &Done) -> Result<()> {
    let fd = listener.accept()?;
    done.accepted(fd);
    let got = tcp::discard(fd, done.bytes.unwrap_or(u64::MAX));
    done.taken(got, monotonic_ns() - done.t0_ns)
}

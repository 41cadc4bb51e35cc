//! `bulk`: one TCP connection that always has something to send.
//!
//! Sparing with system calls, since each costs more than a packet does: one `sendmsg` hands the kernel a gigabyte
//! (the same page-cache-warm buffer many times over), one `recv` with MSG_WAITALL and MSG_TRUNC takes a gigabyte and
//! throws it away. Both sleep inside the kernel, where the receiver still reads every segment as it comes: nothing is
//! held back, and the receive window grows as it would for any eager reader.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{Backlog, Shutdown, SockType, SockaddrStorage, accept, connect, listen, shutdown};

use super::socket::{bound, set_congestion_control, tcp_info};
use super::{Account, Generator};
use crate::lab::{Flow, Tool};
use crate::network::Network;
use crate::record::tcp_info::TcpInfo;
use crate::time::{monotonic_ns, sleep_until};

const CHUNK: usize = 1 << 20;
const CHUNKS: usize = 1024;
const STACK_BYTES: usize = 64 * 1024;

/// What the threads tell the main one.
#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    done_ns: Option<i64>,
    receiver: Option<RawFd>,
    error: Option<String>,
}

/// One connection and the two threads at its ends.
pub struct Bulk {
    sender: Arc<OwnedFd>,
    bytes: Option<u64>,
    progress: Arc<Mutex<Progress>>,
}

impl Bulk {
    /// Listens at the destination, and starts the threads.
    pub fn prepare(network: &Network, flow: &Flow, t0_ns: i64) -> Result<Self> {
        let Tool::Bulk { cc, bytes } = &flow.tool else { bail!("not a bulk flow") };
        let to = SocketAddr::new(flow.destination, flow.destination_port);
        let from = SocketAddr::new(flow.source, flow.source_port);
        let listener = network.node(&flow.to)?.run(|| -> Result<OwnedFd> {
            let socket = bound(to, SockType::Stream)?;
            listen(&socket, Backlog::new(8)?)?;
            Ok(socket)
        })??;
        let sender = Arc::new(network.node(&flow.from)?.run(|| -> Result<OwnedFd> {
            let socket = bound(from, SockType::Stream)?;
            if let Some(name) = cc {
                set_congestion_control(&socket, name)?;
            }
            Ok(socket)
        })??);
        let progress = Arc::new(Mutex::new(Progress::default()));
        let bulk = Self { sender: Arc::clone(&sender), bytes: *bytes, progress: Arc::clone(&progress) };
        spawn(format!("to {}", flow.name), {
            let progress = Arc::clone(&progress);
            move || receive(&listener, &progress, t0_ns)
        })?;
        let (start, bytes) = (t0_ns + flow.start_ns, *bytes);
        spawn(format!("from {}", flow.name), move || {
            sleep_until(start);
            if let Err(e) = send(&sender, to, bytes, &progress, t0_ns) {
                lock(&progress).error = Some(format!("{e:#}"));
            }
        })?;
        Ok(bulk)
    }
}

impl Generator for Bulk {
    fn stop(&mut self) {
        // Wakes a sender that sleeps in sendmsg; what the socket holds is still delivered, then FIN.
        let _ = shutdown(self.sender.as_raw_fd(), Shutdown::Write);
    }

    fn account(&mut self, account: &mut Account) -> Result<()> {
        let progress = lock(&self.progress);
        account.error.clone_from(&progress.error);
        account.connect_ns = progress.connect_ns;
        if let (Some(_), Some(done)) = (self.bytes, progress.done_ns) {
            account.end_ns = done;
        }
        let info = tcp_info(self.sender.as_raw_fd())?;
        let info = TcpInfo::new(&info);
        account.sent_bytes = info.get("bytes_sent").unwrap_or(0);
        account.retransmits = info.get("total_retrans").map(|v| v as u32);
        account.busy_us = info.get("busy_time_us");
        account.rwnd_limited_us = info.get("rwnd_limited_us");
        account.sndbuf_limited_us = info.get("sndbuf_limited_us");
        if let Some(fd) = progress.receiver {
            account.received_bytes = TcpInfo::new(&tcp_info(fd)?).get("bytes_received").unwrap_or(0);
        }
        Ok(())
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(work).context("cannot start a thread")?;
    Ok(())
}

fn lock(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(socket: &OwnedFd, to: SocketAddr, bytes: Option<u64>, progress: &Mutex<Progress>, t0_ns: i64) -> Result<()> {
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to)).with_context(|| format!("cannot connect to {to}"))?;
    lock(progress).connect_ns = Some(monotonic_ns() - t0_ns);
    let chunk = vec![0_u8; CHUNK];
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        match send_some(socket, &chunk, left) {
            Ok(sent) => left -= sent,
            // Our own stop(); or the run is over.
            Err(e) if e.raw_os_error() == Some(libc::EPIPE) => return Ok(()),
            Err(e) => return Err(e).context("send"),
        }
    }
    shutdown(socket.as_raw_fd(), Shutdown::Write).context("shutdown")
}

/// Sends at most `left` bytes and at most CHUNKS × CHUNK of them with one system call.
fn send_some(socket: &OwnedFd, chunk: &[u8], left: u64) -> std::io::Result<u64> {
    let mut room = left.min((CHUNKS * CHUNK) as u64) as usize;
    let mut parts = Vec::with_capacity(room.div_ceil(CHUNK));
    while room > 0 {
        let len = room.min(CHUNK);
        parts.push(libc::iovec { iov_base: chunk.as_ptr().cast_mut().cast(), iov_len: len });
        room -= len;
    }
    // SAFETY: an all-zero msghdr is valid; the kernel only reads the parts, all of which lie within `chunk`.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len();
        libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    u64::try_from(sent).map_err(|_| std::io::Error::last_os_error())
}

fn receive(listener: &OwnedFd, progress: &Mutex<Progress>, t0_ns: i64) {
    let fd = match accept(listener.as_raw_fd()) {
        Ok(fd) => fd,
        Err(e) => {
            lock(progress).error = Some(format!("accept: {e}"));
            return;
        }
    };
    lock(progress).receiver = Some(fd);
    loop {
        // SAFETY: with MSG_TRUNC TCP discards instead of copying (tcp(7)); no memory is written.
        let got = unsafe {
            libc::recv(fd, std::ptr::null_mut(), CHUNKS * CHUNK, libc::MSG_TRUNC | libc::MSG_WAITALL)
        };
        if got < (CHUNKS * CHUNK) as isize {
            lock(progress).done_ns = Some(monotonic_ns() - t0_ns);
            return;
        }
    }
}

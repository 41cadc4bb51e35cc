//! The receiving socket of a flow's datagrams.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use super::generator::Setup;
use super::receiver_stats::{Datagram, Datagrams, ReceiverStats};
use super::threads::lock;
use crate::constants::MIN_PAYLOAD_BYTES;
use crate::time::Stamps;

/// Number of datagrams taken at once.
const BATCH: usize = 1024;
/// Number of datagrams taken at once where a socket is emptied often.
const FEW: usize = 64;
const PAYLOAD: usize = MIN_PAYLOAD_BYTES as usize;
const CONTROL_BYTES: usize = 64;

/// The receiving socket of a flow, with its statistics and its rows.
pub struct Receiver {
    flow_id: u32,
    socket: Arc<OwnedFd>,
    t0_ns: i64,
    stamped_from_ns: i64,
    stamps: Stamps,
    stats: Arc<Mutex<ReceiverStats>>,
    table: Arc<Mutex<Datagrams>>,
}

impl Receiver {
    pub fn new(setup: &Setup, socket: Arc<OwnedFd>) -> Self {
        Self {
            flow_id: setup.flow.id,
            socket,
            t0_ns: setup.t0_ns,
            stamped_from_ns: setup.network.backend.stamped_from_ns(setup.t0_ns),
            stamps: Stamps::new(),
            stats: Arc::default(),
            table: Arc::clone(&setup.tables.datagrams),
        }
    }

    pub fn stats(&self) -> Arc<Mutex<ReceiverStats>> {
        Arc::clone(&self.stats)
    }

    /// Takes datagrams until the socket is shut down.
    pub fn run(&self) {
        let mut inbox = Inbox::new(BATCH);
        while self.take(&mut inbox, 0, |_| ()) {}
    }

    /// Takes the datagrams that wait in the socket, and shows each.
    pub fn take_waiting(&self, mut each: impl FnMut(&Datagram)) {
        let mut inbox = Inbox::new(FEW);
        while self.take(&mut inbox, libc::MSG_DONTWAIT, &mut each) {}
    }

    /// Takes a batch; false if none came, or if one could not be recorded.
    fn take(&self, inbox: &mut Inbox, flags: i32, mut each: impl FnMut(&Datagram)) -> bool {
        let got = inbox.fill(&self.socket, flags);
        for index in 0..got {
            // No datagram: the socket was shut down.
            let Some(datagram) = inbox.datagram(index, self) else {
                return false;
            };
            lock(&self.stats).add(&datagram);
            if let Err(e) = lock(&self.table).push(datagram.row(self.flow_id)) {
                lock(&self.stats).error = Some(format!("{e:#}"));
                return false;
            }
            each(&datagram);
        }
        got > 0
    }
}

/// Buffers for a batch of `recvmmsg`.
struct Inbox {
    payloads: Vec<[u8; PAYLOAD]>,
    controls: Vec<[u64; CONTROL_BYTES / 8]>,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl Inbox {
    fn new(batch: usize) -> Self {
        Self {
            payloads: vec![[0; PAYLOAD]; batch],
            controls: vec![[0; CONTROL_BYTES / 8]; batch],
            parts: Vec::with_capacity(batch),
            messages: Vec::with_capacity(batch),
        }
    }

    /// Sleeps until a whole batch has come or the socket is shut down, unless `flags` say not to wait; returns how many
    /// came.
    fn fill(&mut self, socket: &OwnedFd, flags: i32) -> usize {
        self.parts.clear();
        self.messages.clear();
        for payload in &mut self.payloads {
            self.parts.push(libc::iovec {
                iov_base: payload.as_mut_ptr().cast(),
                iov_len: PAYLOAD,
            });
        }
        for (part, control) in self.parts.iter_mut().zip(&mut self.controls) {
            // SAFETY: an all-zero mmsghdr is valid.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES;
            self.messages.push(message);
        }
        // SAFETY: every message points into vectors of self, which do not move during the call.
        let got = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as libc::c_uint,
                libc::MSG_TRUNC | flags,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(got).unwrap_or(0)
    }

    fn datagram(&self, index: usize, of: &Receiver) -> Option<Datagram> {
        let message = self.messages.get(index)?;
        if (message.msg_len as usize) < PAYLOAD {
            return None;
        }
        let payload = self.payloads.get(index)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| payload[at + i]));
        Some(Datagram {
            sequence: word(0),
            sent_ns: word(8) as i64 - of.stamped_from_ns,
            received_ns: of.stamps.monotonic_ns(self.stamp(message)?) - of.t0_ns,
            bytes: message.msg_len,
        })
    }

    /// The kernel's receive timestamp of a datagram (SCM_TIMESTAMPNS), in CLOCK_REALTIME.
    fn stamp(&self, message: &libc::mmsghdr) -> Option<i64> {
        // SAFETY: the kernel has filled msg_control with well-formed headers up to msg_controllen.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&message.msg_hdr);
            if header.is_null() || (*header).cmsg_type != libc::SCM_TIMESTAMPNS {
                return None;
            }
            let stamp: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
            Some(stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec)
        }
    }
}

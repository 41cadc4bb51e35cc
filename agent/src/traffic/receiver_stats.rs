//! Datagrams that a UDP flow's receiver got: `datagrams.arrows` and its sums.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Mutex;

use super::threads::lock;
use crate::constants::MIN_PAYLOAD_BYTES;
use crate::time::Stamps;
use netwarp_records::table::Batch;
use netwarp_records::tables::datagrams;

/// Number of datagrams taken at once.
const BATCH: usize = 1024;
const PAYLOAD: usize = MIN_PAYLOAD_BYTES as usize;
const CONTROL_BYTES: usize = 64;

/// `datagrams.arrows`: one row for each datagram that arrived, of all flows.
pub type Datagrams = Batch<datagrams::Rows>;

/// A datagram that arrived; times from t0.
struct Datagram {
    sequence: u64,
    sent_ns: i64,
    received_ns: i64,
    bytes: u32,
}

impl Datagram {
    fn row(&self, flow_id: u32) -> datagrams::Row {
        datagrams::Row {
            flow_id,
            sequence: self.sequence,
            sent_ns: self.sent_ns,
            received_ns: self.received_ns,
            payload_bytes: self.bytes,
        }
    }
}

/// Sums over a flow's datagrams.
#[derive(Default)]
pub struct ReceiverStats {
    pub bytes: u64,
    /// Datagrams that arrived after one with a higher sequence number.
    pub reordered: u64,
    pub error: Option<String>,
    packets: u64,
    unique: u64,
    seen: Vec<u64>,
    highest: Option<u64>,
    transit_ns: Option<i64>,
    jitter_ns: f64,
}

impl ReceiverStats {
    fn add(&mut self, datagram: &Datagram) {
        self.packets += 1;
        self.bytes += u64::from(datagram.bytes);
        if self
            .highest
            .is_some_and(|highest| datagram.sequence < highest)
        {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(datagram.sequence));
        let (word, bit) = (
            (datagram.sequence / 64) as usize,
            1_u64 << (datagram.sequence % 64),
        );
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.unique += 1;
        }
        let transit = datagram.received_ns - datagram.sent_ns;
        if let Some(before) = self.transit_ns.replace(transit) {
            // RFC 3550, 6.4.1 and A.8: J += (|D| − J) / 16
            self.jitter_ns += ((transit - before).abs() as f64 - self.jitter_ns) / 16.0;
        }
    }

    pub fn unique(&self) -> u64 {
        self.unique
    }

    pub fn duplicates(&self) -> u64 {
        self.packets - self.unique
    }

    /// Interarrival jitter at the end; absent with fewer than two datagrams.
    pub fn jitter_us(&self) -> Option<f64> {
        (self.packets > 1).then_some(self.jitter_ns / 1e3)
    }
}

/// Takes datagrams until the socket is shut down. `from_ns`: the start of the run's clock, and the instant from which
/// timestamps of senders count.
pub fn receive(
    flow_id: u32,
    socket: &OwnedFd,
    from_ns: [i64; 2],
    stats: &Mutex<ReceiverStats>,
    table: &Mutex<Datagrams>,
) {
    let stamps = Stamps::new();
    let mut inbox = Inbox::new();
    loop {
        let got = inbox.fill(socket);
        for index in 0..got {
            // No datagram: the socket was shut down.
            let Some(datagram) = inbox.datagram(index, from_ns, &stamps) else {
                return;
            };
            lock(stats).add(&datagram);
            if let Err(e) = lock(table).push(datagram.row(flow_id)) {
                lock(stats).error = Some(format!("{e:#}"));
                return;
            }
        }
        if got == 0 {
            return;
        }
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
    fn new() -> Self {
        Self {
            payloads: vec![[0; PAYLOAD]; BATCH],
            controls: vec![[0; CONTROL_BYTES / 8]; BATCH],
            parts: Vec::with_capacity(BATCH),
            messages: Vec::with_capacity(BATCH),
        }
    }

    /// Sleeps until a whole batch has come or the socket is shut down; returns how many came.
    fn fill(&mut self, socket: &OwnedFd) -> usize {
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
                libc::MSG_TRUNC,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(got).unwrap_or(0)
    }

    fn datagram(&self, index: usize, from_ns: [i64; 2], stamps: &Stamps) -> Option<Datagram> {
        let message = self.messages.get(index)?;
        if (message.msg_len as usize) < PAYLOAD {
            return None;
        }
        let payload = self.payloads.get(index)?;
        let [t0_ns, stamped_from_ns] = from_ns;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| payload[at + i]));
        Some(Datagram {
            sequence: word(0),
            sent_ns: word(8) as i64 - stamped_from_ns,
            received_ns: stamps.monotonic_ns(self.stamp(message)?) - t0_ns,
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

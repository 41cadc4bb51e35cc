//! Captures by packet sockets (packet(7)): each has a thread that writes its packets with the kernel's timestamps.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, ensure};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::{TimeSpec, TimeVal};

use crate::lab::Capture;
use crate::pcap_file::{MAX_SNAP, PcapFile};
use crate::time::{Stamps, monotonic_ns};

/// Longest wait for a packet before a thread checks whether it must end.
const MOMENT_US: i64 = 10_000;
/// Requested buffer; net.core.rmem_max bounds what the kernel grants.
const BUFFER_BYTES: usize = 64 << 20;
const SOL_PACKET: libc::c_int = 263;
const PACKET_STATISTICS: libc::c_int = 6;

/// Locks a mutex. A thread that panics ends the program, so no lock is poisoned.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture on one interface.
pub struct PacketSocket {
    socket: Arc<OwnedFd>,
    index: u32,
    snap: usize,
    missed: u64,
    file: Option<PcapFile>,
    /// The instant of CLOCK_MONOTONIC from which times of packets count.
    origin_ns: i64,
    /// The capture's end, by these times.
    end_ns: Arc<AtomicI64>,
    writer: Option<JoinHandle<Result<()>>>,
}

impl PacketSocket {
    /// Opens a socket in the network namespace of this thread, and its file; `filter` as tcpdump prints it (-ddd).
    pub fn open(capture: &Capture, filter: &str, dir: &Path) -> Result<Self> {
        // SAFETY: socket(2) accesses no memory of this process; a non-negative result is a new descriptor that nothing
        // else owns.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            ensure!(
                fd >= 0,
                "packet socket: {}",
                std::io::Error::last_os_error()
            );
            OwnedFd::from_raw_fd(fd)
        };
        if !filter.is_empty() {
            attach(&socket, filter)?;
        }
        if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES)?;
        }
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(
            &socket,
            sockopt::ReceiveTimeout,
            &TimeVal::new(0, MOMENT_US),
        )?;
        let name = format!("{}-{}", capture.link, capture.node);
        Ok(Self {
            socket: Arc::new(socket),
            index: capture.index,
            snap: match capture.snap {
                0 => MAX_SNAP as usize,
                snap => snap as usize,
            },
            missed: 0,
            file: Some(PcapFile::create(dir, &name)?),
            origin_ns: 0,
            end_ns: Arc::new(AtomicI64::new(i64::MAX)),
            writer: None,
        })
    }

    /// Starts capturing; times of packets count from `origin_ns`.
    pub fn start(&mut self, origin_ns: i64) -> Result<()> {
        // SAFETY: an all-zero sockaddr_ll is valid, and `address` outlives the call.
        let bound = unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = i32::try_from(self.index)?;
            let size = std::mem::size_of_val(&address) as libc::socklen_t;
            libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size)
        };
        ensure!(bound == 0, "capture: {}", std::io::Error::last_os_error());
        self.origin_ns = origin_ns;
        let (socket, end_ns, snap) = (
            Arc::clone(&self.socket),
            Arc::clone(&self.end_ns),
            self.snap,
        );
        let file = self.file.take().context("a capture begins once")?;
        let writer = thread::Builder::new().name("capture".into());
        self.writer = Some(writer.spawn(move || write(&socket, file, snap, origin_ns, &end_ns))?);
        Ok(())
    }

    /// Number of packets missed so far, because they came faster than they were written. The kernel resets its count at
    /// every query.
    pub fn missed_pkts(&mut self) -> u64 {
        self.missed += missed(&self.socket);
        self.missed
    }

    /// Writes the remaining packets.
    pub fn stop(&mut self) -> Result<()> {
        let now_ns = monotonic_ns() - self.origin_ns;
        self.end_ns.store(now_ns, Ordering::Relaxed);
        match self.writer.take().map(JoinHandle::join) {
            Some(outcome) => outcome.map_err(|_| anyhow!("a capture's thread died"))?,
            None => Ok(()),
        }
    }
}

fn write(
    socket: &OwnedFd,
    mut file: PcapFile,
    snap: usize,
    origin_ns: i64,
    end_ns: &AtomicI64,
) -> Result<()> {
    let stamps = Stamps::new();
    let mut bytes = vec![0_u8; snap];
    let mut control = cmsg_space!(TimeSpec);
    loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_TRUNC;
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags);
        let (len, stamp) = match message {
            Ok(message) => (message.bytes, stamp_of(message.cmsgs()?)),
            Err(Errno::EAGAIN | Errno::EINTR) if end_ns.load(Ordering::Relaxed) < i64::MAX => break,
            Err(Errno::EAGAIN | Errno::EINTR) => continue,
            Err(e) => return Err(e).context("capture"),
        };
        let Some(time_ns) = stamp.map(|stamp| stamps.monotonic_ns(stamp) - origin_ns) else {
            continue;
        };
        if time_ns > end_ns.load(Ordering::Relaxed) {
            break;
        }
        file.push(time_ns, len as u32, &bytes[..len.min(snap)])?;
    }
    file.finish()
}

/// The kernel's timestamp of a packet, in CLOCK_REALTIME.
fn stamp_of(mut messages: nix::sys::socket::CmsgIterator) -> Option<i64> {
    messages.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(t) => Some(t.tv_sec() * 1_000_000_000 + t.tv_nsec()),
        _ => None,
    })
}

/// Drops counted in struct tpacket_stats (packets, drops) since the last query.
fn missed(socket: &OwnedFd) -> u64 {
    let mut stats = [0_u32; 2];
    let mut len = std::mem::size_of_val(&stats) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `statistics`, which outlives the call.
    let got = unsafe {
        let place = stats.as_mut_ptr().cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            SOL_PACKET,
            PACKET_STATISTICS,
            place,
            &mut len,
        )
    };
    if got == 0 { u64::from(stats[1]) } else { 0 }
}

/// Attaches classic BPF: the number of instructions, then four numbers for each.
fn attach(socket: &OwnedFd, filter: &str) -> Result<()> {
    let numbers = filter
        .split_whitespace()
        .skip(1)
        .map(str::parse::<u32>)
        .collect::<Result<Vec<_>, _>>()
        .context("a filter is numbers")?;
    let mut program: Vec<libc::sock_filter> = numbers
        .chunks_exact(4)
        .map(|n| libc::sock_filter {
            code: n[0] as u16,
            jt: n[1] as u8,
            jf: n[2] as u8,
            k: n[3],
        })
        .collect();
    let attached = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const attached).cast(),
            std::mem::size_of_val(&attached) as libc::socklen_t,
        )
    };
    ensure!(result == 0, "filter: {}", std::io::Error::last_os_error());
    Ok(())
}

//! Namespaces of this machine in real time: an unmodified kernel, a clock that does not wait, and processors that other
//! programs use as well.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::socket::MsgFlags;

use super::base::{Backend, Departure, TimedSender};
use super::packet_socket::{self, PacketSocket};
use crate::constants::MIN_PAYLOAD_BYTES;
use crate::lab::{Capture, Lab, Machine};
use crate::machine;
use crate::machine::program::Rules;
use crate::time::{monotonic_ns, wait_until};

pub const NAME: &str = "host";

/// Prefix of the host names of runs; the run's name follows.
pub const NAME_PREFIX: &str = "netwarp-";

/// Time from the end of building to t0: servers get ready, and the kernel finishes sending packets of new interfaces.
const LEAD_NS: i64 = 2_000_000_000;

/// Size of the hash tables of network namespaces that are made in this one.
const HASH_TABLES: &str = "/proc/sys/net/ipv4/tcp_child_ehash_entries";
const HASH_ENTRIES: &str = "4096";

/// The agent is the first process of the run's own namespaces (`host/`).
pub struct Host;

/// Open captures, each with its file.
static CAPTURES: Mutex<Vec<PacketSocket>> = Mutex::new(Vec::new());

static PROGRAM_RULES: OnceLock<Rules> = OnceLock::new();

/// Sets the rules that confine the programs of this process's run.
pub fn confine_programs(rules: Rules) {
    let _ = PROGRAM_RULES.set(rules);
}

impl Backend for Host {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<()> {
        let name = nix::unistd::gethostname()?;
        ensure!(
            std::process::id() == 1 && name.to_string_lossy().starts_with(NAME_PREFIX),
            "`init host` is for the first process of namespaces that `netwarp run --engine host` makes"
        );
        Ok(())
    }

    /// Sysctls of the whole machine are others' as well. Of open files a process may have as many as it was given.
    fn configure(&self, settings: &Machine) -> Result<()> {
        ensure!(
            settings.sysctl.0.is_empty(),
            "the engine {NAME} does not set sysctls of the whole machine"
        );
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        machine::limit_open_files(settings.open_files.min(most))
    }

    /// Gives each node its own TCP hash tables, if the kernel can (tcp_set_hashinfo(), Linux 6.1): each sample looks at
    /// every bucket, and the host's own table has one for every few kilobytes of memory.
    fn boot(&self) -> Result<()> {
        if let Err(e) = std::fs::write(HASH_TABLES, HASH_ENTRIES) {
            eprintln!("netwarp: {HASH_TABLES}: {e}");
        }
        Ok(())
    }

    fn run_dir(&self) -> PathBuf {
        machine::RUN_DIR.into()
    }

    fn work_dir(&self) -> PathBuf {
        machine::WORK_DIR.into()
    }

    fn program_rules(&self) -> Option<&'static Rules> {
        PROGRAM_RULES.get()
    }

    fn origin_ns(&self, lab: &Lab) -> Result<i64> {
        Ok(monotonic_ns() + LEAD_NS - lab.t0_ns)
    }

    fn open_capture(&self, _id: usize, capture: &Capture, filter: &str) -> Result<()> {
        let socket = PacketSocket::open(capture, filter, &self.run_dir())?;
        packet_socket::lock(&CAPTURES).push(socket);
        Ok(())
    }

    fn start_recording(&self, lab: &Lab) -> Result<()> {
        self.start_captures(lab, lab.t0_ns)
    }

    fn missed_pkts(&self) -> u64 {
        let mut captures = packet_socket::lock(&CAPTURES);
        captures.iter_mut().map(PacketSocket::missed_pkts).sum()
    }

    fn stop_recording(&self) -> Result<()> {
        let mut captures = packet_socket::lock(&CAPTURES);
        captures.iter_mut().try_for_each(PacketSocket::stop)
    }

    fn timed_sender(&self, socket: OwnedFd, _t0_ns: i64) -> Result<Box<dyn TimedSender>> {
        Ok(Box::new(SleepingSender {
            socket,
            stamped_from_ns: 0,
        }))
    }
}

impl Host {
    /// Starts all captures; times of their packets count from `origin_ns`.
    pub(super) fn start_captures(&self, lab: &Lab, origin_ns: i64) -> Result<()> {
        ensure!(
            !lab.record.exact,
            "the engine {NAME} has no exact records, and this lab asks for them"
        );
        let mut captures = packet_socket::lock(&CAPTURES);
        captures.iter_mut().try_for_each(|c| c.start(origin_ns))
    }
}

/// Sleeps until each departure.
pub(super) struct SleepingSender {
    pub socket: OwnedFd,
    /// The instant from which timestamps in datagrams count.
    pub stamped_from_ns: i64,
}

impl TimedSender for SleepingSender {
    fn send(&mut self, first_sequence: u64, departures: &[Departure]) -> Result<usize> {
        let longest = departures.iter().map(|d| d.payload_bytes).max();
        let mut payload = vec![0_u8; longest.unwrap_or(0).max(MIN_PAYLOAD_BYTES) as usize];
        for (sequence, departure) in (first_sequence..).zip(departures) {
            wait_until(departure.at_ns);
            payload[..8].copy_from_slice(&sequence.to_ne_bytes());
            payload[8..16].copy_from_slice(&(monotonic_ns() - self.stamped_from_ns).to_ne_bytes());
            let bytes = &payload[..departure.payload_bytes as usize];
            self.send_one(bytes)
                .with_context(|| format!("datagram {sequence} could not be sent"))?;
        }
        Ok(departures.len())
    }
}

impl SleepingSender {
    /// Sends a datagram. An error that an earlier one caused is reported instead of sending this one, once. If there is
    /// no way to the receiver, or no room in this machine, the datagram is lost as one in the network is.
    fn send_one(&self, bytes: &[u8]) -> nix::Result<()> {
        let send =
            || nix::sys::socket::send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL);
        let of_earlier = [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENETUNREACH];
        let first = send();
        let last = match first {
            Err(e) if of_earlier.contains(&e) => send(),
            _ => first,
        };
        match last {
            Err(e) if e != Errno::ENOBUFS && !of_earlier.contains(&e) => Err(e),
            _ => Ok(()),
        }
    }
}

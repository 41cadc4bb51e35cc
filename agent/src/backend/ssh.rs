//! A machine for each node, over SSH: this machine is one node, its interfaces are the ends of links, and all machines
//! begin at an instant that netwarp has chosen by their clocks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use super::base::{Backend, TimedSender, Wiring};
use super::host::{Host, SleepingSender};
use crate::constants::CAPTURE_LEAD_NS;
use crate::lab::{Capture, Lab, Machine};
use crate::machine;
use crate::machine::program::Rules;
use crate::part::{Own, part_of};
use crate::time::{monotonic_ns, wait_until};

pub const NAME: &str = "ssh";

const NS_PER_MS: i64 = 1_000_000;
/// The longest single wait for an instant, in milliseconds.
const POLL_MS: i64 = 60_000;

static SESSION: OnceLock<Session> = OnceLock::new();

/// The session with netwarp (`node/`): its channel, this machine's node, and its interfaces.
struct Session {
    channel: File,
    node: String,
    own: BTreeMap<String, Own>,
}

/// A message of the run to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The node's part of the network is built.
    Built,
    /// The run has begun, this late by this machine's clock.
    Begun(i64),
    /// The run is over and everything is written, with this exit status.
    Ended(u8),
}

impl Signal {
    const LEN: usize = 9;

    fn bytes(self) -> [u8; Self::LEN] {
        let (kind, value) = match self {
            Self::Built => (b'B', 0),
            Self::Begun(late_ns) => (b'S', late_ns),
            Self::Ended(status) => (b'E', status.into()),
        };
        let mut bytes = [kind; Self::LEN];
        bytes[1..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    /// Reads the next signal from the other end of the session.
    pub fn read(from: &mut impl Read) -> std::io::Result<Self> {
        let mut bytes = [0; Self::LEN];
        from.read_exact(&mut bytes)?;
        let value = i64::from_ne_bytes(std::array::from_fn(|i| bytes[i + 1]));
        Ok(match bytes[0] {
            b'B' => Self::Built,
            b'E' => Self::Ended(value as u8),
            _ => Self::Begun(value),
        })
    }
}

/// Sent by the session instead of the run's starting instant: the run ends now.
pub const STOP: i64 = i64::MIN;

fn read_order(mut channel: &File) -> Result<i64> {
    let mut order = [0; 8];
    channel
        .read_exact(&mut order)
        .map_err(|_| anyhow!("the session with netwarp has ended"))?;
    Ok(i64::from_ne_bytes(order))
}

/// Connects the run in this process to its session.
pub fn connect(channel: OwnedFd, node: &str, own: &BTreeMap<String, Own>) {
    let _ = SESSION.set(Session {
        channel: channel.into(),
        node: node.to_string(),
        own: own.clone(),
    });
}

fn session() -> Result<&'static Session> {
    SESSION.get().context("no session with netwarp")
}

/// The agent is the first process of the run's own pid namespace, in the machine's own network namespace.
pub struct Ssh;

impl Backend for Ssh {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<()> {
        ensure!(
            std::process::id() == 1 && SESSION.get().is_some(),
            "only `netwarp run --engine ssh` starts `init ssh`, on a node"
        );
        Ok(())
    }

    fn configure(&self, settings: &Machine) -> Result<()> {
        Host.configure(settings)
    }

    fn run_dir(&self) -> PathBuf {
        machine::RUN_DIR.into()
    }

    fn work_dir(&self) -> PathBuf {
        machine::WORK_DIR.into()
    }

    fn program_rules(&self) -> Option<&'static Rules> {
        Host.program_rules()
    }

    /// Reports that the network is built, and waits until netwarp, which waits for all nodes, sends the starting
    /// instant.
    fn origin_ns(&self, lab: &Lab) -> Result<i64> {
        let mut channel = &session()?.channel;
        channel.write_all(&Signal::Built.bytes())?;
        let start_ns = read_order(channel)?;
        ensure!(start_ns != STOP, "it was stopped before it began");
        Ok(start_ns - lab.t0_ns)
    }

    fn begun(&self, due_ns: i64) -> Result<()> {
        let signal = Signal::Begun(monotonic_ns() - due_ns);
        Ok((&session()?.channel).write_all(&signal.bytes())?)
    }

    /// The session sends a stop if another node has failed, since the run has nothing more to measure.
    fn wait_until(&self, at_ns: i64) -> Result<bool> {
        let channel = &session()?.channel;
        // poll() takes whole milliseconds; a timer waits for the rest.
        while at_ns - monotonic_ns() >= NS_PER_MS {
            let left_ms = ((at_ns - monotonic_ns()) / NS_PER_MS).clamp(0, POLL_MS) as u16;
            let mut fds = [PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, left_ms) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return read_order(channel).map(|_| false),
                Err(e) => return Err(e.into()),
            }
        }
        wait_until(at_ns);
        Ok(true)
    }

    fn part(&self, lab: Lab) -> Result<Lab> {
        let session = session()?;
        part_of(lab, &session.node, &session.own)
    }

    fn wiring(&self) -> Wiring {
        Wiring::Cable
    }

    fn outlives_runs(&self) -> bool {
        true
    }

    fn open_capture(&self, id: usize, capture: &Capture, filter: &str) -> Result<()> {
        Host.open_capture(id, capture, filter)
    }

    /// By this machine's clock, which netwarp has yet to correct, packets of the run may come before t0.
    fn start_recording(&self, lab: &Lab) -> Result<()> {
        Host.start_captures(lab, lab.t0_ns - CAPTURE_LEAD_NS)
    }

    fn missed_pkts(&self) -> u64 {
        Host.missed_pkts()
    }

    fn stop_recording(&self) -> Result<()> {
        Host.stop_recording()
    }

    /// Timestamps in datagrams count from t0, since the receiver does not have the sender's clock.
    fn timed_sender(&self, socket: OwnedFd, t0_ns: i64) -> Result<Box<dyn TimedSender>> {
        Ok(Box::new(SleepingSender {
            socket,
            stamped_from_ns: t0_ns,
        }))
    }

    fn stamped_from_ns(&self, _t0_ns: i64) -> i64 {
        0
    }

    /// Stays until the session closes: another node's flow may end a little later than this node's, and would be reset.
    fn end(&self, outcome: ExitCode) -> ExitCode {
        if let Some(mut channel) = SESSION.get().map(|session| &session.channel) {
            let signal = Signal::Ended(u8::from(outcome != ExitCode::SUCCESS));
            let _ = channel.write_all(&signal.bytes());
            let _ = std::io::copy(&mut channel, &mut std::io::sink());
        }
        outcome
    }
}

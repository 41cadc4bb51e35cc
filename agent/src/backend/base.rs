//! What an engine does for a lab. The default methods are those of a kernel that knows nothing of netwarp, in real
//! time: a lab that asks for more is refused with the reason.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use crate::lab::{Capture, Lab, Machine, Module};
use crate::machine;
use crate::machine::program::Rules;
use crate::machine::programs::ProgramRoot;
use crate::time::{monotonic_ns, wait_until};

/// What takes time of what programs do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Costs<'a> {
    /// Quantiles of the time that a program takes to start, at equal steps from 0 to 1; empty: none.
    pub start_ns: &'a [u64],
    /// Of a system call.
    pub syscall_ns: u64,
    /// Whether computing takes what it takes on the host.
    pub compute: bool,
}

impl Costs<'_> {
    /// Only calls take time.
    pub fn of_calls(syscall_ns: u64) -> Self {
        Self {
            syscall_ns,
            ..Self::default()
        }
    }
}

/// An engine as the agent sees it.
pub trait Backend: Sync {
    /// The engine's, as in netwarp's own registry of engines.
    fn name(&self) -> &'static str;

    /// Refuses to begin in a place that is not this engine's.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Prepares the machine before anything of the run is read.
    fn boot(&self) -> Result<()> {
        Ok(())
    }

    /// Where the run's description is read and its tables are written.
    fn run_dir(&self) -> PathBuf {
        PathBuf::from(".")
    }

    /// Where programs of a lab start and keep temporary files.
    fn work_dir(&self) -> PathBuf {
        std::env::temp_dir()
    }

    /// A root of their own for the programs of flows, with a directory for each of `names`. Only a machine that is the
    /// lab's alone has one.
    fn program_root(&self, _names: &[String]) -> Result<Option<ProgramRoot>> {
        Ok(None)
    }

    /// What the programs of a scenario are confined by, where these are processes of a machine that is others' as well.
    fn program_rules(&self) -> Option<&'static Rules> {
        None
    }

    /// Applies the settings of the whole machine. Only a machine that is the lab's alone may have sysctls set.
    fn configure(&self, settings: &Machine) -> Result<()> {
        let names: Vec<&str> = settings.sysctl.0.iter().map(|(n, _)| n.as_str()).collect();
        ensure!(
            names.is_empty(),
            "the engine {} does not set sysctls of the whole machine, which others use as well: {}",
            self.name(),
            names.join(", ")
        );
        machine::limit_open_files(settings.open_files)
    }

    /// Loads kernel modules of the scenario's own. Only a kernel that is the lab's alone takes them.
    fn load_modules(&self, modules: &[Module]) -> Result<()> {
        let names: Vec<&str> = modules.iter().map(|m| m.name.as_str()).collect();
        ensure!(
            names.is_empty(),
            "the engine {} loads no kernel modules, as its kernel is the machine's: {}",
            self.name(),
            names.join(", ")
        );
        Ok(())
    }

    /// What of a lab is this machine's.
    fn part(&self, lab: Lab) -> Result<Lab> {
        Ok(lab)
    }

    /// The instant of CLOCK_MONOTONIC from which the lab's `t0_ns` counts, asked once the network is built.
    fn origin_ns(&self, _lab: &Lab) -> Result<i64> {
        Ok(monotonic_ns())
    }

    /// The run has begun: what was due first, at this instant, is done now.
    fn begun(&self, _due_ns: i64) -> Result<()> {
        Ok(())
    }

    /// Waits for an instant of CLOCK_MONOTONIC while a run lasts; false if the run is to end before it.
    fn wait_until(&self, at_ns: i64) -> Result<bool> {
        wait_until(at_ns);
        Ok(true)
    }

    /// How the two ends of a link are joined.
    fn wiring(&self) -> Wiring {
        Wiring::Bridge
    }

    /// Whether a run may be disturbed by what else the machine does, and is to be watched for that.
    fn is_disturbed(&self) -> bool {
        true
    }

    /// Whether the network stack of the nodes is there before and after a run, with the ports that the next one needs.
    fn outlives_runs(&self) -> bool {
        false
    }

    /// Lets the kernel do what it has put off, between steps of building a network.
    fn rest(&self) {}

    /// Gives what this thread starts next a stream of random numbers by this name, whatever else runs in the lab.
    fn name_randomness(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// What `start` starts, and all that this starts, takes time.
    fn taking_time(
        &self,
        costs: &Costs,
        start: &mut dyn FnMut() -> Result<Child>,
    ) -> Result<Child> {
        ensure!(
            *costs == Costs::default(),
            "the engine {} cannot say what programs take: its time is real",
            self.name()
        );
        start()
    }

    /// CLOCK_REALTIME of each network namespace but the first is ahead, by a draw from these quantiles.
    fn set_clocks_off(&self, off_ns: &[i64]) -> Result<()> {
        ensure!(
            off_ns.is_empty(),
            "the engine {} has the machine's own clocks",
            self.name()
        );
        Ok(())
    }

    /// How often a program has limited the time that others get on the processor, where computing takes none.
    fn quotas(&self) -> Result<u64> {
        Ok(0)
    }

    /// Sockets that are made by what this thread starts next are this flow's, wherever it starts more; `None`: nobody's.
    fn own_sockets(&self, _flow: Option<u32>) -> Result<()> {
        Ok(())
    }

    /// Opens a capture in the network namespace of this thread; `filter` is classic BPF in numbers, empty for none.
    /// Packets come once recording is on.
    fn open_capture(&self, _id: usize, _capture: &Capture, _filter: &str) -> Result<()> {
        bail!("the engine {} takes no captures", self.name())
    }

    /// Starts exact records, if the lab asks for them, and the captures that are open.
    fn start_recording(&self, lab: &Lab) -> Result<()> {
        ensure!(
            !lab.record.exact,
            "the engine {} has no exact records; set `exact = false` in the scenario's `record`",
            self.name()
        );
        Ok(())
    }

    /// Sets this rate on links that have no other.
    fn limit_links(&self, _rate_bps: u64) -> Result<()> {
        bail!("the engine {} has no rate for all links", self.name())
    }

    /// Packets that captures have missed so far.
    fn missed_pkts(&self) -> u64 {
        0
    }

    /// Ends what `start_recording` started, and hands over the last records.
    fn stop_recording(&self) -> Result<()> {
        Ok(())
    }

    /// Where a command of the user's own prints: its output, and its errors.
    fn open_output(&self) -> Result<(File, File)> {
        bail!(
            "the engine {} runs no commands of the user's own",
            self.name()
        )
    }

    /// What sends the datagrams of this UDP socket at the instants that are planned for them, in a run that starts at
    /// `t0_ns`.
    fn timed_sender(&self, socket: OwnedFd, t0_ns: i64) -> Result<Box<dyn TimedSender>>;

    /// What is taken from the instants that senders write into their datagrams, for times from t0.
    fn stamped_from_ns(&self, t0_ns: i64) -> i64 {
        t0_ns
    }

    /// How much virtual time has passed because programs waited by asking, of each program.
    fn charged(&self) -> Vec<Charge> {
        Vec::new()
    }

    /// Ends the machine, or just this program where the machine is others' as well.
    fn end(&self, outcome: ExitCode) -> ExitCode {
        outcome
    }
}

/// What a program was charged of virtual time, for readings of the clock, for asking again, for other
/// calls, and in loops of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Charge {
    pub program: String,
    pub readings_ns: u64,
    pub polls_ns: u64,
    pub calls_ns: u64,
    pub kernel_ns: u64,
}

/// How the namespace of the wires carries packets from one end of a link to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// Redirected at once, and through a netem in any case.
    Redirect,
    /// By a bridge of two ports, and through a netem where the wire does something to packets.
    Bridge,
    /// It is a cable between machines. What the scenario has it do to packets is done where they arrive.
    Cable,
}

/// Sends datagrams at planned instants.
pub trait TimedSender: Send {
    /// Sends each datagram at its instant. Its payload begins with its sequence number, from `first_sequence` on, and
    /// the instant of its sending. Returns how many were sent: fewer than given only where one could not be sent.
    fn send(&mut self, first_sequence: u64, departures: &[Departure]) -> Result<usize>;
}

/// When a datagram leaves, on CLOCK_MONOTONIC, and its size.
#[derive(Debug, Clone, Copy)]
pub struct Departure {
    pub at_ns: i64,
    pub payload_bytes: u32,
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;
    use crate::lab::Settings;

    /// An engine with nothing of its own.
    struct Plain;

    impl Backend for Plain {
        fn name(&self) -> &'static str {
            "plain"
        }
        fn timed_sender(&self, _socket: OwnedFd, _t0_ns: i64) -> Result<Box<dyn TimedSender>> {
            bail!("the engine plain sends nothing")
        }
    }

    fn lab() -> Result<Lab> {
        Ok(serde_json::from_str(include_str!(
            "../../testdata/lab.json"
        ))?)
    }

    fn message(result: Result<()>) -> String {
        result.err().map(|e| format!("{e:#}")).unwrap_or_default()
    }

    #[test]
    fn what_an_engine_cannot_do_is_refused_by_name() -> Result<()> {
        let mut lab = lab()?;
        lab.record.exact = true;
        assert_eq!(
            message(Plain.start_recording(&lab)),
            "the engine plain has no exact records; set `exact = false` in the scenario's `record`"
        );
        let capture = lab.record.captures.first().context("a capture")?;
        assert_eq!(
            message(Plain.open_capture(0, capture, "")),
            "the engine plain takes no captures"
        );
        let shared = Machine {
            sysctl: Settings(vec![("kernel.threads-max".into(), "1".into())]),
            open_files: 64,
        };
        assert!(message(Plain.configure(&shared)).ends_with("as well: kernel.threads-max"));
        Ok(())
    }

    #[test]
    fn what_every_engine_can_do_needs_nothing_of_its_own() -> Result<()> {
        let mut lab = lab()?;
        lab.record.exact = false;
        Plain.start_recording(&lab)?;
        Plain.stop_recording()?;
        Plain.name_randomness("client")?;
        assert!(Plain.origin_ns(&lab)? > 0);
        assert_eq!(Plain.end(ExitCode::from(3)), ExitCode::from(3));
        Ok(())
    }
}

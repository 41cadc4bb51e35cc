//! The interface of an engine to a lab. The default methods fit an unmodified kernel in real time: they refuse a lab
//! that asks for more, with the reason.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::pump::Pumps;
use crate::lab::{Capture, Condition, Lab, Machine, Module};
use crate::machine;
use crate::machine::program::Rules;
use crate::machine::programs::ProgramRoot;
use crate::time::{monotonic_ns, wait_until};

/// Virtual time that a program's activities take.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Costs<'a> {
    /// Quantiles of the time that a program takes to start, at equal steps from 0 to 1; empty: none.
    pub start_ns: &'a [u64],
    /// Duration of a system call.
    pub syscall_ns: u64,
    /// Whether computing takes the time that it takes on the host.
    pub compute: bool,
}

impl Costs<'_> {
    /// Costs where only system calls take time.
    pub fn of_calls(syscall_ns: u64) -> Self {
        Self {
            syscall_ns,
            ..Self::default()
        }
    }
}

/// An engine as the agent sees it.
pub trait Backend: Sync {
    /// The engine's name in netwarp's registry of engines.
    fn name(&self) -> &'static str;

    /// Returns an error if this process is not where this engine starts its agent.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Prepares the machine before the run's description is read.
    fn boot(&self) -> Result<()> {
        Ok(())
    }

    /// Directory with the run's description, into which its tables are written.
    fn run_dir(&self) -> PathBuf {
        PathBuf::from(".")
    }

    /// Directory where programs of a lab start and keep temporary files.
    fn work_dir(&self) -> PathBuf {
        std::env::temp_dir()
    }

    /// Makes a root for the programs of flows, with a directory for each of `names`; None unless the machine belongs to
    /// this lab alone.
    fn program_root(&self, _names: &[String]) -> Result<Option<ProgramRoot>> {
        Ok(None)
    }

    /// Rules that confine a scenario's programs, if these are processes of a shared machine.
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

    /// Loads the scenario's kernel modules, which only a kernel that belongs to this lab alone does.
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

    /// Reduces a lab to this machine's part.
    fn part(&self, lab: Lab) -> Result<Lab> {
        Ok(lab)
    }

    /// The instant of CLOCK_MONOTONIC from which the lab's `t0_ns` counts; called once the network is built.
    fn origin_ns(&self, _lab: &Lab) -> Result<i64> {
        Ok(monotonic_ns())
    }

    /// Called at the run's beginning, after the actions that were due at this instant.
    fn begun(&self, _due_ns: i64) -> Result<()> {
        Ok(())
    }

    /// Waits for an instant of CLOCK_MONOTONIC while a run lasts; false if the run must end before it.
    fn wait_until(&self, at_ns: i64) -> Result<bool> {
        wait_until(at_ns);
        Ok(true)
    }

    /// A file that becomes readable at the first ACK from now on after which a condition holds, and then contains its
    /// time. Only netwarp's own kernel looks at each ACK.
    fn probe(&self, _condition: &Condition) -> Result<File> {
        bail!("the engine {} does not see each ACK", self.name())
    }

    /// How the two ends of a link are connected.
    fn wiring(&self) -> Wiring {
        Wiring::Bridge
    }

    /// Whether other activity on the machine may disturb a run, so that it must be watched.
    fn is_disturbed(&self) -> bool {
        true
    }

    /// Whether the nodes' network stack exists before and after a run and holds ports that the next run needs.
    fn outlives_runs(&self) -> bool {
        false
    }

    /// Lets the kernel finish deferred work, between steps of building a network.
    fn rest(&self) {}

    /// Gives the next program that this thread starts the stream of random numbers of this name, which does not depend
    /// on the rest of the lab.
    fn name_randomness(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// Calls `start`; the programs that it starts, and their children, take time.
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

    /// Moves CLOCK_REALTIME of each network namespace but the first ahead, by a draw from these quantiles.
    fn set_clocks_off(&self, off_ns: &[i64]) -> Result<()> {
        ensure!(
            off_ns.is_empty(),
            "the engine {} has the machine's own clocks",
            self.name()
        );
        Ok(())
    }

    /// Number of times that a program limited the processor time of others, in a machine where computing takes no time.
    fn quotas(&self) -> Result<u64> {
        Ok(0)
    }

    /// Assigns the sockets of the next program that this thread starts, and of its children, to this flow; `None`: to
    /// no flow.
    fn own_sockets(&self, _flow: Option<u32>) -> Result<()> {
        Ok(())
    }

    /// Opens a capture in the network namespace of this thread; `filter` is classic BPF in numbers, or empty. Packets
    /// are captured once recording is on.
    fn open_capture(&self, _id: usize, _capture: &Capture, _filter: &str) -> Result<()> {
        bail!("the engine {} takes no captures", self.name())
    }

    /// Starts exact records, if the lab asks for them, and the open captures.
    fn start_recording(&self, lab: &Lab) -> Result<()> {
        ensure!(
            !lab.record.exact,
            "the engine {} has no exact records; set `exact = false` in the scenario's `record`",
            self.name()
        );
        Ok(())
    }

    /// Sets this rate on all links that have no rate.
    fn limit_links(&self, _rate_bps: u64) -> Result<()> {
        bail!("the engine {} has no rate for all links", self.name())
    }

    /// Number of packets that captures have missed so far.
    fn missed_pkts(&self) -> u64 {
        0
    }

    /// Ends what `start_recording` started, and writes the last records.
    fn stop_recording(&self) -> Result<()> {
        Ok(())
    }

    /// Opens the standard output and standard error of a user's command.
    fn open_output(&self) -> Result<(File, File)> {
        bail!(
            "the engine {} does not run the user's commands",
            self.name()
        )
    }

    /// Connections whose ends are in the kernel; None if it has none.
    fn pumps(&self) -> Result<Option<Pumps>> {
        Ok(None)
    }

    /// A sender of this UDP socket's datagrams at their planned instants, in a run that starts at `t0_ns`.
    fn timed_sender(&self, socket: OwnedFd, t0_ns: i64) -> Result<Box<dyn TimedSender>>;

    /// The instant that is subtracted from the timestamps in datagrams, so that they count from t0.
    fn stamped_from_ns(&self, t0_ns: i64) -> i64 {
        t0_ns
    }

    /// Virtual time that has passed because programs waited by polling, by program.
    fn charged(&self) -> Vec<Charge> {
        Vec::new()
    }

    /// Ends the machine, or this program only if other programs use the machine.
    fn end(&self, outcome: ExitCode) -> ExitCode {
        outcome
    }
}

/// Virtual time that a program was charged for: reading the clock, asking again, other calls, and loops in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Charge {
    pub program: String,
    pub readings_ns: u64,
    pub polls_ns: u64,
    pub calls_ns: u64,
    pub kernel_ns: u64,
}

/// How packets get from one end of a link to the other in the namespace of the wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// Redirected at once, always through a netem.
    Redirect,
    /// By a bridge of two ports, through a netem only if the wire affects packets.
    Bridge,
    /// Over a cable between machines. The receiving machine applies the wire's effects.
    Cable,
}

/// Sends datagrams at planned instants.
pub trait TimedSender: Send {
    /// Sends each datagram at its instant. Its payload begins with its sequence number, counted from `first_sequence`,
    /// and its departure time. Returns the number of datagrams sent: fewer than given, but not none, if a later one could
    /// not be sent, which is an error when it is the first.
    fn send(&mut self, first_sequence: u64, departures: &[Departure]) -> Result<usize>;
}

/// A datagram's departure on CLOCK_MONOTONIC, and its size.
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

    /// An engine that implements only the methods without a default.
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

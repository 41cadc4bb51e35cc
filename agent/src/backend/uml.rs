//! User Mode Linux in virtual time, with netwarp's own kernel. The kernel does records, captures, timed sends and
//! streams of random numbers (`kernels/tree/files/arch/um/kernel/netwarp*.c`, `linux/netwarp.h`), because a program's
//! system call costs more than a packet does, and a program that wakes up can change what is measured.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ExitCode};

use anyhow::{Context, Result, ensure};

use super::base::{Backend, Charge, Costs, Departure, TimedSender, Wiring};
use super::pump::Pumps;
use crate::lab::{Capture, Condition, Lab, Machine, Module, Recorded};
use crate::machine::programs::ProgramRoot;
use crate::time::{monotonic_ns, sleep_until};
use crate::{machine, sysctl};

pub const NAME: &str = "uml";

const RECORDER: &str = "/proc/netwarp";
const CAPTURES: &str = "/proc/netwarp_capture";
const RANDOMNESS: &str = "/proc/netwarp_chance";
const COSTS: &str = "/proc/netwarp_costs";
const SENDER: &str = "/proc/netwarp_send";
const PROBE: &str = "/proc/netwarp_probe";
const STDOUT: &str = "/proc/netwarp_stdout";
const STDERR: &str = "/proc/netwarp_stderr";
const CHARGED: &str = "/proc/netwarp_charged";
const PART: &str = "/proc/netwarp_part";
/// Directory of the modules that the engine has compiled, in the run directory.
const MODULES: &str = "modules";

/// Much shorter than any timer of a lab's network.
const REST_NS: i64 = 1_000;

/// No program of the user starts earlier: computing takes no time, so a small lab is built within the first instant,
/// and programs take a clock at 0 for a broken one (Go's "nanotime returning zero").
const PROGRAMS_NS: i64 = 1_000_000_000;

/// The agent is the first program of the guest, which belongs to this run alone.
pub struct Uml;

impl Backend for Uml {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<()> {
        machine::ensure_guest()
    }

    fn boot(&self) -> Result<()> {
        machine::boot()
    }

    fn run_dir(&self) -> PathBuf {
        machine::RUN_DIR.into()
    }

    fn work_dir(&self) -> PathBuf {
        machine::WORK_DIR.into()
    }

    fn program_root(&self, names: &[String]) -> Result<Option<ProgramRoot>> {
        // The nodes, and the namespace of the wires between them.
        let mut nodes = Vec::new();
        for entry in std::fs::read_dir(machine::NETNS_DIR)? {
            nodes.extend(entry?.file_name().into_string());
        }
        nodes.sort();
        sleep_until(PROGRAMS_NS);
        ProgramRoot::make(names, nodes).map(Some)
    }

    /// The lab has what this machine runs of its part already. A kernel of an older netwarp is joined to no other.
    fn part(&self, lab: Lab) -> Result<Lab> {
        if let Some(parts) = &lab.parts {
            let said = std::fs::read_to_string(PART).unwrap_or_default();
            let wanted = format!("{} {}", parts.own, parts.count);
            ensure!(
                said.trim() == wanted,
                "this kernel cannot run a part of a network ({PART}); `netwarp kernel build` builds it again"
            );
        }
        Ok(lab)
    }

    fn configure(&self, settings: &Machine) -> Result<()> {
        machine::limit_open_files(settings.open_files)?;
        sysctl::write(&settings.sysctl)
    }

    fn probe(&self, condition: &Condition) -> Result<File> {
        let mut file = OpenOptions::new().read(true).write(true).open(PROBE)?;
        let Condition {
            source_port,
            destination_port,
            variable,
            relation,
            value,
            ..
        } = condition;
        let line = format!("{source_port} {destination_port} {variable} {relation} {value}");
        file.write_all(line.as_bytes())
            .with_context(|| format!("{PROBE}: {line}"))?;
        Ok(file)
    }

    fn load_modules(&self, modules: &[Module]) -> Result<()> {
        if modules.is_empty() {
            return Ok(());
        }
        machine::modules::load(&self.run_dir().join(MODULES))
    }

    /// The guest's clock begins with its boot.
    fn origin_ns(&self, _lab: &Lab) -> Result<i64> {
        Ok(0)
    }

    fn wiring(&self) -> Wiring {
        Wiring::Redirect
    }

    fn is_disturbed(&self) -> bool {
        false
    }

    /// Lets the kernel do deferred work, such as making room for per-CPU counters (pcpu_balance_workfn()). Without
    /// pauses the program would also be charged for its system calls (netwarp_time.c), and tc makes thousands.
    fn rest(&self) {
        sleep_until(monotonic_ns() + REST_NS);
    }

    fn name_randomness(&self, name: &str) -> Result<()> {
        std::fs::write(RANDOMNESS, name)
            .with_context(|| format!("this kernel has no streams of random numbers ({RANDOMNESS})"))
    }

    fn taking_time(
        &self,
        costs: &Costs,
        start: &mut dyn FnMut() -> Result<Child>,
    ) -> Result<Child> {
        if *costs == Costs::default() {
            return start();
        }
        say_costs(costs)?;
        let started = start();
        // The costs apply to this thread and all that it starts.
        say_costs(&Costs::default())?;
        started
    }

    fn set_clocks_off(&self, off_ns: &[i64]) -> Result<()> {
        if off_ns.is_empty() {
            return Ok(());
        }
        let quantiles: Vec<String> = off_ns.iter().map(i64::to_string).collect();
        std::fs::write(COSTS, format!("clock {}", quantiles.join(" ")))
            .with_context(|| format!("this kernel cannot set clocks off ({COSTS})"))
    }

    fn quotas(&self) -> Result<u64> {
        let text = std::fs::read_to_string(COSTS).context(COSTS)?;
        let mut words = text.split_whitespace().skip_while(|&word| word != "quotas");
        words
            .nth(1)
            .and_then(|count| count.parse().ok())
            .with_context(|| format!("{COSTS} has no count of quotas"))
    }

    fn own_sockets(&self, flow: Option<u32>) -> Result<()> {
        control_recorder(&format!("owner {}\n", flow.map_or(0, |id| id + 1)))
    }

    fn open_capture(&self, id: usize, capture: &Capture, filter: &str) -> Result<()> {
        let line = format!("{id} {} {} {filter}", capture.index, capture.snap);
        Ok(std::fs::write(CAPTURES, line)?)
    }

    /// Records every root queue of every node's interface, every ACK and every arrival; in a command's network, whose
    /// interfaces are not known yet, every interface that appears.
    fn start_recording(&self, lab: &Lab) -> Result<()> {
        let mut text = String::new();
        if lab.record.exact {
            text += "acks\narrivals\n";
            for end in lab.recorded_ends() {
                text += &format!("interface {}\n", end.index);
            }
            text += match lab.exec.as_ref().map(|exec| exec.record) {
                Some(Recorded::Packets) if lab.nodes.is_empty() => "everything\n",
                Some(Recorded::Acks) if lab.nodes.is_empty() => "network\n",
                _ => "",
            };
        }
        control_recorder(&(text + "start\n"))
    }

    fn limit_links(&self, rate_bps: u64) -> Result<()> {
        control_recorder(&format!("rate {rate_bps}\n"))
    }

    fn stop_recording(&self) -> Result<()> {
        control_recorder("stop\n")
    }

    /// Both streams are written in their order, whatever the host does.
    fn open_output(&self) -> Result<(File, File)> {
        let open = |path| {
            OpenOptions::new()
                .write(true)
                .open(path)
                .with_context(|| format!("this kernel has no output for commands ({path})"))
        };
        Ok((open(STDOUT)?, open(STDERR)?))
    }

    fn timed_sender(&self, socket: OwnedFd, _t0_ns: i64) -> Result<Box<dyn TimedSender>> {
        let control = OpenOptions::new()
            .write(true)
            .open(SENDER)
            .context(SENDER)?;
        Ok(Box::new(KernelSender { control, socket }))
    }

    /// The kernel of an older netwarp has none.
    fn pumps(&self) -> Result<Option<Pumps>> {
        Pumps::open()
    }

    fn charged(&self) -> Vec<Charge> {
        // The kernel of an older netwarp does not report it.
        let text = std::fs::read_to_string(CHARGED).unwrap_or_default();
        text.lines().filter_map(charge).collect()
    }

    /// The machine ends with pid 1.
    fn end(&self, _outcome: ExitCode) -> ExitCode {
        machine::power_off()
    }
}

fn say_costs(costs: &Costs) -> Result<()> {
    let quantiles: Vec<String> = costs.start_ns.iter().map(u64::to_string).collect();
    let lines = [
        format!("start {}", quantiles.join(" ")),
        format!("call {}", costs.syscall_ns),
        format!("compute {}", u8::from(costs.compute)),
    ];
    lines.iter().try_for_each(|line| {
        std::fs::write(COSTS, line)
            .with_context(|| format!("this kernel cannot make programs take time ({COSTS})"))
    })
}

/// Parses a line of the kernel (netwarp_charge.c): four numbers and a name, which may have spaces or be empty.
fn charge(line: &str) -> Option<Charge> {
    let mut words = line.splitn(5, ' ');
    let mut number = || words.next()?.parse().ok();
    let (readings_ns, polls_ns, calls_ns, kernel_ns) = (number()?, number()?, number()?, number()?);
    Some(Charge {
        program: words.next()?.into(),
        readings_ns,
        polls_ns,
        calls_ns,
        kernel_ns,
    })
}

fn control_recorder(text: &str) -> Result<()> {
    std::fs::write(RECORDER, text)
        .with_context(|| format!("this kernel has no exact recorder ({RECORDER})"))
}

/// Hands a batch of departures to the kernel with one system call.
struct KernelSender {
    control: File,
    socket: OwnedFd,
}

/// Sizes of struct netwarp_batch, and of each struct netwarp_departure in it.
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;

impl TimedSender for KernelSender {
    fn send(&mut self, first_sequence: u64, departures: &[Departure]) -> Result<usize> {
        let mut request = Vec::with_capacity(HEADER_BYTES + departures.len() * ENTRY_BYTES);
        request.extend_from_slice(&(self.socket.as_raw_fd() as u32).to_ne_bytes());
        request.extend_from_slice(&(departures.len() as u32).to_ne_bytes());
        request.extend_from_slice(&first_sequence.to_ne_bytes());
        for departure in departures {
            request.extend_from_slice(&departure.at_ns.to_ne_bytes());
            request.extend_from_slice(&u64::from(departure.payload_bytes).to_ne_bytes());
        }
        let written = self
            .control
            .write(&request)
            .with_context(|| format!("datagram {first_sequence} could not be sent"))?;
        Ok(written.saturating_sub(HEADER_BYTES) / ENTRY_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_spaces() {
        let found = charge("1 7 20 300 a b  c").map(|c| {
            (
                c.program,
                c.readings_ns,
                c.polls_ns,
                c.calls_ns,
                c.kernel_ns,
            )
        });
        assert_eq!(found, Some(("a b  c".into(), 1, 7, 20, 300)));
        assert_eq!(charge("1 0 0 0 ").map(|c| c.program), Some(String::new()));
        assert_eq!(charge("1 x 0 0 a"), None);
    }
}

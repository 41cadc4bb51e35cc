//! The guard: a process on the host for each run. It starts the virtual machine pinned to a CPU, writes its console,
//! turns its stream of records into Arrow tables, ends it when its time is over, and makes sure that nothing outlives
//! netwarp. When standard input closes, because netwarp ended or was killed, the guard kills the machine. When the
//! guard itself is killed, the host's kernel kills the machine (PR_SET_PDEATHSIG: the guard has one thread), and the
//! keeper kills what the machine has started.

mod acks;
mod arrivals;
mod captures;
mod confinement;
mod console;
mod counts;
mod drops;
mod events;
mod keeper;
mod keyboard;
mod layout;
mod machine;
mod network;
mod notices;
mod options;
mod output;
mod packets;
mod record;
mod sinks;
mod states;
mod surroundings;
mod tuples;
mod watchdog;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::resource::UsageWho;
use serde::Serialize;

pub use confinement::{
    Confinement, calls_of_programs, confine_build, landlock_version, rules_of_programs,
};
use confinement::{Level, Places, confine_guard};
use console::Running;
use events::Recorder;
use machine::Machine;
pub use options::Options;
use output::Output;
use sinks::Sinks;
pub use surroundings::hear_of_children;
use watchdog::{OwnTime, Watchdog};

use crate::end::End;

/// Share of the time limit that a program may compute without a system call; the minimum follows.
const COMPUTING_PART: f64 = 0.1;
const COMPUTING_TIME: Duration = Duration::from_secs(5);
/// Time that the machine has to answer which program runs.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Time between two questions to a kernel that may be stuck.
const STUCK_TIME: Duration = Duration::from_secs(1);

/// How the machine ended, as JSON on standard output.
#[derive(Serialize)]
struct Report {
    end: End,
    /// The program that ran when the machine exceeded its time, as its kernel says
    running: Option<Running>,
    /// Time that a program may compute without a system call, in seconds of CPU time
    computing_s: f64,
    exit_status: Option<i32>,
    error: Option<String>,
    /// Whether the host caused it: a full disk, a failing file system
    by_host: bool,
    /// Streams of the command that were cut
    cut: Vec<&'static str>,
    /// The confinement of the machine
    confinement: Level,
    /// The time that the limit applies to
    own_s: f64,
    real_s: f64,
    /// CPU time of the machine, and of this process, which makes tables of its records
    cpu_s: f64,
    guard_cpu_s: f64,
    events: u64,
}

/// Prints the confinement that this host can enforce, as JSON.
pub fn confinement() -> ExitCode {
    let text = serde_json::to_string(&Level::here()).unwrap_or_default();
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs the machine; with exit code 0, standard output has the report of the run.
pub fn main(options: &Options) -> ExitCode {
    match guard(options) {
        Ok(report) => {
            let text = serde_json::to_string(&report).unwrap_or_default();
            let written = writeln!(std::io::stdout(), "{text}");
            if written.is_ok() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}

fn guard(options: &Options) -> Result<Report> {
    let begin = Instant::now();
    hear_of_children();
    surroundings::raise_limits();
    let level = Level::here();
    let places = Places {
        kernel: &options.kernel,
        run_dir: &options.dir,
        memory_dir: &options.memory_dir,
        read: &options.read,
    };
    confine_guard(&places)?;
    // This precedes the machine's start: afterwards, files in the run directory may be the machine's.
    let mut sinks = Sinks::create(options)?;
    let mut machine = Machine::start(options, Confinement::new(&places, level)?)?;
    let limit = Duration::from_secs_f64(options.time_limit.clamp(0.0, 1e9));
    let mut own_time = OwnTime::new(machine.pid(), limit);
    let computing = limit.mul_f64(COMPUTING_PART).max(COMPUTING_TIME);
    let mut watchdog = Watchdog::new(machine.pid(), computing);
    let mut error = None;
    let mut by_host = false;
    let mut running = None;
    let end = loop {
        match sinks.watch(&mut machine) {
            Ok(Some(end)) => break end,
            Ok(None) => {}
            Err(e) => {
                by_host = is_of_host(&e);
                error = Some(format!("{e:#}"));
                break End::RecordError;
            }
        }
        if own_time.taken() >= limit {
            break End::TimeLimit;
        }
        if !watchdog.is_due() {
            continue;
        }
        if watchdog.sees_endless() {
            break End::Computing;
        }
        let events = sinks.recorder.as_ref().map_or(0, Recorder::events);
        if watchdog.sees_busy_kernel(events) && stands_still(&mut machine, &mut sinks) {
            break End::Stuck;
        }
    };
    if matches!(end, End::TimeLimit | End::Computing) {
        running = ask(&mut machine, &mut sinks);
    }
    let events = sinks.recorder.as_ref().map_or(0, Recorder::events);
    let usage = machine.end(end != End::Ended)?;
    if let Some(recorder) = sinks.recorder
        && let Err(e) = recorder.finish()
        && error.is_none()
    {
        by_host = is_of_host(&e);
        error = Some(format!("{e:#}"));
    }
    Ok(Report {
        end,
        running,
        computing_s: computing.as_secs_f64(),
        exit_status: usage.exit_status,
        error,
        by_host,
        cut: sinks.output.as_ref().map_or_else(Vec::new, Output::cut),
        confinement: level,
        own_s: own_time.taken().as_secs_f64(),
        real_s: begin.elapsed().as_secs_f64(),
        cpu_s: usage.cpu_s,
        guard_cpu_s: machine::computed(UsageWho::RUSAGE_SELF)?.as_secs_f64(),
        events,
    })
}

/// Whether the host has no room for the data to be written, or cannot write it.
fn is_of_host(error: &anyhow::Error) -> bool {
    const OF_HOST: [i32; 7] = [
        libc::ENOSPC,
        libc::EDQUOT,
        libc::EFBIG,
        libc::EIO,
        libc::EROFS,
        libc::ENOMEM,
        libc::ESTALE,
    ];
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error())
        .any(|number| OF_HOST.contains(&number))
}

/// Asks the machine, which is about to be ended, which program runs.
fn ask(machine: &mut Machine, sinks: &mut Sinks) -> Option<Running> {
    machine.ask();
    let begin = Instant::now();
    while begin.elapsed() < ANSWER_TIME {
        // Records are still read, since the kernel may be waiting for room to write them.
        let ended = sinks.watch(machine);
        let answer = sinks.console.answer();
        if answer.is_some() || !matches!(ended, Ok(None)) {
            return answer;
        }
    }
    None
}

/// Asks the machine's kernel twice where it is, and returns whether virtual time is the same. If so, the kernel itself
/// is computing without end.
fn stands_still(machine: &mut Machine, sinks: &mut Sinks) -> bool {
    // The first question is for a program; the kernel answers about itself only if no program has run since.
    let mut times = Vec::new();
    for _ in 0..3 {
        let before = sinks.console.written;
        machine.ask();
        let begin = Instant::now();
        while begin.elapsed() < STUCK_TIME {
            if !matches!(sinks.watch(machine), Ok(None)) {
                return false;
            }
        }
        if sinks.console.written > before {
            times.push(sinks.console.stuck_at());
        }
    }
    matches!(times[..], [Some(first), Some(second)] if first == second)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_full_disk_is_of_the_host_and_a_bad_stream_is_not() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let written = Err::<(), _>(full).context("cannot write packets.arrows");
        assert!(written.is_err_and(|e| is_of_host(&e)));
        assert!(!is_of_host(&anyhow::anyhow!("a record of no known kind")));
    }
}

//! The guard: a process on the host for each run. It starts the virtual machine pinned to a CPU, writes its console,
//! turns its stream of records into Arrow tables, ends it when its time is over, and makes sure that nothing outlives
//! netwarp. When standard input closes, because netwarp ended or was killed, the guard kills the machine. When the
//! guard itself is killed, the host's kernel kills the machine (PR_SET_PDEATHSIG: the guard has one thread), and the
//! keeper kills what the machine has started.

mod acks;
mod arrivals;
mod captures;
mod confinement;
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
mod states;
mod surroundings;
mod tuples;
mod watchdog;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, poll};
use serde::Serialize;

pub use confinement::{
    Confinement, calls_of_programs, confine_build, landlock_version, rules_of_programs,
};
use confinement::{Level, Places, confine_guard};
use events::Recorder;
use keyboard::Keyboard;
use machine::Machine;
pub use options::Options;
use output::{Output, Taken, take_over};
pub use surroundings::hear_of_children;
use watchdog::{OwnTime, Watchdog};

use crate::end::End;

/// More console than this is cut: a program that floods it must not fill the disk.
const CONSOLE_LIMIT: u64 = 16 << 20;
/// Length of the console's end that is searched for an answer.
const RECENT_BYTES: usize = 8 << 10;
/// Share of the time limit that a program may compute without a system call; the minimum follows.
const COMPUTING_PART: f64 = 0.1;
const COMPUTING_TIME: Duration = Duration::from_secs(5);
/// Time that the machine has to answer which program runs.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Time between two questions to a kernel that may be stuck.
const STUCK_TIME: Duration = Duration::from_secs(1);
/// Interval of checking the time while nothing happens, in milliseconds.
const MOMENT: u16 = 200;
/// Prefix of the kernel's answer.
const ANSWER: &str = "netwarp: running: ";
/// Prefix of the kernel's answer about itself: the time, and where it is.
const STUCK: &str = "netwarp: stuck: ";

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
    cpu_s: f64,
    events: u64,
}

/// The kernel's answer to a question: netwarp_answer() in arch/um/kernel/netwarp_time.c.
#[derive(Serialize)]
struct Running {
    /// CLOCK_MONOTONIC of the guest
    time_ns: i64,
    pid: u32,
    address: String,
    name: String,
    command: String,
}

impl Running {
    /// Parses `TIME PID ADDRESS NAME: COMMAND LINE`; a name may have blanks in it.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim().splitn(4, ' ');
        let (time, pid, address) = (words.next()?, words.next()?, words.next()?);
        let (name, command) = words.next()?.split_once(": ")?;
        Some(Self {
            time_ns: time.parse().ok()?,
            pid: pid.parse().ok()?,
            address: address.to_string(),
            name: name.to_string(),
            command: command.trim().to_string(),
        })
    }
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
        match watch(&mut machine, &mut sinks) {
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
        let ended = watch(machine, sinks);
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
            if !matches!(watch(machine, sinks), Ok(None)) {
                return false;
            }
        }
        if sinks.console.written > before {
            times.push(sinks.console.stuck_at());
        }
    }
    matches!(times[..], [Some(first), Some(second)] if first == second)
}

/// Waits a moment for something to happen and deals with it; `Some` when the machine's life is over.
fn watch(machine: &mut Machine, sinks: &mut Sinks) -> Result<Option<End>> {
    let stdin = std::io::stdin();
    let has_ended = machine.has_ended()?;
    // A stream that has ended is left out, since poll would return for it forever.
    let watched: Vec<(Source, BorrowedFd)> = [
        Some((Source::Parent, stdin.as_fd())),
        // The keeper ends with the machine.
        (!has_ended).then(|| (Source::Keeper, machine.keeper.end())),
        machine
            .console
            .as_ref()
            .map(|f| (Source::Console, f.as_fd())),
        machine
            .records
            .as_ref()
            .map(|f| (Source::Records, f.as_fd())),
        machine
            .output
            .as_ref()
            .filter(|_| !sinks.is_asked())
            .map(|f| (Source::Output, f.as_fd())),
        sinks
            .keyboard
            .as_ref()
            .and_then(Keyboard::terminal)
            .map(|fd| (Source::Keyboard, fd)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut fds: Vec<PollFd> = watched
        .iter()
        .map(|(_, fd)| PollFd::new(*fd, PollFlags::POLLIN))
        .collect();
    poll(&mut fds, sinks.moment()).or_else(|e| {
        if e == nix::errno::Errno::EINTR {
            Ok(0)
        } else {
            Err(e)
        }
    })?;
    let ready: Vec<Source> = watched
        .iter()
        .zip(&fds)
        .filter(|(_, fd)| fd.revents().is_some_and(|r| !r.is_empty()))
        .map(|((source, _), _)| *source)
        .collect();
    drop(fds);
    let cancelled = ready.contains(&Source::Parent) && stdin_closed()?;
    if ready.contains(&Source::Console) {
        sinks.console.copy_from(&mut machine.console)?;
    }
    if ready.contains(&Source::Records) {
        read_records(&mut machine.records, sinks.recorder.as_mut())?;
    }
    let mut taken = Taken::All;
    if ready.contains(&Source::Output)
        && let Some(output) = sinks.output.as_mut()
    {
        taken = output.read_from(&mut machine.output)?;
    }
    let mut interrupted = false;
    if let Some(keyboard) = sinks.keyboard.as_mut() {
        if ready.contains(&Source::Keyboard) {
            keyboard.read();
        }
        if let Taken::Question(question) = taken {
            keyboard.ask(question);
        }
        keyboard.answer()?;
        interrupted = keyboard.is_interrupted();
    }
    let streams = [&machine.console, &machine.records, &machine.output];
    Ok(match taken {
        _ if ready.contains(&Source::Keeper) => Some(End::KeeperGone),
        _ if cancelled || interrupted => Some(End::Cancelled),
        Taken::NoMore => Some(End::OutputClosed),
        _ => streams.iter().all(|s| s.is_none()).then_some(End::Ended),
    })
}

/// Destinations of the machine's streams.
struct Sinks {
    console: Console,
    recorder: Option<Recorder>,
    output: Option<Output>,
    keyboard: Option<Keyboard>,
}

impl Sinks {
    /// Whether the machine waits for the keyboard.
    fn is_asked(&self) -> bool {
        self.keyboard.as_ref().is_some_and(Keyboard::is_asked)
    }

    /// Maximum wait for an event, in milliseconds.
    fn moment(&self) -> u16 {
        let delay = self.keyboard.as_ref().map(Keyboard::delay);
        match delay.map(|d| d.as_millis().saturating_add(1)) {
            Some(ms) if ms > 1 => MOMENT.min(u16::try_from(ms).unwrap_or(MOMENT)),
            _ => MOMENT,
        }
    }

    fn create(options: &Options) -> Result<Self> {
        let live = [options.live_out, options.live_err];
        Ok(Self {
            console: Console::create(&options.dir.join("console.log"))?,
            recorder: options
                .records()
                .then(|| Recorder::create(&options.dir, &options.captures, options.t0))
                .transpose()?,
            output: options
                .output
                .then(|| {
                    let asks = options.keyboard.is_some();
                    Output::create(&options.dir, live, asks, options.kept_bytes)
                })
                .transpose()?,
            keyboard: options
                .keyboard
                .map(|fd| Keyboard::create(&options.dir, take_over(fd)?, options.pace))
                .transpose()?,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Parent,
    Keeper,
    Console,
    Records,
    Output,
    Keyboard,
}

/// Whether standard input has ended. netwarp never writes to the guard, so it is readable only then.
fn stdin_closed() -> Result<bool> {
    let mut byte = [0; 16];
    Ok(std::io::stdin().read(&mut byte).context("standard input")? == 0)
}

fn read_records(stream: &mut Option<File>, recorder: Option<&mut Recorder>) -> Result<()> {
    let (Some(file), Some(recorder)) = (stream.as_mut(), recorder) else {
        *stream = None;
        return Ok(());
    };
    if !recorder.read_from(file)? {
        *stream = None;
    }
    Ok(())
}

/// console.log
struct Console {
    file: File,
    written: u64,
    buffer: Vec<u8>,
    /// The end of the console's text
    recent: Vec<u8>,
}

impl Console {
    fn create(path: &std::path::Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            file,
            written: 0,
            buffer: vec![0; 1 << 16],
            recent: Vec::new(),
        })
    }

    fn copy_from(&mut self, stream: &mut Option<File>) -> Result<()> {
        let Some(file) = stream.as_mut() else {
            return Ok(());
        };
        let got = file.read(&mut self.buffer).context("console")?;
        if got == 0 {
            *stream = None;
        }
        let room = usize::try_from(CONSOLE_LIMIT - self.written)
            .unwrap_or(0)
            .min(got);
        self.file
            .write_all(&self.buffer[..room])
            .context("cannot write console.log")?;
        self.written += room as u64;
        self.recent.extend_from_slice(&self.buffer[..got]);
        let old = self.recent.len().saturating_sub(RECENT_BYTES);
        self.recent.drain(..old);
        Ok(())
    }

    /// CLOCK_MONOTONIC of the guest in the kernel's last answer about itself.
    fn stuck_at(&self) -> Option<u64> {
        let text = String::from_utf8_lossy(&self.recent);
        let (_, answer) = text.rsplit_once(STUCK)?;
        answer.split_whitespace().next()?.parse().ok()
    }

    /// The kernel's answer to `Machine::ask`, once it is complete.
    fn answer(&self) -> Option<Running> {
        let text = String::from_utf8_lossy(&self.recent);
        let (_, answer) = text.rsplit_once(ANSWER)?;
        let (line, _) = answer.split_once('\n')?;
        Running::parse(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_of_the_host_and_a_bad_stream_is_not() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let written = Err::<(), _>(full).context("cannot write packets.arrows");
        assert!(written.is_err_and(|e| is_of_host(&e)));
        assert!(!is_of_host(&anyhow::anyhow!("a record of no known kind")));
    }

    #[test]
    fn an_answer_is_taken_apart() {
        let line = "10000000000 57 0x7f0000001234 my prog: sh -c while :; do :; done ";
        let answer = Running::parse(line).map(|r| (r.time_ns, r.pid, r.address, r.name, r.command));
        let [address, name, command] =
            ["0x7f0000001234", "my prog", "sh -c while :; do :; done"].map(String::from);
        assert_eq!(answer, Some((10_000_000_000, 57, address, name, command)));
        assert!(Running::parse("nothing of the kind").is_none());
    }
}

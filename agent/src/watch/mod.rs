//! `netwarp watch`: the connection monitor. One thread samples, another decodes, filters and writes.

mod csv;
mod fields;
mod filter;
mod namespace;
mod options;
mod output;
mod processes;
mod sampler;
mod writer;

use std::collections::HashMap;
use std::fmt;
use std::io::{ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;
use std::time::SystemTime;

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use nix::sys::eventfd::EventFd;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use crate::netlink::Netlink;
use crate::time::{exact_timers, go_first};
pub use options::Options;
use options::Target;
use processes::Processes;
use sampler::{End, Ends, Outlet, Plan, Tally};
use writer::{Inlet, Seen, Writer};

const USAGE: u8 = 2;
const ENVIRONMENT: u8 = 4;
const INTERRUPTED: u8 = 130;

/// What the user can mend, and how the exit code says whose fault it is.
#[derive(Debug)]
pub enum Trouble {
    Usage(String),
    Environment(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Environment(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Trouble {}

/// Exit codes: 0 fine, or ended by a signal where no duration was given; 2 usage; 4 this environment cannot;
/// 130 interrupted before the duration was over.
pub fn main(options: &Options) -> ExitCode {
    let code = match watch(options) {
        Ok(Some(report)) => {
            if !options.quiet {
                report.tell();
            }
            if report.tally.end == End::Signal && options.duration.is_some() {
                INTERRUPTED
            } else {
                0
            }
        }
        Ok(None) => 0,
        Err(e) => {
            eprintln!("error: {e:#}");
            match e.downcast_ref() {
                Some(Trouble::Usage(_)) => USAGE,
                _ => ENVIRONMENT,
            }
        }
    };
    ExitCode::from(code)
}

/// `None`: the reader of our output has gone, and nothing is left to say.
fn watch(options: &Options) -> Result<Option<Report>> {
    let filter_text = options.filter.join(" ");
    let filter = filter::parse(&filter_text).map_err(|e| Trouble::Usage(e.to_string()))?;
    let targets = targets(options)?;
    let named = |name: &str| options.fields.iter().any(|f| f.trim() == name);
    let processes =
        options.processes || filter.asks_for_processes() || named("process") || named("pid");
    let columns = fields::choose(&options.fields, processes)?;
    exact_timers();
    let signals = signals()?;
    let sinks = output::open(&targets, &columns, &about(options, &filter_text))?;
    if let Some(name) = &options.netns {
        namespace::enter(name)?;
    }
    let mut netlink = Netlink::open(NETLINK_SOCK_DIAG)?;
    let plan = Plan {
        states: filter.states(),
        bytecode: filter::bytecode(&filter),
        interval_ns: options.interval,
        duration_ns: options.duration,
    };
    let note: fn(&str) = if options.quiet { |_| () } else { tell };
    if processes && !nix::unistd::geteuid().is_root() {
        note("without root only the processes of one's own are known");
    }
    let mut writer = Writer::new(filter, processes.then(Processes::default), note);
    writer.sinks = sinks;
    let (result, writer) = together(&mut netlink, &plan, writer, &signals, &targets)?;
    Ok(result.map(|tally| Report {
        tally,
        seen: writer.seen,
        filter: filter_text,
        interval_ns: options.interval,
    }))
}

/// Samples here and writes there, until both are done.
fn together(
    netlink: &mut Netlink,
    plan: &Plan,
    mut writer: Writer,
    signals: &SignalFd,
    targets: &[Target],
) -> Result<(Option<Tally>, Writer)> {
    let stop = Arc::new(EventFd::new()?);
    let waiting = Arc::new(AtomicUsize::new(0));
    let (to_writer, samples) = channel();
    let (to_sampler, buffers) = channel();
    let inlet = Inlet {
        samples,
        buffers: to_sampler,
        waiting: Arc::clone(&waiting),
    };
    let ended = Arc::clone(&stop);
    let thread = std::thread::Builder::new()
        .name("writer".to_string())
        .spawn(move || {
            let result = writer.run(&inlet);
            // The sampler may have ended already.
            let _ = ended.write(1);
            (result, writer)
        })?;
    let outlet = Outlet {
        samples: to_writer,
        buffers,
        waiting,
    };
    let ends = Ends {
        signals,
        stop: stop.as_fd(),
        pipe: output::pipe(targets),
    };
    // Few microseconds in each interval: a busy machine must not make us late. Whoever may not has to do without.
    go_first();
    let tally = sampler::run(netlink, plan, &outlet, &ends);
    drop(outlet);
    // Whoever does not want to wait for the writer may interrupt a second time.
    while matches!(signals.read_signal(), Ok(Some(_))) {}
    watched().thread_unblock()?;
    let (result, writer) = thread
        .join()
        .map_err(|_| anyhow::anyhow!("the writer broke down"))?;
    match result {
        Err(e) if reader_gone(&e) => Ok((None, writer)),
        Err(e) => Err(Trouble::Environment(format!("cannot write any more: {e:#}")).into()),
        Ok(()) => {
            let tally = tally?;
            Ok(((tally.end != End::ReaderGone).then_some(tally), writer))
        }
    }
}

fn reader_gone(error: &anyhow::Error) -> bool {
    let io = error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == ErrorKind::BrokenPipe);
    let arrow = |e: &arrow_schema::ArrowError| matches!(e, arrow_schema::ArrowError::IoError(_, io) if io.kind() == ErrorKind::BrokenPipe);
    io || error.downcast_ref().is_some_and(arrow)
}

/// What is written where nothing was said: CSV, if standard output is no terminal.
fn targets(options: &Options) -> Result<Vec<Target>> {
    let mut targets = options.targets()?;
    let terminal = std::io::stdout().is_terminal();
    if targets.contains(&Target::Arrow(None)) && terminal {
        let text = "an Arrow stream is not for a terminal: name a file, or pipe it on";
        return Err(Trouble::Usage(text.to_string()).into());
    }
    if targets.is_empty() {
        targets.push(Target::Csv(None));
    }
    Ok(targets)
}

fn watched() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// Signals that end the watch arrive here, whichever thread they are for.
fn signals() -> Result<SignalFd> {
    use nix::sys::signalfd::SfdFlags;
    watched().thread_block()?;
    SignalFd::with_flags(&watched(), SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        .context("signalfd")
}

/// What an Arrow stream says of itself, beside its columns.
fn about(options: &Options, filter: &str) -> HashMap<String, String> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    [
        ("netwarp.watch.begin_unix_ns", since.as_nanos().to_string()),
        ("netwarp.watch.filter", filter.to_string()),
        ("netwarp.watch.interval_ns", options.interval.to_string()),
        (
            "netwarp.watch.netns",
            options.netns.clone().unwrap_or_default(),
        ),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_string(), value))
    .collect()
}

fn tell(text: &str) {
    eprintln!("{text}");
}

/// What is said at the end.
struct Report {
    tally: Tally,
    seen: Seen,
    filter: String,
    interval_ns: i64,
}

impl Report {
    fn tell(&self) {
        let (tally, seen) = (&self.tally, &self.seen);
        let ended = seen.connections - seen.alive.min(seen.connections);
        let mut text = format!(
            "{} samples, {} missed, at most {:.1} ms late; {} connections ({ended} ended), {} rows",
            tally.samples,
            tally.missed + tally.unwritten,
            tally.latest_ns as f64 / 1e6,
            seen.connections,
            seen.rows,
        );
        if tally.missed > 0 {
            text += &format!(
                "\n{} samples were missed: the machine was too busy for one every {} ms",
                tally.missed,
                self.interval_ns as f64 / 1e6
            );
        }
        if tally.unwritten > 0 {
            text += &format!(
                "\n{} samples were not taken: what reads the output is too slow for them",
                tally.unwritten
            );
        }
        if seen.rows == 0 && !self.filter.is_empty() {
            text += &format!("\nno socket matched `{}`", self.filter);
        }
        tell(&text);
    }
}

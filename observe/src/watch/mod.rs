//! `netwarp watch`: the connection monitor. One thread samples, another decodes, filters and writes, a third draws.

mod csv;
mod error;
mod fields;
mod filter;
mod namespace;
mod options;
mod output;
mod processes;
mod sampler;
mod sink;
mod table_row;
mod threads;
mod view;
mod writer;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use error::WatchError;
use netwarp_records::netlink::Netlink;
pub use options::Options;
use options::Target;
use processes::Processes;
use sampler::{End, Plan, Tally};
use view::View;
use writer::{Seen, Writer};

const USAGE: u8 = 2;
const ENVIRONMENT: u8 = 4;
const INTERRUPTED: u8 = 130;

/// Exit codes: 0 success, or ended by a signal without a duration; 2 usage; 4 the environment does not allow it; 130
/// interrupted before the duration was over.
pub fn main(options: &Options) -> ExitCode {
    let code = match watch(options) {
        Ok(Some(report)) => {
            if !options.quiet {
                report.print();
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
                Some(WatchError::Usage(_)) => USAGE,
                _ => ENVIRONMENT,
            }
        }
    };
    ExitCode::from(code)
}

/// Runs the command. `None`: the reader of the output has gone, so that no report is printed.
fn watch(options: &Options) -> Result<Option<Report>> {
    let filter_text = options.filter.join(" ");
    let filter = filter::parse(&filter_text).map_err(|e| WatchError::Usage(e.to_string()))?;
    let (targets, live) = targets(options)?;
    let named = |name: &str| options.fields.iter().any(|f| f.trim() == name);
    let processes =
        options.processes || filter.asks_for_processes() || named("process") || named("pid");
    let columns = fields::choose(&options.fields, processes)?;
    // Makes timers fire when they are due, rather than up to 50 µs later.
    let _ = nix::sys::prctl::set_timerslack(1);
    let signals = threads::signals()?;
    if let Some(name) = &options.netns {
        namespace::enter(name)?;
    }
    let sinks = output::open(&targets, &columns, &about(options, &filter_text))?;
    let mut netlink = Netlink::open(NETLINK_SOCK_DIAG)?;
    let plan = Plan {
        states: filter.states(),
        bytecode: filter::bytecode(&filter),
        interval_ns: options.interval,
        duration_ns: options.duration,
    };
    let note: fn(&str) = if options.quiet || live {
        |_| ()
    } else {
        print_line
    };
    if processes && !nix::unistd::geteuid().is_root() {
        note("without root only your own processes are known");
    }
    let mut writer = Writer::new(filter, processes.then(Processes::default), note);
    writer.sinks = sinks;
    let view = live.then(|| View::new(title(options, &filter_text), processes));
    writer.sinks.extend(view.as_ref().map(View::keeper));
    let (result, writer) = threads::run(
        &mut netlink,
        &plan,
        writer,
        view,
        &signals,
        output::pipe(&targets),
    )?;
    Ok(result.map(|tally| Report {
        tally,
        seen: writer.seen,
        filter: filter_text,
        interval_ns: options.interval,
    }))
}

/// Returns the targets of rows, and whether there is a live table: on a terminal as standard output to which no target
/// writes. Without either and without a terminal, rows are written as CSV.
fn targets(options: &Options) -> Result<(Vec<Target>, bool)> {
    let mut targets = options.targets()?;
    let terminal = std::io::stdout().is_terminal();
    if targets.contains(&Target::Arrow(None)) && terminal {
        let text = "an Arrow stream cannot go to a terminal: name a file, or pipe it on";
        return Err(WatchError::Usage(text.to_string()).into());
    }
    let live = terminal && !options.quiet && !targets.contains(&Target::Csv(None));
    if targets.is_empty() && !live {
        targets.push(Target::Csv(None));
    }
    Ok((targets, live))
}

/// The heading of the live table.
fn title(options: &Options, filter: &str) -> String {
    let mut words = vec![format!("every {} ms", options.interval as f64 / 1e6)];
    words.extend(options.netns.iter().map(|name| format!("in {name}")));
    let files = options.output.iter().chain(&options.arrow);
    words.extend(files.map(|file| format!("into {}", file.display())));
    words.extend((!filter.is_empty()).then(|| filter.to_string()));
    words.join("   ")
}

/// Metadata of an Arrow stream, in addition to its columns.
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

fn print_line(text: &str) {
    eprintln!("{text}");
}

/// The report that is printed at the end.
struct Report {
    tally: Tally,
    seen: Seen,
    filter: String,
    interval_ns: i64,
}

impl Report {
    fn print(&self) {
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
        print_line(&text);
    }
}

//! `netwarp pcap FILE...`: metrics of the flows in captures. The crate `netwarp-capture` does the analysis; this module
//! reads files and writes tables.

mod cells;
mod flows;
mod interval;
mod options;
mod output;
mod packets;
mod series;
mod source;
mod table;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use netwarp_capture::{Analysis, CaptureStats};

pub use options::Options;
use output::Sink;
use source::{End, Source};
use table::Table;

const FILE_UNREADABLE: u8 = 2;
const CANNOT_WRITE: u8 = 4;

pub fn main(options: &Options) -> ExitCode {
    match run(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FILE_UNREADABLE),
        // The reader of the output has closed it.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::from(CANNOT_WRITE)
        }
    }
}

/// Runs the command; returns whether every file was read to its end.
fn run(options: &Options) -> Result<bool> {
    let out: Sink = match &options.output {
        Some(path) => {
            let file = File::create(path);
            Box::new(file.with_context(|| format!("cannot create {}", path.display()))?)
        }
        None => Box::new(io::stdout()),
    };
    let mut table = Table::new(options, out)?;
    let mut whole = true;
    for path in &options.files {
        let mut source = match Source::open(path) {
            Ok(source) => source,
            Err(error) => {
                complain(&format!("error: {}: {error:#}", path.display()));
                whole = false;
                continue;
            }
        };
        let (analysis, end) = table.take(&path.display().to_string(), &mut source)?;
        report_end(path, &analysis, &end);
        whole &= !matches!(end, End::Damaged { .. });
    }
    table.finish()?;
    Ok(whole)
}

/// Reports on standard error how the file ended, and which of its packets are in no flow.
fn report_end(path: &Path, analysis: &Analysis, end: &End) {
    let path = path.display();
    match end {
        End::Whole => {}
        End::Cut { bytes } => complain(&format!(
            "note: {path}: cut off in a frame, {bytes} bytes after the last whole one; all before that was read"
        )),
        End::Damaged { at, why } => complain(&format!(
            "error: {path}: cannot be read from byte {at} on: {why}; all before that was read"
        )),
    }
    let stats = analysis.stats();
    let left = left_out(stats);
    if !left.is_empty() {
        complain(&format!(
            "note: {path}: of {} frames, these are in no flow: {}",
            stats.frames,
            left.join(", ")
        ));
    }
}

fn left_out(stats: &CaptureStats) -> Vec<String> {
    let kinds = [
        (stats.unknown_link, "of an unknown link layer"),
        (stats.not_ip, "without IP"),
        (stats.other_protocol, "of other protocols than TCP and UDP"),
        (stats.unreadable, "with headers that are cut off or broken"),
        (stats.fragments, "fragments whose packet is not all there"),
    ];
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    there
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
}

/// Prints a line on standard error; a closed one is ignored.
fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

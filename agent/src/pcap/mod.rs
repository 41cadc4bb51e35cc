//! `netwarp pcap FILE...`: what captures tell of flows. The `capture` crate does the work; here files are read and
//! tables are written.

mod flows;
mod sheet;
mod source;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use netwarp_capture::{Account, Analysis};

use flows::Flows;
use sheet::{Format, Sheet};
use source::{End, Source};

const FILE_UNREADABLE: u8 = 2;

#[derive(clap::Args)]
pub struct Options {
    /// Captures; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// All columns, one row for each flow and direction, as CSV
    #[arg(long, group = "format")]
    csv: bool,
    /// The same as JSON, with an account of each file
    #[arg(long, group = "format")]
    json: bool,
    /// The same as an Arrow IPC stream
    #[arg(long, group = "format")]
    arrow: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Options {
    fn format(&self) -> Format {
        match (self.csv, self.json, self.arrow) {
            (true, _, _) => Format::Csv,
            (_, true, _) => Format::Json,
            (_, _, true) => Format::Arrow,
            _ => Format::Text,
        }
    }
}

pub fn main(options: &Options) -> ExitCode {
    match run(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FILE_UNREADABLE),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(4)
        }
    }
}

/// Whether every file was read to its end.
fn run(options: &Options) -> Result<bool> {
    let out: Box<dyn Write> = match &options.output {
        Some(path) => Box::new(
            std::fs::File::create(path)
                .with_context(|| format!("cannot create {}", path.display()))?,
        ),
        None => Box::new(io::stdout().lock()),
    };
    let flows = Flows::new(options.format(), options.files.len());
    let mut sheet = Sheet::new(
        options.format(),
        BufWriter::with_capacity(1 << 16, out),
        &flows.columns(),
    )?;
    let mut whole = true;
    for path in &options.files {
        match read(path) {
            Ok((analysis, end)) => {
                tell(path, analysis.account(), &end);
                whole &= !matches!(end, End::Damaged { .. });
                flows.write(&mut sheet, &path.display().to_string(), &analysis)?;
            }
            Err(error) => {
                eprintln!("error: {}: {error:#}", path.display());
                whole = false;
            }
        }
    }
    sheet.finish()?;
    Ok(whole)
}

fn read(path: &Path) -> Result<(Analysis, End)> {
    let mut source = Source::open(path)?;
    let mut analysis = Analysis::default();
    let end = source.each(|frame| {
        analysis.frame(frame);
        Ok(())
    })?;
    Ok((analysis, end))
}

/// What of the file is in no flow, on standard error.
fn tell(path: &Path, account: &Account, end: &End) {
    let path = path.display();
    match end {
        End::Whole => {}
        End::Cut { bytes } => eprintln!(
            "note: {path}: cut off in a frame, {bytes} bytes after its last whole one; what is before that was read"
        ),
        End::Damaged { at, damage } => {
            eprintln!(
                "error: {path}: damaged at byte {at}: {damage}; what is before that was read"
            );
        }
    }
    let kinds = [
        (account.not_ip, "without IP"),
        (
            account.other_protocol,
            "of other protocols than TCP and UDP",
        ),
        (
            account.unreadable,
            "with headers that are cut off or broken",
        ),
        (
            account.fragments,
            "that are fragments of packets that were not captured whole",
        ),
    ];
    let left: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !left.is_empty() {
        eprintln!(
            "note: {path}: of {} frames, these are in no flow: {}",
            account.frames,
            left.join(", ")
        );
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

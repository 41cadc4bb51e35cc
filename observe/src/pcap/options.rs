//! The command line of `netwarp pcap`.

use std::path::PathBuf;

use super::interval;
use super::output::Format;

#[derive(clap::Args)]
pub struct Options {
    /// Captures; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// One row for each packet, instead of one for each flow and direction
    #[arg(long, group = "table")]
    pub packets: bool,
    /// One row for each flow, direction and interval of time: 100ms, 1s, 1min
    #[arg(long, group = "table", value_name = "INTERVAL", value_parser = interval::parse)]
    pub series: Option<u64>,
    /// All columns, as CSV
    #[arg(long, group = "format")]
    pub csv: bool,
    /// The same as JSON
    #[arg(long, group = "format")]
    pub json: bool,
    /// The same as an Arrow IPC stream
    #[arg(long, group = "format")]
    pub arrow: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Options {
    /// The format of the table.
    pub fn format(&self) -> Format {
        match (self.csv, self.json, self.arrow) {
            (true, _, _) => Format::Csv,
            (_, true, _) => Format::Json,
            (_, _, true) => Format::Arrow,
            _ => Format::Text,
        }
    }
}

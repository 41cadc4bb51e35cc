//! The program `netwarp-observe`: `netwarp watch`, the monitor of live connections, and `netwarp pcap`, the metrics of
//! flows in captures. Neither needs a lab.

mod pcap;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    version,
    about = "The part of netwarp that observes connections; `netwarp` starts it."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Metrics of flows from captures (pcap, pcapng): RTT, bytes in flight, retransmissions
    #[command(
        override_usage = "netwarp pcap [OPTIONS] <FILE>...",
        after_help = "docs/pcap.md says what each column means. Exit codes: 0 success; 2 wrong usage, or a file could not \
                      be read to its end; 4 the output could not be written."
    )]
    Pcap(pcap::Options),
    /// Watch live TCP connections: every number that the kernel reports, as CSV, an Arrow stream, or a live table
    #[command(override_usage = "netwarp watch [OPTIONS] [FILTER]...")]
    Watch(watch::Options),
}

/// Runs the command of the arguments.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Pcap(options) => pcap::main(&options),
        Command::Watch(options) => watch::main(&options),
    }
}

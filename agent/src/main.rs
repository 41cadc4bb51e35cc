//! What runs inside a netwarp lab: pid 1 of the guest (`init`), and on the host the guard that starts the guest,
//! limits it, ends it, and turns its stream of records into Arrow tables (`guard`).

mod guard;
mod init;
mod lab;
mod netlink;
mod network;
mod record;
mod run;
mod table;
mod time;
mod traffic;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    version,
    about = "The part of netwarp that runs inside a lab; `netwarp` starts it."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one virtual machine to its end, on the host
    Guard(guard::Options),
}

fn main() -> ExitCode {
    if std::process::id() == 1 {
        init::main();
    }
    match Cli::parse().command {
        Command::Guard(options) => guard::main(&options),
    }
}

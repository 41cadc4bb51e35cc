//! The program `netwarp-agent`. Inside a lab it is the first process (`init`). On the host it is the guard that starts
//! a lab's virtual machine, limits it, ends it, and turns its stream of records into Arrow tables (`guard`), or the
//! supervisor of a lab in namespaces of the host (`host`). On a machine that is a node of a lab it is that machine's
//! session with netwarp (`node`).

mod awaited;
mod backend;
mod cells;
mod confine;
mod constants;
mod end;
mod exec;
mod guard;
mod host;
mod init;
mod keyboard;
mod lab;
mod machine;
mod network;
mod node;
mod part;
mod pcap_file;
mod record;
mod run;
mod sysctl;
mod time;
mod tools;
mod traffic;
mod traffic_control;
mod tuners;
mod wire;

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
    /// Run a lab, as the first program of its machine
    #[command(hide = true)]
    Init {
        /// The engine that the lab runs on
        #[arg(default_value = backend::DEFAULT)]
        engine: String,
    },
    /// Run one virtual machine to its end, on the host
    Guard(guard::Options),
    /// Run a lab in namespaces of this machine, in real time
    #[command(hide = true)]
    Host(host::Options),
    /// List the features of a lab that this machine's kernel lacks: JSON in and out
    #[command(hide = true)]
    HostProbe,
    /// Run a session with netwarp on a machine that is a node of a lab; over SSH
    #[command(hide = true)]
    Node(node::Options),
    /// Print the confinement of virtual machines that this host can enforce, as JSON
    #[command(hide = true)]
    Confinement,
    /// Start a program that may read and write only the files that are named, and has no network
    #[command(hide = true)]
    Confine(confine::Options),
}

/// Runs the subcommand of the arguments: `init`, `guard` and the others.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Init { engine } => init::main(&engine),
        Command::Guard(options) => guard::main(&options),
        Command::Host(options) => host::main(&options),
        Command::HostProbe => host::probe(),
        Command::Confine(options) => confine::main(&options),
        Command::Node(options) => node::main(options),
        Command::Confinement => guard::confinement(),
    }
}

//! Confines a build on the host to some files, because the Makefile of a kernel or the Kbuild of a module is a program,
//! and programs of the user that decide congestion control on the host.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::guard::confine_build;

#[derive(clap::Args)]
pub struct Options {
    /// A path the program may read and start, with everything under it
    #[arg(long)]
    pub read: Vec<PathBuf>,
    /// A path the program may write and read, with everything under it
    #[arg(long)]
    pub write: Vec<PathBuf>,
    /// Let the program make symbolic links where it writes
    #[arg(long)]
    pub links: bool,
    /// End the program when the thread that has started it ends
    #[arg(long)]
    pub with_parent: bool,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// Becomes the program; returns only if the program cannot be started.
pub fn main(options: &Options) -> ExitCode {
    if let Err(e) = confine_build(&options.read, &options.write, options.links) {
        eprintln!("{e:#}");
        return ExitCode::FAILURE;
    }
    if options.with_parent {
        // SAFETY: prctl takes numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    }
    let Some((program, arguments)) = options.command.split_first() else {
        return ExitCode::FAILURE;
    };
    let error = Command::new(program).args(arguments).exec();
    eprintln!("cannot start {program}: {error}");
    ExitCode::FAILURE
}

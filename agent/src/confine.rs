//! Confines a build on the host to some files, because the Makefile of a kernel or the Kbuild of a module is a program,
//! and programs of the user that decide congestion control on the host.

use std::convert::Infallible;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::guard::{Confinement, confine_build, hear_of_children};

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
    /// End the program, and all that it started, when it ends or when the thread that has started this one ends
    #[arg(long)]
    pub with_parent: bool,
    /// The longest file that a program may write that ends with its parent, in bytes
    #[arg(long, requires = "with_parent")]
    pub file_bytes: Option<u64>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// Becomes the program, or keeps it; returns only if the program cannot be started.
pub fn main(options: &Options) -> ExitCode {
    let Err(error) = match options.with_parent {
        true => keep(options),
        false => become_build(options),
    };
    eprintln!("{error:#}");
    ExitCode::FAILURE
}

fn become_build(options: &Options) -> Result<Infallible> {
    confine_build(&options.read, &options.write, options.links)?;
    let error = command(options)?.exec();
    Err(error).with_context(|| cannot_start(options))
}

/// Starts the program in a process group, which it cannot leave, and ends this group when the program ends, at SIGTERM,
/// and when the thread ends that started this process. This process is outside of the program's confinement, so the
/// program cannot send signals to it. Then ends as the program did.
///
/// PR_SET_PDEATHSIG alone would not do: processes that the program starts do not inherit it.
fn keep(options: &Options) -> Result<Infallible> {
    let mut confinement = Confinement::of_program(&options.read, &options.write)?;
    SigSet::all().thread_block()?;
    hear_of_children();
    // SAFETY: prctl takes numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    if let Some(bytes) = options.file_bytes {
        let limit = getrlimit(Resource::RLIMIT_FSIZE)?.1.min(bytes);
        setrlimit(Resource::RLIMIT_FSIZE, limit, limit)?;
    }
    let mut command = command(options)?;
    // SAFETY: this process has one thread, so the child may do after the fork what this process could.
    unsafe {
        command.process_group(0).pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            confinement.apply()
        });
    }
    let mut child = command.spawn().with_context(|| cannot_start(options))?;
    for stream in 0..=2 {
        // The machine has to see when the program has closed its end.
        // SAFETY: nothing in this process uses the streams any more.
        unsafe { libc::close(stream) };
    }
    let leader = Pid::from_raw(child.id() as i32);
    wait_for_end(leader)?;
    // The group's number is not reused until its leader is waited for.
    let _ = killpg(leader, Signal::SIGKILL);
    end_as(child.wait()?)
}

fn wait_for_end(program: Pid) -> Result<()> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(program), flags)? == WaitStatus::StillAlive {
        if SigSet::all().wait()? == Signal::SIGTERM {
            break;
        }
    }
    Ok(())
}

fn end_as(status: ExitStatus) -> ! {
    if let Some(number) = status.signal() {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        // SAFETY: these calls take numbers; the signal ends this process, which has nothing left to do.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
        let _ = SigSet::all().thread_unblock();
    }
    std::process::exit(status.code().unwrap_or(1))
}

fn command(options: &Options) -> Result<Command> {
    let (program, arguments) = options.command.split_first().context("no program")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn cannot_start(options: &Options) -> String {
    format!("cannot start {}", options.command[0])
}

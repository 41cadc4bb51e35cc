//! A run of `netwarp exec`: prepares a small machine around the command, starts it, waits for its end, and collects
//! what it changed.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;
use serde_json::{Map, Value, json};

use crate::backend::Backend;
use crate::lab::{Exec, Lab};
use crate::machine::{changes, root};
use crate::network;
use crate::time::{exact_timers, monotonic_ns, sleep_until};

/// What shells say of a command that is not there, one that cannot be started, and a signal.
const NOT_FOUND: i32 = 127;
const NOT_STARTED: i32 = 126;
const SIGNAL: i32 = 128;
/// Usual, where a process may raise it: some programs close every descriptor that they might have.
const OPEN_FILES: u64 = 1024;
/// Beneath the run directory.
const FILES: &str = "files";
/// How many of those that were left out are named.
const NAMED: usize = 20;

/// How the command ended, for outcome.json.
pub type Facts = Map<String, Value>;

/// Runs the command to its end, and keeps in `dir` what it changed beneath its directory.
pub fn run(backend: &'static dyn Backend, lab: &Lab, exec: &Exec, dir: &Path) -> Result<Facts> {
    let (stdout, stderr) = backend.open_output()?;
    backend.configure(&lab.machine)?;
    exact_timers();
    root::set_hostname()?;
    if let Some(rate_bps) = exec.rate_bps {
        backend.limit_links(rate_bps)?;
    }
    network::bring_up_loopback()?;
    if lab.record.needs_recorder() {
        backend.start_recording(lab)?;
    }
    let upper = root::make_layers()?;
    let (send, receive) = channel();
    let (command, t0_ns) = (exec.clone(), lab.t0_ns);
    let open_files = lab.machine.open_files;
    std::thread::spawn(move || {
        let ended = (|| {
            root::enter(&command.home())?;
            let mut program = prepare(&command, open_files)?;
            program.stdout(stdout).stderr(stderr.try_clone()?);
            sleep_until(t0_ns);
            Ok::<i32, anyhow::Error>(live(&mut program, &command.command[0], stderr))
        })();
        // Whoever hears of it may be gone, if it took too long.
        let _ = send.send((ended, monotonic_ns()));
    });
    let limit = Duration::from_nanos(u64::try_from(lab.duration_ns).unwrap_or(0));
    let until_t0 = u64::try_from(t0_ns - monotonic_ns()).unwrap_or(0);
    let (code, end_ns) = match receive.recv_timeout(limit + Duration::from_nanos(until_t0)) {
        Ok((ended, end_ns)) => (ended?, end_ns),
        Err(RecvTimeoutError::Timeout) => bail!(
            "the command has not ended after {} s of its time: it waits for what does not come (input, the internet, a \
             device?), or goes on for ever",
            limit.as_secs_f64()
        ),
        Err(RecvTimeoutError::Disconnected) => bail!("the command's thread died"),
    };
    if lab.record.needs_recorder() {
        backend.stop_recording()?;
    }
    // Everything that it has left running, so that no file changes any more.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    let own = exec.directory.strip_prefix("/").unwrap_or(&exec.directory);
    let kept = changes::keep(&upper.join(own), &dir.join(FILES))?;
    let mut facts = Map::new();
    facts.insert("exit_code".into(), json!(code));
    facts.insert("duration_ns".into(), json!(end_ns - t0_ns));
    facts.insert("files".into(), json!(kept.files));
    if !kept.left_out.is_empty() {
        let named = kept.left_out.len().min(NAMED);
        facts.insert("left_out".into(), json!(kept.left_out[..named]));
        facts.insert("left_out_count".into(), json!(kept.left_out.len()));
    }
    Ok(facts)
}

impl Exec {
    fn home(&self) -> PathBuf {
        self.env.get("HOME").map_or("/root", String::as_str).into()
    }
}

fn prepare(exec: &Exec, open_files: u64) -> Result<Command> {
    let (program, arguments) = exec.command.split_first().context("an empty command")?;
    std::env::set_current_dir(&exec.directory).with_context(|| {
        format!(
            "the working directory {} is not there",
            exec.directory.display()
        )
    })?;
    setrlimit(
        Resource::RLIMIT_NOFILE,
        OPEN_FILES.min(open_files),
        open_files,
    )?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env_clear()
        .envs(&exec.env)
        .process_group(0);
    Ok(command)
}

/// Starts it and waits for its end; its exit code, or what a shell would say of one that cannot be started.
fn live(program: &mut Command, name: &str, mut complaints: File) -> i32 {
    match program.spawn() {
        Ok(child) => wait_for(Pid::from_raw(child.id() as i32)),
        Err(e) => {
            let _ = writeln!(complaints, "netwarp: cannot start `{name}`: {e}");
            match e.kind() {
                ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_STARTED,
            }
        }
    }
}

/// Waits for it, and meanwhile for all that have lost their parents, as pid 1 must. Its exit code.
fn wait_for(child: Pid) -> i32 {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => return code,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return SIGNAL + signal as i32;
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return NOT_STARTED,
        }
    }
}

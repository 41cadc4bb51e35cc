//! A run of `netwarp exec`, or a session of `netwarp shell`: prepares a small machine around the command, starts it, waits
//! for its end, and collects what it changed.

mod control;
mod inside;
mod keyboard;
mod programs;
mod terminal;

use std::fs::File;
use std::io::{ErrorKind, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, setns};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;
use serde_json::{Map, Value, json};

use crate::backend::{Backend, Costs};
use crate::lab::{Change, Exec, Lab};
use crate::machine::root::{Inside, Layers};
use crate::machine::{changes, root};
use crate::network::{self, Network};
use crate::run::{Execution, PATIENCE_NS, schedule};
use crate::time::{exact_timers, monotonic_ns, sleep_until};
use keyboard::Keyboard;
use terminal::Terminal;

/// Exit codes of shells for a command that is missing, one that cannot be started, and a signal.
const NOT_FOUND: i32 = 127;
const NOT_STARTED: i32 = 126;
const SIGNAL: i32 = 128;
/// The usual limit, which a process may raise: some programs close every descriptor that they might have.
const OPEN_FILES: u64 = 1024;
/// Directory of the command's files, in the run directory.
const FILES: &str = "files";

/// An event for the main thread of a command.
enum Happening {
    /// The command's end: its exit code, and when.
    Ended(Result<i32>, i64),
    Asked(Box<Request>),
}

/// A change that the command asks for, also as the command wrote it, and where its outcome goes.
struct Request {
    change: Change,
    written: Value,
    answer: Sender<Result<()>>,
}

/// How the command ended, for outcome.json.
pub type Facts = Map<String, Value>;

/// Runs the command to its end, and keeps the files that it changed under its directory in `dir`.
pub fn run(backend: &'static dyn Backend, lab: &Lab, exec: &Exec, dir: &Path) -> Result<Facts> {
    let (stdout, stderr) = backend.open_output()?;
    backend.configure(&lab.machine)?;
    backend.load_modules(&lab.modules)?;
    exact_timers();
    root::set_hostname()?;
    let network = build_network(backend, lab, exec)?;
    let mut execution = network
        .as_ref()
        .map(|network| Execution::prepare(network, lab, dir))
        .transpose()?;
    backend.set_clocks_off(&exec.clock_off_ns)?;
    let layers = Layers::make("command")?;
    let upper = layers.upper.clone();
    start_recording(backend, lab, execution.as_mut())?;
    let happenings = begin(Session {
        backend,
        command: exec.clone(),
        namespace: node_of(network.as_ref(), exec)?,
        inside: Inside::of(lab, exec, dir)?,
        layers,
        t0_ns: lab.t0_ns,
        open_files: lab.machine.open_files,
        stdout,
        stderr,
        dir: dir.to_path_buf(),
    });
    let mut asked = Vec::new();
    let (code, end_ns) = wait_for_end(lab, &happenings, execution.as_mut(), &mut asked)?;
    let still_running = code.is_none().then(|| overdue(lab.duration_ns));
    stop_recording(backend, lab, dir, execution)?;
    // Ends all programs that are still running, so that no file changes any more.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    let kept = keep_files(lab, exec, &upper, dir)?;
    let mut facts = kept.facts();
    match still_running {
        Some(words) => facts.insert("overdue".into(), json!(words)),
        None => facts.insert("exit_code".into(), json!(code)),
    };
    facts.insert("duration_ns".into(), json!(end_ns - lab.t0_ns));
    if !asked.is_empty() {
        facts.insert("changes".into(), asked.into());
    }
    facts.insert("quotas".into(), json!(backend.quotas()?));
    facts.insert("files".into(), json!(kept.files));
    Ok(facts)
}

/// Builds the lab's network, or without nodes brings up the loopback alone; limits links to the command's rate.
fn build_network(backend: &'static dyn Backend, lab: &Lab, exec: &Exec) -> Result<Option<Network>> {
    let limit = || {
        exec.rate_bps
            .map_or(Ok(()), |rate_bps| backend.limit_links(rate_bps))
    };
    if lab.nodes.is_empty() {
        limit()?;
        network::bring_up_loopback()?;
        return Ok(None);
    }
    network::bring_up_loopback()?;
    let network = Network::build(lab, backend)?;
    limit()?;
    Ok(Some(network))
}

fn start_recording(
    backend: &dyn Backend,
    lab: &Lab,
    execution: Option<&mut Execution>,
) -> Result<()> {
    match execution {
        Some(execution) => execution.start_recording(),
        None if lab.record.needs_recorder() => backend.start_recording(lab),
        None => Ok(()),
    }
}

fn stop_recording(
    backend: &dyn Backend,
    lab: &Lab,
    dir: &Path,
    execution: Option<Execution>,
) -> Result<()> {
    match execution {
        Some(mut execution) => {
            execution.stop_early()?;
            execution.finish(dir, PATIENCE_NS)?;
            Ok(())
        }
        None if lab.record.needs_recorder() => backend.stop_recording(),
        None => Ok(()),
    }
}

/// Starts the session in a thread, whose events the receiver gets.
fn begin(session: Session) -> Receiver<Happening> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let ended = session.live(&send);
        // The receiver may be gone, if the command took too long.
        let _ = send.send(Happening::Ended(ended, monotonic_ns()));
    });
    receive
}

/// Keeps the files that the command changed below its directory.
fn keep_files(lab: &Lab, exec: &Exec, upper: &Path, dir: &Path) -> Result<changes::Kept> {
    let directory = Path::new(&exec.directory);
    let own = directory.strip_prefix("/").unwrap_or(directory);
    changes::keep(&upper.join(own), &dir.join(FILES), lab.record.kept_bytes)
}

/// The namespace of the node in which the command starts.
fn node_of(network: Option<&Network>, exec: &Exec) -> Result<Option<File>> {
    let (Some(network), Some(node)) = (network, &exec.node) else {
        return Ok(None);
    };
    Ok(Some(network.node(node)?.file().try_clone()?))
}

/// Error for a command whose time is over, with the programs that still run. Called before these are ended.
fn overdue(limit_ns: i64) -> String {
    let running = programs::running().unwrap_or_default();
    let running = match running.is_empty() {
        true => String::new(),
        false => format!(" ({} still running)", running.join(", ")),
    };
    format!(
        "the command has not ended after {} s of its time{running}: it waits for something that does not \
         come (input, the internet, a device?), or never ends",
        limit_ns as f64 / 1e9
    )
}

/// Handles due events of the network, and changes that the command asks for, until the command has ended or its time is
/// over. Returns its exit code and when it ended, if it has; adds the changes that were carried out to `asked`.
fn wait_for_end(
    lab: &Lab,
    happenings: &Receiver<Happening>,
    mut execution: Option<&mut Execution>,
    asked: &mut Vec<Value>,
) -> Result<(Option<i32>, i64)> {
    let mut due = match execution {
        Some(_) => schedule(lab),
        None => Vec::new(),
    }
    .into_iter()
    .filter(|event| event.at_ns < lab.duration_ns)
    .peekable();
    loop {
        let next_ns = due.peek().map_or(lab.duration_ns, |event| event.at_ns);
        let left_ns = u64::try_from(lab.t0_ns + next_ns - monotonic_ns()).unwrap_or(0);
        match happenings.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(Happening::Ended(ended, end_ns)) => return Ok((Some(ended?), end_ns)),
            Ok(Happening::Asked(request)) => {
                let execution = execution.as_mut().context("there is no network")?;
                asked.extend(change_as_asked(execution, lab.t0_ns, *request));
            }
            Err(RecvTimeoutError::Timeout) => match (due.next(), execution.as_mut()) {
                (Some(event), Some(execution)) => execution.act(&event)?,
                _ => return Ok((None, monotonic_ns())),
            },
            Err(RecvTimeoutError::Disconnected) => bail!("the command's thread died"),
        }
    }
}

/// Carries out a change that the command asked for, and answers it. Returns the change with its instant, if it succeeded.
fn change_as_asked(execution: &mut Execution, t0_ns: i64, request: Request) -> Option<Value> {
    let Request {
        mut change,
        mut written,
        answer,
    } = request;
    change.at_ns = monotonic_ns() - t0_ns;
    written["at_ns"] = change.at_ns.into();
    let outcome = execution.change(&change);
    let succeeded = outcome.is_ok();
    // The client may be gone.
    let _ = answer.send(outcome);
    succeeded.then_some(written)
}

/// A thread, and the channel through which it gets a terminal and a descriptor that is readable once the command has
/// ended.
type Relay = (JoinHandle<Result<()>>, Sender<(Terminal, OwnedFd)>);

/// A command that runs in its own thread, and its environment.
struct Session {
    backend: &'static dyn Backend,
    command: Exec,
    /// Namespace of its node, if there is a network.
    namespace: Option<File>,
    inside: Inside,
    layers: Layers,
    t0_ns: i64,
    open_files: u64,
    stdout: File,
    stderr: File,
    dir: PathBuf,
}

impl Session {
    /// Starts the command and waits for its end; returns its exit code. Its changes of links go to `requests`.
    fn live(self, requests: &Sender<Happening>) -> Result<i32> {
        if let Some(namespace) = &self.namespace {
            // This precedes making the root, since /sys shows the interfaces of the namespace in which it is mounted.
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
        }
        let relay = self.command.terminal.then(|| self.relay()).transpose()?;
        root::enter(&self.command.home(), &self.layers, &self.inside)?;
        if self.command.control {
            let requests = requests.clone();
            control::listen(move |change, written| {
                let (answer, outcome) = channel();
                requests.send(Happening::Asked(Box::new(Request {
                    change,
                    written,
                    answer,
                })))?;
                outcome.recv()?
            })?;
        }
        let mut program = prepare(&self.command, self.open_files)?;
        let name = self.command.command[0].clone();
        let Some((relay, begin)) = relay else {
            program
                .stdout(self.stdout.try_clone()?)
                .stderr(self.stderr.try_clone()?);
            sleep_until(self.t0_ns);
            return self.live_as(&mut program, &name, self.stderr.try_clone()?);
        };
        let terminal = Terminal::open()?;
        terminal.give_to(&mut program)?;
        let (over, ended) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        sleep_until(self.t0_ns);
        let _ = begin.send((terminal, over));
        let code = self.live_as(&mut program, &name, self.stdout.try_clone()?)?;
        drop((program, ended));
        relay
            .join()
            .map_err(|_| anyhow!("the thread of the terminal died"))??;
        Ok(code)
    }

    /// Starts the command and waits for its end; returns its exit code, or a shell's code if it cannot be started.
    fn live_as(&self, program: &mut Command, name: &str, mut complaints: File) -> Result<i32> {
        let costs = Costs {
            start_ns: &self.command.start_ns,
            syscall_ns: self.command.syscall_ns,
            compute: self.command.compute,
        };
        let mut refused = None;
        let started = self.backend.taking_time(&costs, &mut || {
            program.spawn().map_err(|e| {
                refused = Some(e.kind());
                anyhow!("netwarp: cannot start `{name}`: {e}")
            })
        });
        match (started, refused) {
            (Ok(child), _) => Ok(wait_for(Pid::from_raw(child.id() as i32))),
            (Err(e), Some(kind)) => {
                let _ = writeln!(complaints, "{e}");
                Ok(match kind {
                    ErrorKind::NotFound => NOT_FOUND,
                    _ => NOT_STARTED,
                })
            }
            (Err(e), None) => Err(e),
        }
    }

    /// Starts the thread that carries keys and output between terminal and guard. It stays in the root that contains
    /// the run directory.
    fn relay(&self) -> Result<Relay> {
        let (begin, terminals) = channel::<(Terminal, OwnedFd)>();
        let (backend, screen) = (self.backend, self.stdout.try_clone()?);
        let is_paced = self.command.pace.is_some();
        let keyboard = Keyboard::new(self.stderr.try_clone()?, self.dir.clone(), is_paced);
        let relay = std::thread::spawn(move || match terminals.recv() {
            Ok((terminal, over)) => terminal.relay(backend, keyboard, screen, over),
            Err(_) => Ok(()),
        });
        Ok((relay, begin))
    }
}

impl Exec {
    fn home(&self) -> PathBuf {
        self.env.get("HOME").unwrap_or("/root").into()
    }
}

fn prepare(exec: &Exec, open_files: u64) -> Result<Command> {
    let (program, arguments) = exec.command.split_first().context("an empty command")?;
    std::env::set_current_dir(&exec.directory)
        .with_context(|| format!("the working directory {} is not there", exec.directory))?;
    setrlimit(
        Resource::RLIMIT_NOFILE,
        OPEN_FILES.min(open_files),
        open_files,
    )?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(exec.env.0.iter().cloned());
    if !exec.terminal {
        command.stdin(input(exec)?).process_group(0);
    }
    Ok(command)
}

/// The command's input: a file without a name, so that it can be read again from any position, as a script can.
fn input(exec: &Exec) -> Result<Stdio> {
    let Some(text) = &exec.input else {
        return Ok(Stdio::null());
    };
    let mut file = File::from(memfd_create(c"input", MFdFlags::empty())?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

/// Waits for the command, and meanwhile reaps orphans, as pid 1 must. Returns its exit code.
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

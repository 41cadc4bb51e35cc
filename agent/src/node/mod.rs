//! The engine `ssh` on a machine that is a node: a session with netwarp over standard input and output, which an SSH
//! connection carries. It reports the machine's properties, sets up the node's part of a lab, runs it, and restores the
//! machine, also when the connection breaks (standard input then closes, or falls silent).

mod check;
mod input;
mod keeper;
mod lock;
mod output;
mod state;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{SigSet, Signal};
use serde_json::{Value, json};

use self::input::{Check, Input, Order, Prepare};
use self::keeper::{Keeper, Surroundings};
use self::lock::Lock;
use self::output::Output;
use self::state::State;
use crate::backend::{STOP_RUN, StartSignal};
use crate::constants::LAB_FORMAT;
use crate::guard::landlock_version;
use crate::init::RESERVE;
use crate::lab::{Lab, RunFile};
use crate::part::{self, Own};
use crate::time::{monotonic_ns, realtime_offset_ns, skew_clocks};

/// An environment variable for tests only: the difference of this node's clock from the machine's.
const TEST_CLOCK: &str = "NETWARP_TEST_CLOCK";
/// The run's directory, in the session's directory.
const RUN: &str = "run";
/// More than the reason of a run's failure takes.
const RESERVE_BYTES: usize = 64 << 10;
/// Interval of checking whether netwarp is still there, in milliseconds.
const MOMENT_MS: u16 = 1000;

#[derive(clap::Args)]
pub struct Options {
    /// The session's own directory, which holds this program and is removed at the end
    #[arg(long)]
    dir: PathBuf,
    /// sshd's description of the connection (SSH_CONNECTION)
    #[arg(long, default_value = "")]
    connection: String,
    /// Message for other sessions that find the machine taken
    #[arg(long, default_value = "")]
    whose: String,
    /// Difference of this node's clock from the machine's, for tests only (sudo drops the environment)
    #[arg(long, hide = true)]
    clock: Option<String>,
}

/// Runs a session with netwarp to its end.
pub fn main(options: Options) -> ExitCode {
    // Signals that end a login must not end the process that restores the machine.
    let signals = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGPIPE,
    ];
    let _ = SigSet::from_iter(signals).thread_block();
    let clock = options.clock.clone().or(std::env::var(TEST_CLOCK).ok());
    let outcome = clock
        .filter(|words| !words.is_empty())
        .map_or(Ok(()), |words| skew_clocks(&words))
        .and_then(|()| Session::new(options)?.last());
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::FAILURE
        }
    }
}

struct Session {
    options: Options,
    output: Output,
    lock: Option<Lock>,
    /// The state to restore.
    state: Option<State>,
    keeper: Option<Keeper>,
    late_ns: Option<i64>,
    /// Whether the run is over.
    ended: bool,
    /// The lab's indices of interfaces, by this machine's.
    indices: BTreeMap<u32, u32>,
}

/// An event for which the session waits.
enum Event {
    Order(Box<Order>),
    Run,
    RunEnded,
    Silence,
}

impl Session {
    fn new(options: Options) -> Result<Self> {
        Ok(Self {
            options,
            output: Output::open()?,
            lock: None,
            state: None,
            keeper: None,
            late_ns: None,
            ended: false,
            indices: BTreeMap::new(),
        })
    }

    /// Runs until netwarp ends the session, or is gone; afterwards the machine is as it was.
    fn last(mut self) -> Result<()> {
        let outcome = self.converse();
        if let Some(keeper) = self.keeper.take() {
            keeper.end();
        }
        let failed = self.restore();
        drop(self.lock.take());
        lock::remove_dir(&self.options.dir);
        ensure!(failed.is_empty(), "{}", failed.join("; "));
        outcome
    }

    fn converse(&mut self) -> Result<()> {
        let mut input = Input::open();
        self.output
            .answer(&json!({"agent": env!("CARGO_PKG_VERSION")}))?;
        loop {
            match self.wait(&mut input)? {
                Event::Order(order) => {
                    if matches!(*order, Order::End {}) {
                        let failed = self.restore_after_run();
                        return self.output.answer(&json!({"restored": failed}));
                    }
                    if let Err(e) = self.obey(*order) {
                        self.output.answer(&json!({"failed": format!("{e:#}")}))?;
                    }
                }
                Event::Run => self.hear_run()?,
                Event::RunEnded => self.run_died()?,
                Event::Silence => bail!("netwarp is gone"),
            }
        }
    }

    fn wait(&self, input: &mut Input) -> Result<Event> {
        loop {
            if let Some(order) = input.next_order()? {
                return Ok(Event::Order(Box::new(order)));
            }
            if input.is_closed() {
                return Ok(Event::Silence);
            }
            let stdin = std::io::stdin();
            let mut fds = vec![PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            // Once the run has ended, its descriptors stay readable.
            if let Some(keeper) = self.keeper.as_ref().filter(|_| !self.has_ended()) {
                for fd in [
                    keeper.run.as_fd(),
                    keeper.report.as_fd(),
                    keeper.ended.as_fd(),
                ] {
                    fds.push(PollFd::new(fd, PollFlags::POLLIN));
                }
            }
            match poll(&mut fds, MOMENT_MS) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
            let happened: Vec<PollFlags> = fds
                .iter()
                .map(|fd| fd.revents().unwrap_or(PollFlags::empty()))
                .collect();
            if !happened[0].is_empty() {
                input.fill()?;
            } else if input.is_silent() {
                return Ok(Event::Silence);
            }
            if happened
                .get(1)
                .is_some_and(|e| e.contains(PollFlags::POLLIN))
            {
                return Ok(Event::Run);
            }
            if happened.iter().skip(2).any(|e| !e.is_empty()) {
                return Ok(Event::RunEnded);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ended || self.state.is_none()
    }

    fn obey(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Alive {} | Order::End {} => Ok(()),
            Order::Clock {} => {
                let heard_ns = monotonic_ns();
                let wall_ns = heard_ns + realtime_offset_ns();
                let said_ns = monotonic_ns();
                self.output
                    .answer(&json!({"heard_ns": heard_ns, "said_ns": said_ns, "wall_ns": wall_ns}))
            }
            Order::Check(asked) => self.check(&asked),
            Order::Prepare(asked) => self.prepare(*asked),
            Order::Start { t0_ns } => {
                let keeper = self.keeper.as_mut().context("there is no run to start")?;
                keeper.tell_run(t0_ns)
            }
            Order::Stop {} => match self.keeper.as_mut().filter(|_| !self.ended) {
                Some(keeper) => keeper.tell_run(STOP_RUN),
                None => Ok(()),
            },
            // The keeper stays: if this process is killed now, the keeper removes the last traces.
            Order::Fetch {} => {
                let failed = self.restore();
                let root = self.options.dir.join(RUN);
                let _ = fs::remove_file(root.join(RESERVE));
                self.output.files(&root, &root)?;
                self.output.answer(&json!({"restored": failed}))
            }
        }
    }

    /// Finds this machine's interfaces at the node's links, and obstacles to the node's part of a lab.
    fn problems(
        &mut self,
        interfaces: &BTreeMap<String, String>,
        node: &str,
        lab: Lab,
    ) -> Result<(BTreeMap<String, Own>, Vec<String>)> {
        let (own, mut problems) = check::interfaces(interfaces, &self.options.connection)?;
        ensure!(
            lab.format == LAB_FORMAT,
            "the lab has format {}, this agent executes {LAB_FORMAT}",
            lab.format
        );
        let ends = lab.links.iter().map(|link| (&link.name, &link.ends));
        self.indices = ends
            .flat_map(|(link, ends)| ends.iter().map(move |end| (link, end)))
            .filter(|(_, end)| end.node == node)
            .filter_map(|(link, end)| Some((own.get(link)?.index, end.index)))
            .collect();
        if problems.is_empty() {
            let part = part::part_of(lab, node, &own)?;
            problems.extend(check::network(&part, &self.options.connection)?);
        }
        Ok((own, problems))
    }

    fn take(&mut self) -> Result<Option<String>> {
        if self.lock.is_some() || !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        let (lock, note) = Lock::take(&self.options.whose)?;
        self.lock = Some(lock);
        Ok(note)
    }

    fn check(&mut self, asked: &Check) -> Result<()> {
        let note = self.take()?;
        let mut problems = Vec::new();
        if let Some(lab) = &asked.lab {
            let lab: Lab = serde_json::from_value(lab.clone()).context("lab")?;
            (_, problems) = self.problems(&asked.interfaces, &asked.node, lab)?;
        }
        let refused = if asked.lab.is_some() && problems.is_empty() {
            probe(&asked.kernel)?
        } else {
            Value::Null
        };
        let uname = nix::sys::utsname::uname()?;
        let words = [
            uname.sysname(),
            uname.release(),
            uname.version(),
            uname.machine(),
        ];
        let kernel: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let programs: BTreeMap<&String, Option<String>> = asked
            .programs
            .iter()
            .map(|name| (name, digest(name, &asked.search_path)))
            .collect();
        self.output.answer(&json!({
            "kernel": kernel.join(" "),
            "release": uname.release().to_string_lossy(),
            "landlock": landlock_version(),
            "programs": programs,
            "refused": refused,
            "problems": problems,
            "note": note,
        }))
    }

    fn prepare(&mut self, asked: Prepare) -> Result<()> {
        ensure!(self.keeper.is_none(), "a session has one run");
        let note = self.take()?;
        let RunFile { lab } = serde_json::from_value(asked.run.clone()).context("run.json")?;
        let (own, problems) = self.problems(&asked.interfaces, &asked.node, lab)?;
        ensure!(problems.is_empty(), "{}", problems.join("; "));
        let dir = self.options.dir.join(RUN);
        fs::create_dir(&dir).with_context(|| dir.display().to_string())?;
        fs::write(dir.join("run.json"), asked.run.to_string()).context("run.json")?;
        fs::write(dir.join(RESERVE), vec![0; RESERVE_BYTES]).context(RESERVE)?;
        let state = State::read(&self.options.dir, &own)?;
        self.lock
            .as_ref()
            .context("the agent is not root")?
            .remember(&state)?;
        let read = asked.readable();
        let around = Surroundings {
            read: &read,
            search_path: &asked.search_path,
            node: &asked.node,
            own: &own,
        };
        let keeper = Keeper::start(&dir, &state, &around);
        self.state = Some(state);
        self.keeper = Some(keeper?);
        if let Some(note) = note {
            eprintln!("{note}");
        }
        Ok(())
    }

    /// Handles a signal of the run.
    fn hear_run(&mut self) -> Result<()> {
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        match StartSignal::read(&mut keeper.run) {
            Ok(StartSignal::Built) => self
                .output
                .answer(&json!({"built": true, "landlock": landlock_version()})),
            Ok(StartSignal::Begun(late_ns)) => {
                self.late_ns = Some(late_ns);
                Ok(())
            }
            Ok(StartSignal::Ended(status)) => self.run_ended(Some(status)),
            Err(_) => self.run_died(),
        }
    }

    /// Reports a run that has ended without a signal.
    fn run_died(&mut self) -> Result<()> {
        let mut status = [0];
        let told = match &mut self.keeper {
            Some(keeper) => keeper.report.read(&mut status).unwrap_or(0) == 1,
            None => false,
        };
        if !told {
            // The keeper has ended, and the kernel is ending the run.
            keeper::reap();
        }
        self.run_ended(told.then_some(status[0]))
    }

    /// Reports that the run is over here. Others may need this node a little longer, so it stays as it is until
    /// netwarp, which all nodes report to, asks for the records.
    fn run_ended(&mut self, status: Option<u8>) -> Result<()> {
        self.ended = true;
        self.output.answer(&json!({
            "ended": status,
            "late_ns": self.late_ns,
            "indices": self.indices,
        }))
    }

    fn restore_after_run(&mut self) -> Vec<String> {
        if let Some(keeper) = self.keeper.take() {
            keeper.end();
        }
        self.restore()
    }

    /// Restores the machine; returns what could not be restored.
    fn restore(&mut self) -> Vec<String> {
        let Some(state) = self.state.take() else {
            return Vec::new();
        };
        let failed = state.restore();
        if failed.is_empty() {
            lock::forget();
        }
        failed
    }
}

/// Finds what this kernel refuses, as `netwarp-agent host-probe` answers.
fn probe(asked: &Value) -> Result<Value> {
    let mut child = Command::new("/proc/self/exe")
        .arg("host-probe")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("host-probe")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(asked.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).context("host-probe");
    }
    bail!("{}", String::from_utf8_lossy(&output.stderr).trim())
}

/// SHA-256 of a program of this machine; None if the program is missing.
fn digest(name: &str, search_path: &str) -> Option<String> {
    let places = search_path
        .split(':')
        .map(|place| Path::new(place).join(name));
    let path = places.into_iter().find(|path| path.is_file())?;
    let output = Command::new("sha256sum").arg(path).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().next().map(String::from)
}

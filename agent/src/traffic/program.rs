//! Starts programs of the host in the namespaces of the lab, for the kinds of flow that need them.
//!
//! A server is started while the lab is built and has until t0 to be ready; the client starts at the flow's start.
//! Their output is kept beside the records; neither may write more than a limit, and none outlives the run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};

use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::threads::{lock, spawn};
use crate::backend::{Backend, Costs};
use crate::machine::program::{self, MAX_FILE_BYTES, Place, describe_end, end, errors_of};
use crate::machine::programs::ProgramRoot;
use crate::time::{monotonic_ns, sleep_until};

/// Kept bytes of a file that has reached the limit.
const KEPT_OUTPUT_BYTES: u64 = 64 << 10;
/// Interval of checking whether a server is ready, which it should be before t0.
const READY_STEP_NS: i64 = 10_000_000;
const READY_BEFORE_T0_NS: i64 = 1_000_000_000;

/// The programs to start.
pub struct Plan {
    pub server: Option<Vec<String>>,
    pub client: Vec<String>,
    pub ready_port: Option<u16>,
    /// Whether their sockets are recorded as the flow's, since their ports are not known.
    pub owns_sockets: bool,
    /// Files for the standard output of client and server.
    pub client_out: PathBuf,
    pub server_out: PathBuf,
    /// Reader of the client's output, if this is a test, which must complete if it can connect. Other programs end with
    /// the run.
    pub report: Option<Report>,
    /// A root for the programs, with a directory for each.
    pub root: Option<Arc<ProgramRoot>>,
}

/// How a test's results are read from its client's output.
#[derive(Clone, Copy)]
pub struct Report {
    /// Reads the statistics of a flow.
    pub read: fn(&Path, &mut FlowStats) -> Result<()>,
    /// Whether a client failed because its server did not answer for as long as TCP retransmits.
    pub is_unanswered: fn(&Path) -> bool,
}

/// A client and its server, if there is one, or the one of them on this machine.
struct Programs {
    server: Option<Child>,
    client: Arc<Mutex<Client>>,
    has_client: bool,
    plan: Plan,
}

#[derive(Default)]
struct Client {
    child: Option<Child>,
    started_ns: Option<i64>,
    status: Option<ExitStatus>,
    error: Option<String>,
}

/// Starts the server and waits until it is ready; the client waits for its start in a thread.
pub fn prepare(setup: &Setup, plan: Plan) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let backend = setup.network.backend;
    let owner = plan.owns_sockets.then_some(flow.id);
    let server = match (&plan.server, setup.destination()) {
        (Some(words), Some(node)) => Some(node.run(|| {
            start(
                backend,
                (&format!("{} server", flow.name), owner),
                node.syscall_ns(),
                words,
                &plan.server_out,
                plan.root.as_deref(),
            )
        })??),
        _ => None,
    };
    let mut programs = Programs {
        server,
        client: Arc::default(),
        has_client: false,
        plan,
    };
    if let (Some(port), Some(node)) = (programs.plan.ready_port, setup.destination()) {
        let deadline = t0_ns - READY_BEFORE_T0_NS;
        node.run(|| programs.wait_ready(port, deadline))??;
    }
    let Some(source) = setup.source() else {
        return Ok(Box::new(programs));
    };
    programs.has_client = true;
    let namespace = source.file().try_clone()?;
    let syscall_ns = source.syscall_ns();
    let root = programs.plan.root.clone();
    let (client, name, words, out) = (
        Arc::clone(&programs.client),
        format!("{} client", flow.name),
        programs.plan.client.clone(),
        programs.plan.client_out.clone(),
    );
    let at = t0_ns + flow.start_ns;
    spawn(format!("from {}", flow.name), move || {
        sleep_until(at);
        let child = nix::sched::setns(&namespace, nix::sched::CloneFlags::CLONE_NEWNET)
            .map_err(anyhow::Error::from)
            .and_then(|()| {
                start(
                    backend,
                    (&name, owner),
                    syscall_ns,
                    &words,
                    &out,
                    root.as_deref(),
                )
            });
        let mut client = lock(&client);
        client.started_ns = Some(monotonic_ns() - t0_ns);
        match child {
            Ok(child) => client.child = Some(child),
            Err(e) => client.error = Some(format!("{e:#}")),
        }
    })?;
    Ok(Box::new(programs))
}

impl Programs {
    fn wait_ready(&mut self, port: u16, deadline_ns: i64) -> Result<()> {
        let name = self
            .plan
            .server
            .as_ref()
            .map_or_else(String::new, |w| w.join(" "));
        loop {
            if listens(port) {
                return Ok(());
            }
            if let Some(status) = self
                .server
                .as_mut()
                .map(Child::try_wait)
                .transpose()?
                .flatten()
            {
                bail!(
                    "the server `{name}` ended early: {}",
                    describe_end(status, &self.plan.server_out)
                );
            }
            if monotonic_ns() + READY_STEP_NS > deadline_ns {
                bail!("the server `{name}` never got ready: nothing listens on port {port}");
            }
            sleep_until(monotonic_ns() + READY_STEP_NS);
        }
    }
}

impl Generator for Programs {
    fn stop(&mut self) {}

    /// A test is busy until its server has received the client's last message, since it writes its output only then.
    fn is_busy(&mut self) -> bool {
        let mut client = lock(&self.client);
        if let Some(child) = client.child.as_mut() {
            match child.try_wait() {
                Ok(Some(status)) => {
                    client.status = Some(status);
                    client.child = None;
                }
                _ => return self.plan.report.is_some(),
            }
        }
        self.plan.report.is_some()
            && (!self.has_client || client.status.is_some_and(|status| status.success()))
            && self
                .server
                .as_mut()
                .is_some_and(|server| matches!(server.try_wait(), Ok(None)))
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        self.is_busy();
        let mut client = lock(&self.client);
        stats.connect_ns = client.started_ns;
        stats.error.clone_from(&client.error);
        let report = self.plan.report.filter(|_| self.has_client);
        // Loss in the network is a result, not an error.
        let mut is_unanswered = report.is_some_and(|r| (r.is_unanswered)(&self.plan.client_out));
        let words = self.plan.client.join(" ");
        if let Some(status) = client.status
            && !status.success()
            && !is_unanswered
        {
            stats.error = Some(format!(
                "the client `{words}` failed: {}",
                describe_end(status, &self.plan.client_out)
            ));
        }
        if let Some(mut child) = client.child.take() {
            is_unanswered = self.plan.ready_port.is_some_and(|p| connects(&child, p));
            // A program without a fixed end is ended with the run; a test has had its time to finish.
            end(&mut child);
            if is_unanswered {
                stats.connect_ns = None;
            } else if report.is_some() {
                stats.error = Some(format!("`{words}` had not ended with the run"));
            }
        } else if let (Some(report), None) = (report, &stats.error) {
            (report.read)(&self.plan.client_out, stats)?;
        }
        drop(client);
        if let Some(mut server) = self.server.take() {
            let early = server.try_wait()?.filter(|s| !s.success());
            end(&mut server);
            if let (Some(status), None, false) = (early, &stats.error, is_unanswered) {
                stats.error = Some(format!(
                    "the server failed: {}",
                    describe_end(status, &self.plan.server_out)
                ));
            }
        }
        cut(&self.plan.client_out)?;
        cut(&self.plan.server_out)
    }
}

/// Keeps only the beginning of output that reached the limit.
fn cut(out: &Path) -> Result<()> {
    for path in [out.to_path_buf(), errors_of(out)] {
        if std::fs::metadata(&path).is_ok_and(|m| m.len() >= MAX_FILE_BYTES) {
            File::options()
                .write(true)
                .open(&path)?
                .set_len(KEPT_OUTPUT_BYTES)?;
        }
    }
    Ok(())
}

/// Starts a flow's program in the namespace of this thread, with the stream of random numbers of this `name`. Each of
/// its system calls takes `syscall_ns`.
fn start(
    backend: &dyn Backend,
    (name, owner): (&str, Option<u32>),
    syscall_ns: u64,
    words: &[String],
    out: &Path,
    root: Option<&ProgramRoot>,
) -> Result<Child> {
    let work_dir = backend.work_dir();
    let own = out.file_stem().unwrap_or_default().to_string_lossy();
    let place = Place {
        directory: &root.map_or(work_dir.clone(), |_| ProgramRoot::directory(&own)),
        temporary: &work_dir,
        root: root.map(ProgramRoot::namespace),
        rules: backend.program_rules(),
    };
    backend.name_randomness(name)?;
    backend.own_sockets(owner)?;
    let started = backend.taking_time(&Costs::of_calls(syscall_ns), &mut || {
        program::start(words, &place, out, &errors_of(out))
    });
    backend.own_sockets(None)?;
    started
}

/// Whether something in this namespace listens on a TCP port.
fn listens(port: u16) -> bool {
    has_socket("thread-self", |local, _, state| {
        is_port(local, port) && state == "0A"
    })
}

/// Whether a client still waits for the first answer from a TCP port.
fn connects(client: &Child, port: u16) -> bool {
    has_socket(&client.id().to_string(), |_, remote, state| {
        is_port(remote, port) && state == "02"
    })
}

/// Whether the namespace of a process has a TCP socket with the wanted local address, remote address and state
/// (/proc/PID/net/tcp, tcp6).
fn has_socket(process: &str, is_wanted: impl Fn(&str, &str, &str) -> bool) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        std::fs::read_to_string(format!("/proc/{process}/net/{table}"))
            .unwrap_or_default()
            .lines()
            .skip(1)
            .any(|line| {
                let mut words = line.split_whitespace().skip(1);
                let (local, remote, state) = (words.next(), words.next(), words.next());
                matches!((local, remote, state), (Some(l), Some(r), Some(s)) if is_wanted(l, r, s))
            })
    })
}

fn is_port(address: &str, port: u16) -> bool {
    address.ends_with(&format!(":{port:04X}"))
}

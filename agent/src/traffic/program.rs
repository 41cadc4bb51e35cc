//! `iperf3` and `command`: programs of the host in the namespaces of the lab.
//!
//! A server is started while the lab is built and has until t0 to be ready; the client starts at the flow's start.
//! What they print is kept beside the records; neither may write more than a limit, and none outlives the run.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{SigSet, Signal, killpg};

use super::{Account, Generator, lock, spawn};
use crate::lab::{Flow, Iperf3, Tool};
use crate::network::Network;
use crate::time::{monotonic_ns, sleep_until};

/// The longest file that a program may write: it must not fill the host's disk.
const MOST_OUTPUT_BYTES: u64 = 256 << 20;
/// What is kept of such a file.
const KEPT_OUTPUT_BYTES: u64 = 64 << 10;
/// How often a server that is not ready yet is asked again, and when it should be: before t0.
const READY_STEP_NS: i64 = 10_000_000;
const READY_BEFORE_T0_NS: i64 = 1_000_000_000;
const TAIL_BYTES: usize = 400;
/// Where programs start: the guest's own, writable, and the same on every host.
const WORK: &str = "/run";
/// How many intervals a receiver of UDP is asked for at most.
const INTERVALS_MOST: i64 = 2000;

/// What is to be started.
struct Plan {
    server: Option<Vec<String>>,
    client: Vec<String>,
    ready_port: Option<u16>,
    /// Where the client's and the server's standard output go.
    client_out: PathBuf,
    server_out: PathBuf,
}

/// A client and, if there is one, its server.
pub struct Programs {
    server: Option<Child>,
    client: Arc<Mutex<Client>>,
    plan: Plan,
    one_shot_server: bool,
}

#[derive(Default)]
struct Client {
    child: Option<Child>,
    started_ns: Option<i64>,
    status: Option<ExitStatus>,
    error: Option<String>,
}

impl Programs {
    /// Starts the server and waits until it is ready; the client waits for its start in a thread.
    pub fn prepare(network: &Network, flow: &Flow, t0_ns: i64, dir: &Path) -> Result<Self> {
        let plan = plan(flow, dir)?;
        let server = match &plan.server {
            Some(words) => Some(
                network
                    .node(&flow.to)?
                    .run(|| start(&format!("{} server", flow.name), words, &plan.server_out))??,
            ),
            None => None,
        };
        let mut programs = Self {
            server,
            client: Arc::default(),
            plan,
            one_shot_server: matches!(flow.tool, Tool::Iperf3(_)),
        };
        if let Some(port) = programs.plan.ready_port {
            let deadline = t0_ns - READY_BEFORE_T0_NS;
            network
                .node(&flow.to)?
                .run(|| programs.wait_ready(port, deadline))??;
        }
        let namespace = network.node(&flow.from)?.file().try_clone()?;
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
                .and_then(|()| start(&name, &words, &out));
            let mut client = lock(&client);
            client.started_ns = Some(monotonic_ns() - t0_ns);
            match child {
                Ok(child) => client.child = Some(child),
                Err(e) => client.error = Some(format!("{e:#}")),
            }
        })?;
        Ok(programs)
    }

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
                    self.told(status, &self.plan.server_out)
                );
            }
            if monotonic_ns() + READY_STEP_NS > deadline_ns {
                bail!("the server `{name}` never got ready: nothing listens on port {port}");
            }
            sleep_until(monotonic_ns() + READY_STEP_NS);
        }
    }

    /// How a program ended, with the end of what it printed.
    fn told(&self, status: ExitStatus, out: &Path) -> String {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (_, Some(libc::SIGXFSZ)) => {
                format!("it wrote more than {} MB", MOST_OUTPUT_BYTES >> 20)
            }
            (_, Some(signal)) => format!("signal {signal}"),
            _ => "unknown".to_string(),
        };
        let tail = [errors_of(out), out.to_path_buf()]
            .iter()
            .map(|path| tail(path))
            .find(|t| !t.is_empty());
        tail.map_or(how.clone(), |t| format!("{how}: {t}"))
    }
}

impl Generator for Programs {
    fn stop(&mut self) {}

    /// iperf3 until its server has heard the client's last word, too: only then it writes what it printed.
    fn is_busy(&mut self) -> bool {
        let mut client = lock(&self.client);
        if let Some(child) = client.child.as_mut() {
            match child.try_wait() {
                Ok(Some(status)) => {
                    client.status = Some(status);
                    client.child = None;
                }
                _ => return self.one_shot_server,
            }
        }
        self.one_shot_server
            && client.status.is_some_and(|status| status.success())
            && self
                .server
                .as_mut()
                .is_some_and(|server| matches!(server.try_wait(), Ok(None)))
    }

    fn account(&mut self, account: &mut Account) -> Result<()> {
        self.is_busy();
        let mut client = lock(&self.client);
        account.connect_ns = client.started_ns;
        account.error.clone_from(&client.error);
        if let Some(status) = client.status.filter(|s| !s.success()) {
            let words = self.plan.client.join(" ");
            account.error = Some(format!(
                "the client `{words}` failed: {}",
                self.told(status, &self.plan.client_out)
            ));
        }
        if let Some(mut child) = client.child.take() {
            // A command that runs for as long as it may is ended with the run; iperf3 has had its time to finish.
            end(&mut child);
            if self.one_shot_server {
                account.error = Some(format!(
                    "`{}` had not ended with the run",
                    self.plan.client.join(" ")
                ));
            }
        }
        drop(client);
        if self.one_shot_server && account.error.is_none() {
            read_iperf3(&self.plan.client_out, account)?;
        }
        if let Some(mut server) = self.server.take() {
            let early = server.try_wait()?.filter(|s| !s.success());
            end(&mut server);
            if let (Some(status), None) = (early, &account.error) {
                account.error = Some(format!(
                    "the server failed: {}",
                    self.told(status, &self.plan.server_out)
                ));
            }
        }
        cut(&self.plan.client_out)?;
        cut(&self.plan.server_out)
    }
}

/// Of what fills a disk only the beginning is kept.
fn cut(out: &Path) -> Result<()> {
    for path in [out.to_path_buf(), errors_of(out)] {
        if std::fs::metadata(&path).is_ok_and(|m| m.len() >= MOST_OUTPUT_BYTES) {
            File::options()
                .write(true)
                .open(&path)?
                .set_len(KEPT_OUTPUT_BYTES)?;
        }
    }
    Ok(())
}

fn plan(flow: &Flow, dir: &Path) -> Result<Plan> {
    let (client_out, server_out) = (
        dir.join(format!("{}-client.out", flow.name)),
        dir.join(format!("{}-server.out", flow.name)),
    );
    match &flow.tool {
        Tool::Iperf3(options) => Ok(Plan {
            server: Some(iperf3_server(flow, options)),
            client: iperf3(flow, options),
            ready_port: Some(flow.destination_port),
            client_out: dir.join(format!("iperf3-{}.json", flow.name)),
            server_out: match is_udp(options) {
                true => dir.join(format!("iperf3-{}-server.json", flow.name)),
                false => server_out,
            },
        }),
        Tool::Command {
            client,
            server,
            ready_port,
        } => Ok(Plan {
            server: server.as_ref().map(|words| fill(words, flow)),
            client: fill(client, flow),
            ready_port: *ready_port,
            client_out,
            server_out,
        }),
        _ => bail!("not a program"),
    }
}

/// The server's words. Of UDP it alone knows what arrived, so that it says so, in short intervals: of these those in the
/// run's window count.
fn iperf3_server(flow: &Flow, options: &Iperf3) -> Vec<String> {
    let mut words: Vec<String> = [
        "iperf3",
        "-s",
        "-1",
        "-B",
        &flow.destination.to_string(),
        "-p",
        &flow.destination_port.to_string(),
    ]
    .map(String::from)
    .to_vec();
    if is_udp(options) {
        words.extend(["-J".to_string(), "-i".to_string(), interval(flow)]);
    }
    words
}

fn is_udp(options: &Iperf3) -> bool {
    options.protocol == "udp"
}

/// How often a receiver of UDP says what arrived, in seconds: ten times a second, up to 2000 times in all.
fn interval(flow: &Flow) -> String {
    let tenths = (flow.duration_ns / INTERVALS_MOST / 100_000_000).clamp(1, 600);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The client's words; the time is rounded down to the whole seconds that iperf3 takes.
fn iperf3(flow: &Flow, options: &Iperf3) -> Vec<String> {
    let destination = SocketAddr::new(flow.destination, flow.destination_port);
    let mut words: Vec<String> = [
        "iperf3",
        "-J",
        "-c",
        &destination.ip().to_string(),
        "-p",
        &destination.port().to_string(),
    ]
    .map(String::from)
    .to_vec();
    match options.bytes {
        Some(bytes) => words.extend(["-n".to_string(), bytes.to_string()]),
        None => words.extend([
            "-t".to_string(),
            (flow.duration_ns / 1_000_000_000).max(1).to_string(),
        ]),
    }
    if is_udp(options) {
        words.push("-u".to_string());
        if options
            .args
            .iter()
            .any(|word| word == "-R" || word == "--reverse")
        {
            words.extend(["-i".to_string(), interval(flow)]);
        }
    }
    if let Some(rate) = options.rate_bps {
        words.extend(["-b".to_string(), rate.to_string()]);
    }
    if let Some(cc) = &options.cc {
        words.extend(["-C".to_string(), cc.clone()]);
    }
    words.extend(options.args.iter().cloned());
    words
}

/// What iperf3 says of itself: `end.sum_sent`, `end.sum_received`, for UDP `end.sum`; its own error is ours.
fn read_iperf3(out: &Path, account: &mut Account) -> Result<()> {
    let text = std::fs::read_to_string(out).context("iperf3's output")?;
    let told: serde_json::Value =
        serde_json::from_str(&text).context("iperf3's output is no JSON")?;
    if let Some(error) = told["error"].as_str() {
        account.error = Some(format!("iperf3: {error}"));
        return Ok(());
    }
    let end = &told["end"];
    let sum = |name: &str, what: &str| {
        end[name][what]
            .as_u64()
            .or_else(|| end["sum"][what].as_u64())
    };
    account.sent_bytes = sum("sum_sent", "bytes");
    account.received_bytes = sum("sum_received", "bytes");
    // The bytes that a receiver counted came in the time that it counted, which a deep queue makes longer than the test.
    account.received_in_ns = end["sum_received"]["seconds"]
        .as_f64()
        .map(|seconds| (seconds * 1e9).round() as i64);
    account.retransmits = end["sum_sent"]["retransmits"].as_u64().map(|v| v as u32);
    account.sent_pkts = end["sum"]["packets"].as_u64();
    account.received_pkts = account
        .sent_pkts
        .zip(end["sum"]["lost_packets"].as_u64())
        .map(|(all, lost)| all - lost.min(all));
    account.jitter_us = end["sum"]["jitter_ms"].as_f64().map(|ms| ms * 1e3);
    Ok(())
}

/// `{source}`, `{destination}` and `{port}` in a user's command are the flow's.
fn fill(words: &[String], flow: &Flow) -> Vec<String> {
    words
        .iter()
        .map(|word| {
            word.replace("{source}", &flow.source.to_string())
                .replace("{destination}", &flow.destination.to_string())
                .replace("{port}", &flow.destination_port.to_string())
        })
        .collect()
}

/// Starts a program in the namespace of this thread, in a process group of its own, with chance of its own: `name`.
fn start(name: &str, words: &[String], out: &Path) -> Result<Child> {
    crate::chance::name(name)?;
    let (program, args) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::create(out)?)
        .stderr(File::create(errors_of(out))?)
        .env("TMPDIR", WORK)
        .current_dir(WORK)
        .process_group(0);
    // SAFETY: between fork and exec only sigprocmask and setrlimit are called, which are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            // A generator's thread blocks all signals; a program gets them.
            SigSet::empty().thread_set_mask()?;
            let limit = libc::rlimit {
                rlim_cur: MOST_OUTPUT_BYTES,
                rlim_max: MOST_OUTPUT_BYTES,
            };
            if libc::setrlimit(libc::RLIMIT_FSIZE, &limit) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))
}

fn errors_of(out: &Path) -> PathBuf {
    out.with_extension("err")
}

fn end(child: &mut Child) {
    let group = nix::unistd::Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Whether something in this namespace listens on a TCP port (state 0A in /proc/net/tcp, tcp6).
fn listens(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"]
        .iter()
        .any(|path| {
            std::fs::read_to_string(path)
                .unwrap_or_default()
                .lines()
                .skip(1)
                .any(|line| {
                    let mut words = line.split_whitespace().skip(1);
                    words.next().is_some_and(|local| local.ends_with(&wanted))
                        && words.nth(1) == Some("0A")
                })
        })
}

/// The end of a file, on one line.
fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(TAIL_BYTES);
    String::from_utf8_lossy(&bytes[from..])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

//! `incast`: one client asks many senders at the same instant and waits until the last of them has answered, then
//! repeats this: partition and aggregate, as in a query to many workers or a read from striped storage (A. Phanishayee
//! et al.: Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems, FAST 2008). Each
//! sender has one TCP connection for the whole flow.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use nix::sys::socket::{Shutdown, setsockopt, shutdown, sockopt};

use super::connection::{self, Opening};
use super::draws::{Distribution, Draws};
use super::exchange;
use super::fields::IncastFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::pauses::Pauses;
use super::socket::tcp_info;
use super::threads::{lock, spawn};
use super::transfers::{Transfer, Transfers};
use crate::time::{monotonic_ns, sleep_until};
use netwarp_records::sockets::TcpInfo;

#[derive(Default)]
struct Progress {
    connect_ns: Option<i64>,
    senders: Vec<RawFd>,
    error: Option<String>,
    stopped: bool,
}

/// A client and its senders.
struct Incast {
    sockets: Vec<Arc<OwnedFd>>,
    progress: Arc<Mutex<Progress>>,
}

/// Listens, and starts a thread for each sender, one for the client's end of each connection, and one for the rounds.
/// Each round has its row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let fields: IncastFields = flow.fields()?;
    let opening = Opening::tcp(setup, &fields.cc);
    let (listener, to) = connection::listener(setup, &opening, i32::from(fields.senders))?;
    let listener = listener.map(Arc::new);
    let progress: Arc<Mutex<Progress>> = Arc::default();
    let start_ns = t0_ns + flow.start_ns;
    let mut sockets = Vec::new();
    let mut orders = Vec::new();
    let (done, answers) = channel();
    for number in 0..fields.senders {
        if let Some(listener) = listener.clone() {
            let shared = Arc::clone(&progress);
            spawn(
                format!("to {} {number}", flow.name),
                move || match exchange::accepted(&listener) {
                    Ok(socket) => {
                        lock(&shared).senders.push(socket);
                        exchange::answer(socket, 0);
                    }
                    Err(e) => fail(&shared, format!("sender {number}: {e:#}")),
                },
            )?;
        }
        let Some(socket) = connection::client(setup, &opening, 0)?.map(Arc::new) else {
            continue;
        };
        setsockopt(&*socket, sockopt::TcpNoDelay, &true)?;
        sockets.push(Arc::clone(&socket));
        let (order, ordered) = channel();
        orders.push(order);
        let done = done.clone();
        spawn(format!("from {} {number}", flow.name), move || {
            sleep_until(start_ns);
            receive(&socket, to, &ordered, &done);
        })?;
    }
    if sockets.is_empty() {
        return Ok(Box::new(Incast { sockets, progress }));
    }
    let rounds = Rounds {
        draws: Draws::new(flow.seed),
        flow_id: flow.id,
        t0_ns,
        start_ns,
        pauses: Pauses::new(
            t0_ns,
            fields.think_ns,
            fields.think_distribution,
            &flow.changes,
        ),
        fields,
        sockets: sockets.clone(),
        orders,
        answers,
        progress: Arc::clone(&progress),
        transfers: Arc::clone(&setup.tables.transfers),
    };
    spawn(format!("from {}", flow.name), move || {
        let progress = Arc::clone(&rounds.progress);
        if let Err(e) = rounds.run() {
            fail(&progress, format!("{e:#}"));
        }
    })?;
    Ok(Box::new(Incast { sockets, progress }))
}

/// Keeps the first error, unless `stop` caused it.
fn fail(progress: &Mutex<Progress>, why: String) {
    let mut progress = lock(progress);
    if !progress.stopped {
        progress.error.get_or_insert(why);
    }
}

/// Time at which a connection was made, or a response complete; None: the sender no longer answers.
type Answer = Result<Option<i64>>;

/// Runs the client's end of one connection: connects, and then takes each response, of as many bytes as are ordered.
fn receive(socket: &OwnedFd, to: SocketAddr, ordered: &Receiver<u64>, done: &Sender<Answer>) {
    let mut answered = connection::connect(socket, to);
    loop {
        let answer = answered.map(|answered| answered.then(monotonic_ns));
        if done.send(answer).is_err() {
            return;
        }
        let Ok(bytes) = ordered.recv() else {
            return;
        };
        answered = exchange::take(socket.as_raw_fd(), bytes);
    }
}

/// The thread that asks all senders and waits for them.
struct Rounds {
    fields: IncastFields,
    pauses: Pauses,
    draws: Draws,
    flow_id: u32,
    t0_ns: i64,
    start_ns: i64,
    sockets: Vec<Arc<OwnedFd>>,
    orders: Vec<Sender<u64>>,
    answers: Receiver<Answer>,
    progress: Arc<Mutex<Progress>>,
    transfers: Arc<Mutex<Transfers>>,
}

impl Rounds {
    fn run(mut self) -> Result<()> {
        // The first round waits until all connections are made; until then it counts as incomplete.
        let mut sizes = self.sizes();
        sleep_until(self.start_ns);
        self.begin(0, &sizes);
        let Some(connected) = self.all()? else {
            return Ok(());
        };
        lock(&self.progress).connect_ns = Some(connected - self.t0_ns);
        for sequence in 0.. {
            if !self.pauses.wait_until_active() {
                break;
            }
            self.begin(sequence, &sizes);
            for ((socket, order), (request, response)) in
                self.sockets.iter().zip(&self.orders).zip(&sizes)
            {
                if !exchange::ask(socket.as_raw_fd(), *request, *response)? {
                    return Ok(());
                }
                let ordered = order.send(*response).is_ok();
                ensure!(ordered, "what takes a response has ended");
            }
            let Some(end) = self.all()? else {
                return Ok(());
            };
            lock(&self.transfers).complete(self.flow_id, end - self.t0_ns)?;
            self.pauses.pause(end, &mut self.draws);
            sizes = self.sizes();
        }
        Ok(())
    }

    /// Draws the sizes of the next request to each sender, and of its response.
    fn sizes(&mut self) -> Vec<(u64, u64)> {
        let f = self.fields.clone();
        (0..self.sockets.len())
            .map(|_| {
                let request = self.size(f.request_size_bytes, f.request_size_distribution);
                let response = self.size(f.response_size_bytes, f.response_size_distribution);
                (request.max(exchange::HEAD), response)
            })
            .collect()
    }

    /// Records that a round begins now.
    fn begin(&self, sequence: u32, sizes: &[(u64, u64)]) {
        lock(&self.transfers).begin(Transfer {
            flow_id: self.flow_id,
            sequence,
            start_ns: monotonic_ns() - self.t0_ns,
            end_ns: None,
            request_bytes: sizes.iter().map(|size| size.0).sum(),
            bytes: sizes.iter().map(|size| size.1).sum(),
        });
    }

    /// Waits for all connections or all responses, and returns the time of the last; None if a sender no longer
    /// answers: then the round lasts until the run ends.
    fn all(&self) -> Answer {
        let mut last = None;
        for _ in &self.sockets {
            let Some(answered) = self.answers.recv()?? else {
                return Ok(None);
            };
            last = last.max(Some(answered));
        }
        Ok(last)
    }

    fn size(&mut self, mean: u64, distribution: Distribution) -> u64 {
        exchange::size(&mut self.draws, mean, distribution)
    }
}

impl Generator for Incast {
    fn stop(&mut self) {
        lock(&self.progress).stopped = true;
        for socket in &self.sockets {
            let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.progress);
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        // The responses are measured: sent by the senders, received by the client.
        for &sender in &progress.senders {
            stats.add_sender(&TcpInfo::new(&tcp_info(sender)?));
        }
        let mut received = None;
        for socket in &self.sockets {
            let info = tcp_info(socket.as_raw_fd())?;
            let bytes = TcpInfo::new(&info).get("bytes_received").unwrap_or(0);
            received = Some(received.unwrap_or(0) + bytes);
        }
        stats.received_bytes = received;
        Ok(())
    }
}

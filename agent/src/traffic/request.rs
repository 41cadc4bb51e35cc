//! `request`: repeats a request, its response and a pause over one TCP connection, as an RPC client does, or with
//! pauses and heavy-tailed sizes a reader of Web pages.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use nix::sys::socket::{Shutdown, setsockopt, shutdown, sockopt};

use super::connection::{self, Ends, Listener, Opening};
use super::draws::Draws;
use super::exchange;
use super::fields::RequestFields;
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
    server: Option<RawFd>,
    error: Option<String>,
    stopped: bool,
}

/// One client and its server.
struct Requests {
    client: Option<Arc<OwnedFd>>,
    progress: Arc<Mutex<Progress>>,
}

/// Listens, and starts both threads; every exchange has its row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let fields: RequestFields = flow.fields()?;
    let Ends {
        listener,
        client,
        to,
    } = connection::open(setup, &Opening::tcp(setup, &fields.cc))?;
    let requests = Requests {
        client: client.map(Arc::new),
        progress: Arc::default(),
    };
    let progress = Arc::clone(&requests.progress);
    if let Some(listener) = listener {
        let service_ns = fields.service_ns;
        spawn(format!("to {}", flow.name), move || {
            if let Err(e) = serve(&listener, &progress, service_ns) {
                lock(&progress)
                    .error
                    .get_or_insert_with(|| format!("server: {e:#}"));
            }
        })?;
    }
    let Some(socket) = requests.client.clone() else {
        return Ok(Box::new(requests));
    };
    setsockopt(&*socket, sockopt::TcpNoDelay, &true)?;
    let (think_ns, distribution) = (fields.think_ns, fields.think_distribution);
    let ask = Client {
        socket,
        to,
        pauses: Pauses::new(t0_ns, think_ns, distribution, &flow.changes),
        fields,
        draws: Draws::new(flow.seed),
        flow_id: flow.id,
        t0_ns,
        progress: Arc::clone(&requests.progress),
        transfers: Arc::clone(&setup.tables.transfers),
    };
    let start = t0_ns + flow.start_ns;
    spawn(format!("from {}", flow.name), move || {
        sleep_until(start);
        let progress = Arc::clone(&ask.progress);
        if let Err(e) = ask.run() {
            let mut progress = lock(&progress);
            if !progress.stopped {
                progress.error.get_or_insert_with(|| format!("{e:#}"));
            }
        }
    })?;
    Ok(Box::new(requests))
}

impl Generator for Requests {
    fn stop(&mut self) {
        lock(&self.progress).stopped = true;
        if let Some(client) = &self.client {
            let _ = shutdown(client.as_raw_fd(), Shutdown::Both);
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let progress = lock(&self.progress);
        stats.error.clone_from(&progress.error);
        stats.connect_ns = progress.connect_ns;
        // The responses are measured: sent by the server, received by the client.
        if let Some(fd) = progress.server {
            stats.add_sender(&TcpInfo::new(&tcp_info(fd)?));
        }
        if let Some(client) = &self.client {
            let info = tcp_info(client.as_raw_fd())?;
            stats.received_bytes = TcpInfo::new(&info).get("bytes_received");
        }
        Ok(())
    }
}

struct Client {
    socket: Arc<OwnedFd>,
    to: SocketAddr,
    fields: RequestFields,
    pauses: Pauses,
    draws: Draws,
    flow_id: u32,
    t0_ns: i64,
    progress: Arc<Mutex<Progress>>,
    transfers: Arc<Mutex<Transfers>>,
}

impl Client {
    fn run(mut self) -> Result<()> {
        if !self.pauses.wait_until_active() {
            return Ok(());
        }
        // The first request waits until the connection is made; until then it counts as incomplete.
        let mut sizes = self.sizes();
        self.begin(0, sizes);
        if !connection::connect(&self.socket, self.to)? {
            return Ok(());
        }
        lock(&self.progress).connect_ns = Some(monotonic_ns() - self.t0_ns);
        let socket = self.socket.as_raw_fd();
        for sequence in 0.. {
            if !self.pauses.wait_until_active() {
                break;
            }
            let (request, response) = sizes;
            self.begin(sequence, sizes);
            if !(exchange::ask(socket, request, response)? && exchange::take(socket, response)?) {
                break;
            }
            let end = monotonic_ns();
            lock(&self.transfers).complete(self.flow_id, end - self.t0_ns)?;
            self.pauses.pause(end, &mut self.draws);
            sizes = self.sizes();
        }
        Ok(())
    }

    /// Draws the bytes of the next request and of its response.
    fn sizes(&mut self) -> (u64, u64) {
        let f = &self.fields;
        let request = exchange::size(
            &mut self.draws,
            f.request_size_bytes,
            f.request_size_distribution,
        );
        let response = exchange::size(
            &mut self.draws,
            f.response_size_bytes,
            f.response_size_distribution,
        );
        (request.max(exchange::HEAD), response)
    }

    /// Records that an exchange begins now.
    fn begin(&self, sequence: u32, (request, response): (u64, u64)) {
        lock(&self.transfers).begin(Transfer {
            flow_id: self.flow_id,
            sequence,
            start_ns: monotonic_ns() - self.t0_ns,
            end_ns: None,
            request_bytes: request,
            bytes: response,
        });
    }
}

/// Answers until the client ends, `service_ns` after each request.
fn serve(listener: &Listener, progress: &Mutex<Progress>, service_ns: i64) -> Result<()> {
    let socket = exchange::accepted(listener)?;
    lock(progress).server = Some(socket);
    exchange::answer(socket, service_ns);
    Ok(())
}

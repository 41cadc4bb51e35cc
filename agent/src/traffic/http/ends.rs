//! The ends of a flow over HTTP, whatever it carries: a thread at each, with its sockets.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Result, bail};
use futures_executor::LocalPool;
use hyper::http::Version;

use super::endpoint::Endpoint;
use super::log::Log;
use super::reactor::Reactor;
use super::resumption;
use super::server::{TcpServer, serve_quic};
use super::session::{Connector, Way};
use super::tasks::{Spawner, Timers};
use super::transport::Carrier;
use crate::traffic::connection::{self, Listener, Opening};
use crate::traffic::flow_stats::FlowStats;
use crate::traffic::generator::Setup;
use crate::traffic::ports::Ports;
use crate::traffic::quic::account::{End, Ending, Shared};
use crate::traffic::quic::driver::Driver;
use crate::traffic::quic::observations::Observations;
use crate::traffic::quic::settings::{Settings, Side};
use crate::traffic::quic::socket::UdpSocket;
use crate::traffic::quic::tls::{self, Tickets};
use crate::traffic::threads::lock;

/// Connections that the kernel holds for the server until it accepts them.
const BACKLOG: i32 = 4096;
/// Streams of one direction: HTTP/3 needs three (RFC 9114, section 6.2).
const STREAMS: u16 = 100;

/// The settings of both ends.
pub struct Web<'a> {
    pub version: Version,
    /// TLS over TCP.
    pub tls: bool,
    pub cc: &'a str,
    /// UDP payload of every full packet.
    pub datagram_bytes: u32,
    /// Connections of a session with HTTP/1.1, at most.
    pub connections: u16,
    /// Whether connections of HTTP/3 resume earlier ones.
    pub resumes: bool,
}

/// The ends that are on this machine, and what they tell.
pub struct Ends {
    pub account: Shared,
    pub log: Log,
    client: Option<End>,
    server: Option<End>,
}

/// The means of the client's thread.
pub struct Client {
    pub connector: Rc<Connector>,
    pub timers: Timers,
    pub account: Shared,
    pub ending: Arc<Ending>,
}

impl Ends {
    /// Opens the sockets and starts both threads; the client's does `work`.
    pub fn start<F: Future<Output = ()> + 'static>(
        setup: &Setup,
        web: &Web,
        work: impl FnOnce(Client) -> F + Send + 'static,
    ) -> Result<Self> {
        let (account, log) = (Shared::default(), Log::new(setup.t0_ns));
        // The server is there first.
        let server = match web.version {
            Version::HTTP_3 => quic_server(setup, web, &account)?,
            _ => tcp_server(setup, web, &account)?,
        };
        let client = client(setup, web, &account, &log, work)?;
        Ok(Self {
            account,
            log,
            client,
            server,
        })
    }

    /// Lets nothing more begin.
    pub fn stop(&mut self) {
        if let Some(client) = &self.client {
            client.ending.stop();
        }
    }

    /// Ends both threads, and adds what they have counted.
    pub fn collect(&mut self, stats: &mut FlowStats) {
        for end in self.client.iter_mut().chain(&mut self.server) {
            end.end();
        }
        lock(&self.account).add_to(stats);
        stats.connect_ns = self.log.first_connection_ns();
    }
}

/// The version of HTTP of this name.
pub fn version_of(name: &str) -> Result<Version> {
    Ok(match name {
        "1.1" => Version::HTTP_11,
        "2" => Version::HTTP_2,
        "3" => Version::HTTP_3,
        other => bail!("this agent has no HTTP/{other}; it has 1.1, 2 and 3"),
    })
}

impl Web<'_> {
    /// The application protocol (ALPN).
    fn protocol(&self) -> &'static [u8] {
        match self.version {
            Version::HTTP_11 => b"http/1.1",
            Version::HTTP_2 => b"h2",
            _ => b"h3",
        }
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            cc: self.cc,
            datagram_bytes: self.datagram_bytes,
            streams: STREAMS,
            gso: false,
            waiting_bytes: None,
        }
    }
}

fn tcp_server(setup: &Setup, web: &Web, account: &Shared) -> Result<Option<End>> {
    let opening = Opening::tcp(setup, web.cc);
    let (listener, _) = connection::listener(setup, &opening, BACKLOG)?;
    let Some(listener) = listener else {
        return Ok(None);
    };
    let tls = web.tls.then(|| tls::server(web.protocol()).map(Arc::new));
    let (tls, ending) = (tls.transpose()?, Arc::new(Ending::new()?));
    let (version, shared, end) = (web.version, Arc::clone(account), Arc::clone(&ending));
    let run = move || serve_tcp(listener, tls, version, &ending, &shared);
    let name = format!("to {}", setup.flow.name);
    End::start(name, end, Arc::clone(account), run).map(Some)
}

fn serve_tcp(
    listener: Listener,
    tls: Option<Arc<rustls::ServerConfig>>,
    version: Version,
    ending: &Ending,
    account: &Shared,
) -> Result<()> {
    let mut pool = LocalPool::new();
    let reactor = Rc::new(Reactor::new(Arc::clone(&ending.wakeup))?);
    let spawner = Spawner(pool.spawner());
    let server = Rc::new(TcpServer {
        reactor: Rc::clone(&reactor),
        spawner: spawner.clone(),
        tls,
        version,
    });
    let account = Arc::clone(account);
    spawner.start(async move {
        if let Err(e) = server.run(listener).await {
            lock(&account).error = Some(format!("server: {e:#}"));
        }
    })?;
    reactor.run(&mut pool, &Timers::default(), ending)
}

fn quic_server(setup: &Setup, web: &Web, account: &Shared) -> Result<Option<End>> {
    let Some(node) = setup.destination() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.destination, flow.destination_port);
    let socket = node.run(|| UdpSocket::open(flow, local, None, web.datagram_bytes))??;
    let settings = web.settings();
    let crypto = tls::quic_server(web.protocol())?;
    let mut server = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
    let observations = Observations::new(flow.id, setup.t0_ns, &setup.tables.quic);
    let transport = settings.transport(Some(Arc::clone(&observations.logs)))?;
    server.transport_config(Arc::new(transport));
    let config = settings.endpoint(flow.seed, Side::Server)?;
    let driver = Driver::new(config, Some(server), socket, Arc::clone(&ending.wakeup))?
        .observing(observations);
    let end = Arc::clone(&ending);
    let run = move || {
        let mut pool = LocalPool::new();
        let spawner = Spawner(pool.spawner());
        let endpoint = Rc::new(Endpoint::new(driver));
        endpoint.run(&mut pool, &Timers::default(), &ending, |number, link| {
            let carrier = Carrier::new(&endpoint, number, link);
            let on = spawner.clone();
            spawner.start(async move {
                // What is wrong with a connection is the client's to report.
                let _ = serve_quic(carrier, on).await;
            })
        })
    };
    let name = format!("to {}", flow.name);
    End::start(name, end, Arc::clone(account), run).map(Some)
}

/// The sockets with which the client's thread begins.
enum Sockets {
    Tcp(Ports, Option<Arc<rustls::ClientConfig>>),
    Quic(Box<(Driver, resumption::Settings)>),
}

fn client<F: Future<Output = ()> + 'static>(
    setup: &Setup,
    web: &Web,
    account: &Shared,
    log: &Log,
    work: impl FnOnce(Client) -> F + Send + 'static,
) -> Result<Option<End>> {
    let Some(node) = setup.source() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let (sockets, node) = (sockets(setup, web, &ending)?, node.try_clone()?);
    let (log, shared, end) = (log.clone(), Arc::clone(account), Arc::clone(&ending));
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let (version, connections) = (web.version, web.connections.into());
    let run = move || {
        let mut pool = LocalPool::new();
        let (spawner, timers) = (Spawner(pool.spawner()), Timers::default());
        let (way, watched) = watch(sockets, &ending)?;
        let connector = Rc::new(Connector {
            way,
            version,
            to,
            connections,
            spawner: spawner.clone(),
            log,
        });
        spawner.start(work(Client {
            connector,
            timers: timers.clone(),
            account: shared,
            ending: Arc::clone(&ending),
        }))?;
        watched.run(&mut pool, &timers, &ending)
    };
    let run = move || node.run(run).and_then(|ran| ran);
    let name = format!("from {}", flow.name);
    End::start(name, end, Arc::clone(account), run).map(Some)
}

fn sockets(setup: &Setup, web: &Web, ending: &Ending) -> Result<Sockets> {
    let flow = setup.flow;
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    if web.version != Version::HTTP_3 {
        let tls = web.tls.then(|| tls::client(web.protocol()).map(Arc::new));
        let ports = Ports::new(Opening::tcp(setup, web.cc), flow.source, to);
        return Ok(Sockets::Tcp(ports, tls.transpose()?));
    }
    let local = SocketAddr::new(flow.source, flow.source_port);
    let open = || UdpSocket::open(flow, local, Some(to), web.datagram_bytes);
    let Some(socket) = setup.source().map(|node| node.run(open)?).transpose()? else {
        bail!("the client is on another machine");
    };
    let settings = web.settings();
    let client = resumption::Settings {
        tls: tls::client(web.protocol())?,
        transport: Arc::new(settings.transport(None)?),
        tickets: web.resumes.then(Arc::<Tickets>::default),
    };
    let config = settings.endpoint(flow.seed, Side::Client)?;
    let driver = Driver::new(config, None, socket, Arc::clone(&ending.wakeup))?;
    Ok(Sockets::Quic(Box::new((driver, client))))
}

/// The sockets that a thread watches.
enum Watched {
    Tcp(Rc<Reactor>),
    Quic(Rc<Endpoint>),
}

fn watch(sockets: Sockets, ending: &Ending) -> Result<(Way, Watched)> {
    Ok(match sockets {
        Sockets::Tcp(ports, tls) => {
            let reactor = Rc::new(Reactor::new(Arc::clone(&ending.wakeup))?);
            let way = Way::Tcp {
                reactor: Rc::clone(&reactor),
                ports: RefCell::new(ports),
                tls,
            };
            (way, Watched::Tcp(reactor))
        }
        Sockets::Quic(opened) => {
            let (driver, settings) = *opened;
            let endpoint = Rc::new(Endpoint::new(driver));
            let client = resumption::Client {
                endpoint: Rc::clone(&endpoint),
                settings,
            };
            (Way::Quic(Rc::new(client)), Watched::Quic(endpoint))
        }
    })
}

impl Watched {
    fn run(&self, pool: &mut LocalPool, timers: &Timers, ending: &Ending) -> Result<()> {
        match self {
            Self::Tcp(reactor) => reactor.run(pool, timers, ending),
            Self::Quic(endpoint) => endpoint.run(pool, timers, ending, |number, _| {
                bail!("connection {number} is the server's")
            }),
        }
    }
}

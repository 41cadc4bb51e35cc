//! `http`: pages that are loaded over HTTP/1.1 or HTTP/2 (hyper) or HTTP/3 (h3 on quinn-proto). One thread at each end
//! runs the library's tasks and watches the sockets; there is no other runtime.

mod body;
mod client;
mod endpoint;
mod log;
mod pages;
mod reactor;
mod resumption;
mod server;
mod session;
mod stream;
mod tasks;
mod transport;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use futures_executor::LocalPool;
use hyper::http::Version;

use self::client::Client;
use self::endpoint::Endpoint;
use self::log::Log;
use self::pages::Pages;
use self::reactor::Reactor;
use self::server::{TcpServer, serve_quic};
use self::session::{Connector, Way};
use self::tasks::{Spawner, Timers};
use self::transport::Carrier;
use super::connection::{self, Listener, Opening};
use super::fields::HttpFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::http_records::HttpRecords;
use super::ports::Ports;
use super::quic::account::{End, Ending, Shared};
use super::quic::driver::Driver;
use super::quic::settings::{Settings, Side};
use super::quic::socket::UdpSocket;
use super::quic::tls::{self, Tickets};
use super::threads::lock;

/// Connections that the kernel holds for the server until it accepts them.
const BACKLOG: i32 = 4096;
/// Streams of one direction: HTTP/3 needs three (RFC 9114, section 6.2).
const STREAMS: u16 = 100;

/// The ends of a flow that are on this machine.
struct Http {
    flow_id: u32,
    /// The most pages that are asked for.
    pages: Option<u32>,
    account: Shared,
    log: Log,
    client: Option<End>,
    server: Option<End>,
    records: Arc<Mutex<HttpRecords>>,
}

/// Opens the sockets and starts both threads.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: HttpFields = setup.flow.fields()?;
    let version = version_of(&fields)?;
    let (account, log) = (Shared::default(), Log::new(setup.t0_ns));
    // The server is there first.
    let server = match version {
        Version::HTTP_3 => quic_server(setup, &fields, &account)?,
        _ => tcp_server(setup, &fields, version, &account)?,
    };
    let client = client(setup, &fields, version, &account, &log)?;
    Ok(Box::new(Http {
        flow_id: setup.flow.id,
        pages: fields.pages,
        account,
        log,
        client,
        server,
        records: Arc::clone(&setup.tables.http),
    }))
}

fn version_of(fields: &HttpFields) -> Result<Version> {
    Ok(match fields.version.as_str() {
        "1.1" => Version::HTTP_11,
        "2" => Version::HTTP_2,
        "3" => Version::HTTP_3,
        other => bail!("this agent has no HTTP/{other}; it has 1.1, 2 and 3"),
    })
}

/// The application protocol (ALPN).
fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_11 => b"http/1.1",
        Version::HTTP_2 => b"h2",
        _ => b"h3",
    }
}

fn settings_of(fields: &HttpFields) -> Settings<'_> {
    Settings {
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        streams: STREAMS,
        gso: false,
    }
}

fn tcp_server(
    setup: &Setup,
    fields: &HttpFields,
    version: Version,
    account: &Shared,
) -> Result<Option<End>> {
    let opening = Opening::tcp(setup, &fields.cc);
    let (listener, _) = connection::listener(setup, &opening, BACKLOG)?;
    let Some(listener) = listener else {
        return Ok(None);
    };
    let tls = fields
        .tls
        .then(|| tls::server(protocol(version)).map(Arc::new));
    let (tls, ending) = (tls.transpose()?, Arc::new(Ending::new()?));
    let (shared, end) = (Arc::clone(account), Arc::clone(&ending));
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

fn quic_server(setup: &Setup, fields: &HttpFields, account: &Shared) -> Result<Option<End>> {
    let Some(node) = setup.destination() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.destination, flow.destination_port);
    let socket = node.run(|| UdpSocket::open(flow, local, None, fields.datagram_size_bytes))??;
    let settings = settings_of(fields);
    let crypto = tls::quic_server(protocol(Version::HTTP_3))?;
    let mut server = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
    server.transport_config(Arc::new(settings.transport(None)?));
    let config = settings.endpoint(flow.seed, Side::Server)?;
    let driver = Driver::new(config, Some(server), socket, Arc::clone(&ending.wakeup))?;
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

/// What the client's thread needs to begin.
enum Sockets {
    Tcp(Ports, Option<Arc<rustls::ClientConfig>>),
    Quic(Box<(Driver, resumption::Settings)>),
}

fn client(
    setup: &Setup,
    fields: &HttpFields,
    version: Version,
    account: &Shared,
    log: &Log,
) -> Result<Option<End>> {
    let Some(node) = setup.source() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow.clone(), Arc::new(Ending::new()?));
    let (sockets, node) = (sockets(setup, fields, version, &ending)?, node.try_clone()?);
    let (fields, log, shared) = (fields.clone(), log.clone(), Arc::clone(account));
    let (t0_ns, end) = (setup.t0_ns, Arc::clone(&ending));
    let name = format!("from {}", flow.name);
    let pages = Pages::new(&fields, flow.seed)?;
    let run = move || {
        let to = SocketAddr::new(flow.destination, flow.destination_port);
        let mut pool = LocalPool::new();
        let (spawner, timers) = (Spawner(pool.spawner()), Timers::default());
        let (way, watched) = watch(sockets, &ending)?;
        let connector = Rc::new(Connector {
            way,
            version,
            to,
            connections: fields.most_connections.into(),
            spawner: spawner.clone(),
            log,
        });
        let client = Rc::new(Client {
            connector,
            timers: timers.clone(),
            fields,
            flow,
            t0_ns,
            pages: RefCell::new(pages),
            account: shared,
            ending: Arc::clone(&ending),
        });
        spawner.start(client.run())?;
        watched.run(&mut pool, &timers, &ending)
    };
    let run = move || node.run(run).and_then(|ran| ran);
    End::start(name, end, Arc::clone(account), run).map(Some)
}

fn sockets(
    setup: &Setup,
    fields: &HttpFields,
    version: Version,
    ending: &Ending,
) -> Result<Sockets> {
    let flow = setup.flow;
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    if version != Version::HTTP_3 {
        let tls = fields
            .tls
            .then(|| tls::client(protocol(version)).map(Arc::new));
        let ports = Ports::new(Opening::tcp(setup, &fields.cc), flow.source, to);
        return Ok(Sockets::Tcp(ports, tls.transpose()?));
    }
    let local = SocketAddr::new(flow.source, flow.source_port);
    let open = || UdpSocket::open(flow, local, Some(to), fields.datagram_size_bytes);
    let Some(socket) = setup.source().map(|node| node.run(open)?).transpose()? else {
        bail!("the client is on another machine");
    };
    let settings = settings_of(fields);
    let client = resumption::Settings {
        tls: tls::client(protocol(version))?,
        transport: Arc::new(settings.transport(None)?),
        tickets: fields.resume_ahead_ns.map(|_| Arc::<Tickets>::default()),
    };
    let config = settings.endpoint(flow.seed, Side::Client)?;
    let driver = Driver::new(config, None, socket, Arc::clone(&ending.wakeup))?;
    Ok(Sockets::Quic(Box::new((driver, client))))
}

/// What a thread watches.
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

impl Generator for Http {
    /// Pages that have begun go on until they are complete or the run ends.
    fn stop(&mut self) {
        if let Some(client) = &self.client {
            client.ending.stop();
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        for end in self.client.iter_mut().chain(&mut self.server) {
            end.end();
        }
        lock(&self.account).add_to(stats);
        stats.connect_ns = self.log.first_connection_ns();
        stats.end_ns = self.log.end_ns(stats.end_ns, self.pages);
        self.log.write(self.flow_id, &mut lock(&self.records))
    }
}

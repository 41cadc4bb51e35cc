//! `quic`: one QUIC connection that always has something to send, until its time is over or its bytes are sent. Both ends
//! are quinn-proto, which has neither I/O nor a clock; each end's thread drives it over a UDP socket of its node.

pub mod account;
mod certificate;
pub mod driver;
mod incoming;
mod observed;
mod outgoing;
mod receiver;
mod sender;
pub mod settings;
pub mod socket;
pub mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use quinn_proto::{ClientConfig, ServerConfig};

use self::account::{End, Ending, Shared};
use self::driver::Driver;
use self::outgoing::Outgoing;
use self::receiver::Receiver;
use self::sender::Sender;
use self::settings::{Settings, Side};
use self::socket::UdpSocket;
use self::tls::Tickets;
use super::fields::QuicFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::threads::lock;

/// The application protocol (ALPN).
const PROTOCOL: &[u8] = b"netwarp";

/// The ends of a flow that are on this machine.
struct Quic {
    account: Shared,
    sender: Option<End>,
    receiver: Option<End>,
}

/// Opens both sockets and starts both threads. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: QuicFields = setup.flow.fields()?;
    let account = Shared::default();
    // The server is there first.
    let receiver = receiver(setup, &fields, &account)?;
    let sender = sender(setup, &fields, &account)?;
    Ok(Box::new(Quic {
        account,
        sender,
        receiver,
    }))
}

fn settings_of(fields: &QuicFields) -> Settings<'_> {
    Settings {
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        streams: fields.streams,
        gso: fields.gso,
    }
}

fn receiver(setup: &Setup, fields: &QuicFields, account: &Shared) -> Result<Option<End>> {
    let Some(node) = setup.destination() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.destination, flow.destination_port);
    let socket = node.run(|| UdpSocket::open(flow, local, None, fields.datagram_size_bytes))??;
    let mut server = ServerConfig::with_crypto(Arc::new(tls::quic_server(PROTOCOL)?));
    let settings = settings_of(fields);
    server.transport_config(Arc::new(settings.transport(None)?));
    let config = settings.endpoint(flow.seed, Side::Server)?;
    let wakeup = Arc::clone(&ending.wakeup);
    let mut receiver = Receiver {
        driver: Driver::new(config, Some(server), socket, wakeup)?,
        flow_id: flow.id,
        t0_ns: setup.t0_ns,
        bytes: fields.bytes,
        account: Arc::clone(account),
        ending: Arc::clone(&ending),
        records: Arc::clone(&setup.tables.quic),
        transfers: Arc::clone(&setup.tables.transfers),
    };
    lock(account).received_bytes = Some(0);
    lock(&setup.tables.transfers).begin_flow(flow, fields.bytes);
    let shared = Arc::clone(account);
    End::start(format!("to {}", flow.name), ending, shared, move || {
        receiver.run()
    })
    .map(Some)
}

fn sender(setup: &Setup, fields: &QuicFields, account: &Shared) -> Result<Option<End>> {
    let Some(node) = setup.source() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.source, flow.source_port);
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let socket =
        node.run(|| UdpSocket::open(flow, local, Some(to), fields.datagram_size_bytes))??;
    let (tickets, log) = (Arc::<Tickets>::default(), observed::Log::default());
    let crypto = tls::quic_client(tls::client(PROTOCOL)?, Some(&tickets))?;
    let mut client = ClientConfig::new(Arc::new(crypto));
    let settings = settings_of(fields);
    client.transport_config(Arc::new(settings.transport(Some(Arc::clone(&log)))?));
    let config = settings.endpoint(flow.seed, Side::Client)?;
    let wakeup = Arc::clone(&ending.wakeup);
    let mut sender = Sender {
        driver: Driver::new(config, None, socket, wakeup)?,
        config: client,
        flow_id: flow.id,
        to,
        t0_ns: setup.t0_ns,
        start_ns: flow.start_ns,
        outgoing: Outgoing::new(fields.bytes, fields.streams),
        resume_ahead_ns: fields.resume_ahead_ns,
        tickets,
        log,
        account: Arc::clone(account),
        ending: Arc::clone(&ending),
        records: Arc::clone(&setup.tables.quic),
    };
    let shared = Arc::clone(account);
    End::start(format!("from {}", flow.name), ending, shared, move || {
        sender.run()
    })
    .map(Some)
}

impl Generator for Quic {
    fn stop(&mut self) {
        if let Some(sender) = &self.sender {
            sender.ending.stop();
        }
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        for end in self.sender.iter_mut().chain(&mut self.receiver) {
            end.end();
        }
        lock(&self.account).add_to(stats);
        Ok(())
    }
}

//! `quic` and `quic_datagrams`: one QUIC connection that sends data of streams, or unreliable datagrams. Both ends are
//! quinn-proto, which has neither I/O nor a clock; each end's thread drives it over a UDP socket of its node.

pub mod account;
mod certificate;
mod datagrams;
pub mod driver;
mod incoming;
pub mod observations;
mod observed;
mod outgoing;
mod receiver;
mod sender;
pub mod settings;
pub mod socket;
pub mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use quinn_proto::{ClientConfig, ServerConfig};

use self::account::{End, Ending, Shared};
use self::datagrams::{Arriving, Departing, buffer_bytes};
use self::driver::Driver;
use self::observations::Observations;
use self::outgoing::{Outgoing, Streams};
use self::receiver::{Intake, Receiver, StreamIntake};
use self::sender::Sender;
use self::settings::{Settings, Side};
use self::socket::UdpSocket;
use self::tls::Tickets;
use super::fields::{QuicDatagramsFields, QuicFields};
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::receiver_stats::ReceiverStats;
use super::threads::lock;

/// The application protocol (ALPN).
const PROTOCOL: &[u8] = b"netwarp";

/// The ends of a flow that are on this machine.
struct Quic {
    account: Shared,
    sender: Option<End>,
    receiver: Option<End>,
    /// The datagrams that have arrived, if the flow sends these.
    datagrams: Option<Arc<Mutex<ReceiverStats>>>,
}

/// Opens the sockets of a flow of streams and starts its threads. A sized flow has a row in `transfers`.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: QuicFields = setup.flow.fields()?;
    let settings = Settings {
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        streams: fields.streams,
        gso: fields.gso,
        waiting_bytes: None,
    };
    let account = Shared::default();
    let intake = StreamIntake {
        flow_id: setup.flow.id,
        bytes: fields.bytes,
        account: Arc::clone(&account),
        records: Arc::clone(&setup.tables.quic),
        transfers: Arc::clone(&setup.tables.transfers),
        streams: BTreeMap::new(),
        arrived: 0,
    };
    // The server is there first.
    let receiver = receiver(setup, &settings, &account, Box::new(intake))?;
    if receiver.is_some() {
        lock(&account).received_bytes = Some(0);
        lock(&setup.tables.transfers).begin_flow(setup.flow, fields.bytes);
    }
    let outgoing = Box::new(Streams::new(fields.bytes, fields.streams));
    let sender = sender(setup, &settings, &account, outgoing, fields.resume_ahead_ns)?;
    Ok(Box::new(Quic {
        account,
        sender,
        receiver,
        datagrams: None,
    }))
}

/// Opens the sockets of a flow of datagrams and starts its threads.
pub fn prepare_datagrams(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: QuicDatagramsFields = setup.flow.fields()?;
    let settings = Settings {
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        streams: 0,
        gso: fields.gso,
        waiting_bytes: Some(buffer_bytes(&fields)?),
    };
    let (account, stats) = (Shared::default(), Arc::default());
    let intake = Arriving {
        flow_id: setup.flow.id,
        stats: Arc::clone(&stats),
        table: Arc::clone(&setup.tables.datagrams),
    };
    let receiver = receiver(setup, &settings, &account, Box::new(intake))?;
    let outgoing = Box::new(Departing::new(&fields)?);
    let sender = sender(setup, &settings, &account, outgoing, None)?;
    Ok(Box::new(Quic {
        account,
        sender,
        datagrams: receiver.is_some().then_some(stats),
        receiver,
    }))
}

fn receiver(
    setup: &Setup,
    settings: &Settings,
    account: &Shared,
    intake: Box<dyn Intake>,
) -> Result<Option<End>> {
    let Some(node) = setup.destination() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.destination, flow.destination_port);
    let socket = node.run(|| UdpSocket::open(flow, local, None, settings.datagram_bytes))??;
    let mut server = ServerConfig::with_crypto(Arc::new(tls::quic_server(PROTOCOL)?));
    server.transport_config(Arc::new(settings.transport(None)?));
    let config = settings.endpoint(flow.seed, Side::Server)?;
    let wakeup = Arc::clone(&ending.wakeup);
    let mut receiver = Receiver {
        driver: Driver::new(config, Some(server), socket, wakeup)?,
        t0_ns: setup.t0_ns,
        intake,
        ending: Arc::clone(&ending),
    };
    let shared = Arc::clone(account);
    End::start(format!("to {}", flow.name), ending, shared, move || {
        receiver.run()
    })
    .map(Some)
}

fn sender(
    setup: &Setup,
    settings: &Settings,
    account: &Shared,
    outgoing: Box<dyn Outgoing>,
    resume_ahead_ns: Option<i64>,
) -> Result<Option<End>> {
    let Some(node) = setup.source() else {
        return Ok(None);
    };
    let (flow, ending) = (setup.flow, Arc::new(Ending::new()?));
    let local = SocketAddr::new(flow.source, flow.source_port);
    let to = SocketAddr::new(flow.destination, flow.destination_port);
    let socket = node.run(|| UdpSocket::open(flow, local, Some(to), settings.datagram_bytes))??;
    let tickets = Arc::<Tickets>::default();
    let observations = Observations::new(flow.id, setup.t0_ns, &setup.tables.quic);
    let crypto = tls::quic_client(tls::client(PROTOCOL)?, Some(&tickets))?;
    let mut client = ClientConfig::new(Arc::new(crypto));
    let transport = settings.transport(Some(Arc::clone(&observations.logs)))?;
    client.transport_config(Arc::new(transport));
    let config = settings.endpoint(flow.seed, Side::Client)?;
    let wakeup = Arc::clone(&ending.wakeup);
    let mut sender = Sender {
        driver: Driver::new(config, None, socket, wakeup)?.observing(observations),
        config: client,
        to,
        t0_ns: setup.t0_ns,
        start_ns: flow.start_ns,
        outgoing,
        resume_ahead_ns,
        tickets,
        account: Arc::clone(account),
        ending: Arc::clone(&ending),
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
        if let Some(arrived) = &self.datagrams {
            lock(arrived).add_to(stats);
        }
        Ok(())
    }
}

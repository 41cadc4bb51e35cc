//! UDP sources that never wait for anything, and exact statistics of the datagrams that arrived.
//!
//! A source plans a thousand departures at a time and hands them to the backend; the receiver takes a thousand
//! datagrams with one `recvmmsg` that sleeps in the kernel. Each datagram begins with its sequence number and the
//! instant of its sending.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{
    Shutdown, SockType, SockaddrStorage, connect, setsockopt, shutdown, sockopt,
};

use super::draws::{Distribution, Draws, cut_exponential_mean};
use super::fields::UdpFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::options;
use super::pace::Pace;
use super::receiver::Receiver;
use super::receiver_stats::ReceiverStats;
use super::socket::bound;
use super::threads::{lock, spawn};
use crate::backend::{Departure, TimedSender};
use crate::constants::{
    ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, MIN_PAYLOAD_BYTES,
    UDP_HEADER_BYTES,
};
use crate::lab::Flow;

/// Number of departures handed over at once.
const BATCH: usize = 1024;
/// Size of struct netwarp_payload, the minimum of every datagram.
const MIN_PAYLOAD: f64 = MIN_PAYLOAD_BYTES as f64;
/// Large enough that neither end's buffer loses or delays a datagram: only the queues do.
const BUFFER_BYTES: usize = 256 << 20;
/// Ethernet and UDP headers, and those of IP by family.
const HEADERS: f64 = (ETHERNET_HEADER_BYTES + UDP_HEADER_BYTES) as f64;
const IPV4_HEADER: f64 = IPV4_HEADER_BYTES as f64;
const IPV6_HEADER: f64 = IPV6_HEADER_BYTES as f64;

/// Timing of packets; instants are nanoseconds from the flow's start, gaps are in the source's own clock (`Pace`).
pub trait Pattern: Send {
    /// When the first packet leaves; `mean_gap_ns` is a packet's mean transmission time at the rate.
    fn first_ns(&mut self, _mean_gap_ns: f64, _draws: &mut Draws) -> f64 {
        0.0
    }
    /// When the next packet leaves if it can leave at `at_ns`; asked once its size is drawn.
    fn not_before_ns(&mut self, at_ns: f64, _draws: &mut Draws) -> f64 {
        at_ns
    }
    /// Time after a packet, with the transmission time `own_gap_ns` at the rate, until the next one may leave.
    fn gap_ns(&mut self, own_gap_ns: f64, _mean_gap_ns: f64, _draws: &mut Draws) -> f64 {
        own_gap_ns
    }
}

/// Departures of a source: an iterator of (nanoseconds from the flow's start, payload bytes), which ends only if the
/// source is never active again.
pub struct Departures<P> {
    fields: UdpFields,
    pattern: P,
    draws: Draws,
    headers: f64,
    mean_gap_ns: f64,
    pace: Pace,
    next_ns: f64,
}

impl<P: Pattern> Departures<P> {
    pub fn new(flow: &Flow, fields: UdpFields, mut pattern: P) -> Self {
        let ip = if flow.source.is_ipv4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        };
        let most = fields.packet_size_most_bytes as f64;
        let mean = fields.packet_size_bytes as f64;
        let mean_payload = match fields.packet_size_distribution {
            Distribution::Exponential => cut_exponential_mean(mean, MIN_PAYLOAD, most),
            _ => mean.max(MIN_PAYLOAD),
        };
        let headers = HEADERS + ip;
        let mean_bits = (mean_payload + headers) * 8.0;
        let mean_gap_ns = mean_bits * 1e9 / fields.rate_bps as f64;
        let mut draws = Draws::new(flow.seed);
        let mut pace = Pace::new(flow.start_ns, fields.rate_bps, &flow.changes);
        let next_ns = pace.after(0.0, pattern.first_ns(mean_gap_ns, &mut draws));
        Self {
            fields,
            pattern,
            draws,
            headers,
            mean_gap_ns,
            pace,
            next_ns,
        }
    }

    /// The first instant from this one on at which the pattern allows a packet and the source is active.
    fn allowed_ns(&mut self, mut at_ns: f64) -> f64 {
        while at_ns.is_finite() {
            let allowed = self.pattern.not_before_ns(at_ns, &mut self.draws);
            at_ns = self.pace.after(allowed, 0.0);
            if at_ns <= allowed {
                break;
            }
        }
        at_ns
    }
}

impl<P: Pattern> Iterator for Departures<P> {
    type Item = (i64, u32);

    fn next(&mut self) -> Option<(i64, u32)> {
        let payload = self
            .draws
            .within(
                self.fields.packet_size_bytes as f64,
                self.fields.packet_size_distribution,
                MIN_PAYLOAD,
                self.fields.packet_size_most_bytes as f64,
            )
            .round();
        let own_gap_ns = (payload + self.headers) * 8.0 * 1e9 / self.fields.rate_bps as f64;
        let at = self.allowed_ns(self.next_ns);
        if at.is_infinite() {
            return None;
        }
        let gap_ns = self
            .pattern
            .gap_ns(own_gap_ns, self.mean_gap_ns, &mut self.draws);
        self.next_ns = self.pace.after(at, gap_ns);
        Some((at.round() as i64, payload as u32))
    }
}

/// A source and its sink, or the one of them on this machine.
struct UdpFlow {
    sent: Option<Arc<Mutex<Sent>>>,
    sink: Option<Sink>,
}

/// The sockets of a flow at the ends that are on this machine.
pub struct Sockets {
    pub source: Option<OwnedFd>,
    pub sink: Option<OwnedFd>,
}

impl Sockets {
    pub fn open(setup: &Setup) -> Result<Self> {
        let flow = setup.flow;
        let from = SocketAddr::new(flow.source, flow.source_port);
        let to = SocketAddr::new(flow.destination, flow.destination_port);
        let source = setup
            .source()
            .map(|node| node.run(|| pair(setup.flow, from, to))?);
        let sink = setup
            .destination()
            .map(|node| node.run(|| pair(setup.flow, to, from))?);
        Ok(Self {
            source: source.transpose()?,
            sink: sink.transpose()?,
        })
    }
}

/// The packets and the payload that a source has sent so far.
#[derive(Default)]
pub struct Sent {
    packets: u64,
    bytes: u64,
    pub error: Option<String>,
}

impl Sent {
    pub fn add(&mut self, departures: &[Departure]) {
        self.packets += departures.len() as u64;
        self.bytes += departures
            .iter()
            .map(|departure| u64::from(departure.payload_bytes))
            .sum::<u64>();
    }

    /// Adds the totals of the source to those of its flow.
    pub fn add_to(&self, stats: &mut FlowStats) {
        stats.error = self.error.clone().or_else(|| stats.error.take());
        stats.sent_pkts = Some(self.packets);
        stats.sent_bytes = Some(self.bytes);
    }
}

/// The receiving end of datagrams, which takes them until its end.
pub struct Sink {
    socket: Arc<OwnedFd>,
    stats: Arc<Mutex<ReceiverStats>>,
    receiver: Option<JoinHandle<()>>,
}

impl Sink {
    /// Starts the thread; each datagram that arrives has a row in `datagrams`.
    pub fn start(setup: &Setup, socket: OwnedFd) -> Result<Self> {
        let socket = Arc::new(socket);
        let receiver = Receiver::new(setup, Arc::clone(&socket));
        let stats = receiver.stats();
        let thread = spawn(format!("to {}", setup.flow.name), move || receiver.run())?;
        Ok(Self {
            socket,
            stats,
            receiver: Some(thread),
        })
    }

    /// Ends it, and adds its totals.
    pub fn collect(&mut self, stats: &mut FlowStats) {
        // Wakes the receiver, which takes the rest from its socket and ends.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Read);
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
        lock(&self.stats).add_to(stats);
    }
}

/// Opens both sockets and starts both threads.
pub fn prepare<P: Pattern + 'static>(
    setup: &Setup,
    fields: UdpFields,
    pattern: P,
) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let sockets = Sockets::open(setup)?;
    let mut udp = UdpFlow {
        sent: None,
        sink: None,
    };
    if let Some(source) = sockets.source {
        let sender = setup.network.backend.timed_sender(source, t0_ns)?;
        let departures = Departures::new(flow, fields, pattern);
        let sent = Arc::new(Mutex::new(Sent::default()));
        udp.sent = Some(Arc::clone(&sent));
        let (start, duration) = (t0_ns + flow.start_ns, flow.duration_ns);
        spawn(format!("from {}", flow.name), move || {
            if let Err(e) = send(sender, departures, start, duration, &sent) {
                lock(&sent).error = Some(format!("{e:#}"));
            }
        })?;
    }
    if let Some(sink) = sockets.sink {
        udp.sink = Some(Sink::start(setup, sink)?);
    }
    Ok(Box::new(udp))
}

impl Generator for UdpFlow {
    /// Departures end with the flow's duration without a stop.
    fn stop(&mut self) {}

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.collect(stats);
        }
        if let Some(sent) = &self.sent {
            lock(sent).add_to(stats);
        }
        Ok(())
    }
}

/// Makes a UDP socket bound to `local` and connected to `remote`, with large buffers and the flow's options.
fn pair(flow: &Flow, local: SocketAddr, remote: SocketAddr) -> Result<OwnedFd> {
    let socket = bound(local, SockType::Datagram)?;
    enlarge_buffers(&socket)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    options::set(socket.as_raw_fd(), &flow.sockets)?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(remote))
        .with_context(|| format!("cannot connect to {remote}"))?;
    Ok(socket)
}

/// Gives a socket buffers that neither lose nor delay datagrams.
pub fn enlarge_buffers(socket: &OwnedFd) -> Result<()> {
    // In a user namespace buffers are limited (net.core.rmem_max); the resulting losses are counted.
    if setsockopt(socket, sockopt::SndBufForce, &BUFFER_BYTES).is_err() {
        setsockopt(socket, sockopt::SndBuf, &BUFFER_BYTES)?;
    }
    if setsockopt(socket, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &BUFFER_BYTES)?;
    }
    Ok(())
}

/// Hands over departures, batch by batch, until `duration_ns` is over.
fn send(
    mut sender: Box<dyn TimedSender>,
    departures: impl Iterator<Item = (i64, u32)>,
    start_ns: i64,
    duration_ns: i64,
    progress: &Mutex<Sent>,
) -> Result<()> {
    let mut departures = departures
        .take_while(|(at, _)| *at < duration_ns)
        .map(|(at, payload_bytes)| Departure {
            at_ns: start_ns + at,
            payload_bytes,
        })
        .peekable();
    let mut sequence = 0_u64;
    while departures.peek().is_some() {
        let batch: Vec<Departure> = departures.by_ref().take(BATCH).collect();
        sequence = send_all(sender.as_mut(), sequence, &batch, |sent| {
            lock(progress).add(sent);
        })?;
    }
    Ok(())
}

/// Sends all of these datagrams, and returns the next one's number. `count` gets those that have been sent, also if a
/// later one cannot be. What follows the last sent one is handed over again, which says why it could not be sent.
pub fn send_all(
    sender: &mut dyn TimedSender,
    first_sequence: u64,
    departures: &[Departure],
    mut count: impl FnMut(&[Departure]),
) -> Result<u64> {
    let (mut sequence, mut left) = (first_sequence, departures);
    while !left.is_empty() {
        let done = sender.send(sequence, left)?;
        ensure!(done > 0, "datagram {sequence} could not be sent");
        let (sent, rest) = left.split_at(done.min(left.len()));
        count(sent);
        sequence += done as u64;
        left = rest;
    }
    Ok(sequence)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const FLOW: &str = r#"{"id":0,"name":"x","group":"x","tool":"x","from":"a","to":"b","source":"10.0.0.1",
            "destination":"10.0.0.2","source_port":1,"destination_port":2,"family":"ipv4","start_ns":0,"duration_ns":1,
            "seed":7,"changes":[],"sockets":[],"rate_bps":1000000,"packet_size_bytes":1458,"packet_size_most_bytes":1472,
            "packet_size_distribution":"constant"}"#;

    fn flow(text: &str) -> Flow {
        serde_json::from_str(text).unwrap_or_else(|e| unreachable!("{e}"))
    }

    /// The departures of a source at 1 Mbit/s whose packets take 12 ms each.
    pub fn departures<P: Pattern>(pattern: P) -> Departures<P> {
        let flow = flow(FLOW);
        let fields = flow.fields().unwrap_or_else(|e| unreachable!("{e}"));
        Departures::new(&flow, fields, pattern)
    }

    /// A sender that has no room for the datagram of a number.
    struct Full(u64);

    impl TimedSender for Full {
        fn send(&mut self, first_sequence: u64, departures: &[Departure]) -> Result<usize> {
            let room = self.0.saturating_sub(first_sequence) as usize;
            ensure!(room > 0, "no buffer space");
            Ok(room.min(departures.len()))
        }
    }

    #[test]
    fn the_cause_is_told_why_a_later_datagram_could_not_be_sent() {
        let batch = [1, 2, 3].map(|at_ns| Departure {
            at_ns,
            payload_bytes: 16,
        });
        let mut counted = 0;
        let sent = send_all(&mut Full(12), 10, &batch, |sent| counted += sent.len());
        assert_eq!(
            sent.map_err(|e| e.to_string()),
            Err("no buffer space".to_owned())
        );
        assert_eq!(counted, 2);
        let all = send_all(&mut Full(99), 10, &batch, |_| {});
        assert_eq!(all.ok(), Some(13));
    }

    #[test]
    fn a_field_that_is_not_known_is_refused() {
        let more = FLOW.replace(r#""seed":7"#, r#""seed":7,"speed":1"#);
        let refused = flow(&more).fields::<UdpFields>().err();
        let message = refused.map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(
            message.starts_with("fields of the tool x: unknown field `speed`"),
            "{message}"
        );
    }
}

//! Drives the connections of one endpoint: datagrams from the socket to quinn, from quinn to the socket, and its timers.
//!
//! quinn itself does no I/O and reads no clock. Each turn passes it everything that has happened by now, and sends its
//! output.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig,
    ServerConfig,
};

use super::observations::Observations;
use super::socket::{Arrival, UdpSocket};
use super::tls::SERVER_NAME;

/// Datagrams in one call, if segments are cut by the kernel: as many as quinn's own drivers hand over.
const SEGMENTS: usize = 10;
const AT_ONCE: Duration = Duration::from_nanos(1);

/// An endpoint with its connections and its socket.
pub struct Driver {
    endpoint: Endpoint,
    connections: BTreeMap<usize, Connection>,
    socket: UdpSocket,
    alarm: Alarm,
    wakeup: Arc<EventFd>,
    bytes: Vec<u8>,
    observations: Option<Observations>,
    /// The last answer of ICMP to one of its datagrams.
    pub refusal: Option<Errno>,
}

impl Driver {
    pub fn new(
        config: EndpointConfig,
        server: Option<ServerConfig>,
        socket: UdpSocket,
        wakeup: Arc<EventFd>,
    ) -> Result<Self> {
        Ok(Self {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), false, None),
            connections: BTreeMap::new(),
            socket,
            alarm: Alarm::new()?,
            wakeup,
            bytes: Vec::new(),
            observations: None,
            refusal: None,
        })
    }

    /// The same driver, whose connections' controllers write into these logs.
    pub fn observing(mut self, observations: Observations) -> Self {
        self.observations = Some(observations);
        self
    }

    /// Forgets what the connections so far have been seen to do.
    pub fn forget(&mut self) {
        if let Some(observations) = &mut self.observations {
            observations.clear();
        }
    }

    /// Writes what was seen of all connections in this turn.
    pub fn record(&self) -> Result<()> {
        if let Some(observations) = &self.observations {
            for (number, connection) in &self.connections {
                observations.write(*number, connection)?;
            }
        }
        Ok(())
    }

    /// Keeps a new connection.
    fn keep(&mut self, handle: ConnectionHandle, connection: Connection) {
        self.connections.insert(handle.0, connection);
        if let Some(observations) = &mut self.observations {
            observations.begin(handle.0);
        }
    }

    /// Begins a connection, and returns its number.
    pub fn connect(&mut self, config: ClientConfig, to: SocketAddr) -> Result<usize> {
        let now = Instant::now();
        let (handle, connection) = self.endpoint.connect(now, config, to, SERVER_NAME)?;
        self.keep(handle, connection);
        Ok(handle.0)
    }

    /// A connection by its number, until it is closed and forgotten.
    pub fn connection(&mut self, number: usize) -> Option<&mut Connection> {
        self.connections.get_mut(&number)
    }

    /// All connections, with their numbers.
    pub fn connections(&mut self) -> impl Iterator<Item = (usize, &mut Connection)> {
        self.connections
            .iter_mut()
            .map(|(number, one)| (*number, one))
    }

    /// The first half of a turn: takes what has arrived, and handles timers that are due.
    pub fn hear(&mut self, now: Instant) -> Result<()> {
        let arrivals = self.socket.take()?;
        self.refusal = arrivals.refusal.or(self.refusal);
        for arrival in arrivals.datagrams {
            self.take(now, arrival);
        }
        for connection in self.connections.values_mut() {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
        }
        Ok(())
    }

    fn take(&mut self, now: Instant, arrival: Arrival) {
        let Arrival { from, ecn, bytes } = arrival;
        let answer = &mut self.bytes;
        answer.clear();
        let transmit = match self.endpoint.handle(now, from, None, ecn, bytes, answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle.0) {
                    connection.handle_event(event);
                }
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, answer, None) {
                    Ok((handle, connection)) => {
                        self.keep(handle, connection);
                        None
                    }
                    Err(refusal) => refusal.response,
                }
            }
            Some(DatagramEvent::Response(transmit)) => Some(transmit),
            None => None,
        };
        if let Some(transmit) = transmit {
            self.socket.send(&transmit, &self.bytes);
        }
    }

    /// The second half of a turn: sends all that may leave now, and forgets connections that are over.
    pub fn speak(&mut self, now: Instant) {
        for (number, connection) in &mut self.connections {
            let mut settled = false;
            while !settled {
                self.bytes.clear();
                while let Some(transmit) = connection.poll_transmit(now, SEGMENTS, &mut self.bytes)
                {
                    self.socket.send(&transmit, &self.bytes);
                    self.bytes.clear();
                }
                settled = true;
                while let Some(event) = connection.poll_endpoint_events() {
                    let answer = self.endpoint.handle_event(ConnectionHandle(*number), event);
                    if let Some(answer) = answer {
                        connection.handle_event(answer);
                        settled = false;
                    }
                }
            }
        }
        self.connections.retain(|_, one| !one.is_drained());
    }

    /// Sleeps until a datagram arrives, a timer is due, the thread is woken, or `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<()> {
        let timers = self.connections.values_mut();
        let due = timers.filter_map(Connection::poll_timeout).chain(until);
        self.alarm.set(due.min())?;
        let mut awaited = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.alarm.timer.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.wakeup.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut awaited, PollTimeout::NONE).context("poll")?;
        let [_, rang, woken] = awaited.map(|one| one.any().unwrap_or_default());
        if rang {
            self.alarm.clear()?;
        }
        if woken {
            self.wakeup.read().context("eventfd")?;
        }
        Ok(())
    }
}

/// A timer that is set only when it must be earlier: with each acknowledgement quinn's timers move to a later instant.
struct Alarm {
    timer: TimerFd,
    set_to: Option<Instant>,
}

impl Alarm {
    fn new() -> Result<Self> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        Ok(Self {
            timer,
            set_to: None,
        })
    }

    /// Makes it expire at this instant at the latest.
    fn set(&mut self, due: Option<Instant>) -> Result<()> {
        let Some(due) = due.filter(|due| self.set_to.is_none_or(|set_to| *due < set_to)) else {
            return Ok(());
        };
        let left = due.saturating_duration_since(Instant::now()).max(AT_ONCE);
        let left = Expiration::OneShot(TimeSpec::from_duration(left));
        self.timer.set(left, TimerSetTimeFlags::empty())?;
        self.set_to = Some(due);
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.set_to = None;
        self.timer.wait().context("timerfd")
    }
}

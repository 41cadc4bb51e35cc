//! `cbr`, `poisson`, `on_off`: UDP sources that never wait for anything, and an exact account of what arrived.
//!
//! A source plans a thousand departures at a time and hands them to the kernel with one system call
//! (`/proc/netwarp_send`); the receiver takes a thousand datagrams with one `recvmmsg` that sleeps in the kernel. Each
//! datagram begins with its sequence number and the instant of its sending.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{
    Shutdown, SockType, SockaddrStorage, connect, setsockopt, shutdown, sockopt,
};

use super::draws::{Distribution, Draws, cut_exponential_mean};
use super::receipts::{Datagrams, Receipts, receive};
use super::socket::bound;
use super::{Account, Generator, lock, spawn};
use crate::constants::{
    ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, MIN_PAYLOAD_BYTES,
    UDP_HEADER_BYTES,
};
use crate::lab::{Flow, Tool, Udp};
use crate::network::Network;

const CONTROL: &str = "/proc/netwarp_send";
/// Departures handed over at once.
const BATCH: usize = 1024;
/// struct netwarp_payload: what every datagram has at least.
const LEAST_PAYLOAD: f64 = MIN_PAYLOAD_BYTES as f64;
/// So that neither end's buffer is ever what loses or delays a datagram: the queues decide.
const BUFFER_BYTES: usize = 256 << 20;
/// Ethernet and UDP headers, and those of IP by family.
const HEADERS: f64 = (ETHERNET_HEADER_BYTES + UDP_HEADER_BYTES) as f64;
const IPV4_HEADER: f64 = IPV4_HEADER_BYTES as f64;
const IPV6_HEADER: f64 = IPV6_HEADER_BYTES as f64;

/// When what leaves: an endless iterator of (nanoseconds from the flow's start, payload bytes).
struct Departures {
    udp: Udp,
    draws: Draws,
    headers: f64,
    most: f64,
    mean_bits: f64,
    next_ns: f64,
    pattern: Pattern,
}

enum Pattern {
    /// Each packet takes its time at the rate.
    Even,
    /// Exponential intervals with the mean that the rate gives.
    Poisson,
    /// Even while on; nothing while off. `until_ns` is the end of this spell of sending.
    OnOff {
        on: (f64, Distribution),
        off: (f64, Distribution),
        until_ns: f64,
    },
}

impl Departures {
    fn new(flow: &Flow) -> Result<Self> {
        let (udp, pattern) = match &flow.tool {
            Tool::Cbr(udp) => (udp, Pattern::Even),
            Tool::Poisson(udp) => (udp, Pattern::Poisson),
            Tool::OnOff {
                udp,
                on_ns,
                on_distribution,
                off_ns,
                off_distribution,
            } => (
                udp,
                Pattern::OnOff {
                    on: (*on_ns as f64, *on_distribution),
                    off: (*off_ns as f64, *off_distribution),
                    until_ns: 0.0,
                },
            ),
            _ => bail!("not a UDP flow"),
        };
        let ip = if flow.source.is_ipv4() {
            IPV4_HEADER
        } else {
            IPV6_HEADER
        };
        let most = udp.packet_size_most_bytes as f64;
        let mean = udp.packet_size_bytes as f64;
        let mean_payload = match udp.packet_size_distribution {
            Distribution::Exponential => cut_exponential_mean(mean, LEAST_PAYLOAD, most),
            _ => mean.max(LEAST_PAYLOAD),
        };
        let headers = HEADERS + ip;
        let mean_bits = (mean_payload + headers) * 8.0;
        let mut departures = Self {
            udp: udp.clone(),
            draws: Draws::new(flow.seed),
            headers,
            most,
            mean_bits,
            next_ns: 0.0,
            pattern,
        };
        if matches!(departures.pattern, Pattern::Poisson) {
            departures.next_ns = departures.exponential_gap();
        }
        Ok(departures)
    }

    fn exponential_gap(&mut self) -> f64 {
        self.draws.value(
            self.mean_bits * 1e9 / self.udp.rate_bps as f64,
            Distribution::Exponential,
        )
    }
}

impl Iterator for Departures {
    type Item = (i64, u32);

    fn next(&mut self) -> Option<(i64, u32)> {
        let mean = self.udp.packet_size_bytes as f64;
        let payload = self
            .draws
            .within(
                mean,
                self.udp.packet_size_distribution,
                LEAST_PAYLOAD,
                self.most,
            )
            .round();
        let even_gap = (payload + self.headers) * 8.0 * 1e9 / self.udp.rate_bps as f64;
        if let Pattern::OnOff { on, off, until_ns } = &mut self.pattern {
            if *until_ns == 0.0 {
                *until_ns = self.draws.value(on.0, on.1);
            }
            while self.next_ns >= *until_ns {
                self.next_ns = self.next_ns.max(*until_ns + self.draws.value(off.0, off.1));
                *until_ns = self.next_ns + self.draws.value(on.0, on.1);
            }
        }
        let at = self.next_ns;
        self.next_ns += match self.pattern {
            Pattern::Poisson => self.exponential_gap(),
            Pattern::Even | Pattern::OnOff { .. } => even_gap,
        };
        Some((at.round() as i64, payload as u32))
    }
}

/// A source and its sink.
pub struct UdpFlow {
    sink: Arc<OwnedFd>,
    sent: Arc<Mutex<Sent>>,
    receipts: Arc<Mutex<Receipts>>,
    receiver: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Sent {
    packets: u64,
    bytes: u64,
    error: Option<String>,
}

impl UdpFlow {
    /// Opens both sockets and starts both threads; datagrams that arrive go to `table`.
    pub fn prepare(
        network: &Network,
        flow: &Flow,
        t0_ns: i64,
        table: &Arc<Mutex<Datagrams>>,
    ) -> Result<Self> {
        let from = SocketAddr::new(flow.source, flow.source_port);
        let to = SocketAddr::new(flow.destination, flow.destination_port);
        let source = network.node(&flow.from)?.run(|| pair(from, to))??;
        let sink = Arc::new(network.node(&flow.to)?.run(|| pair(to, from))??);
        let control = OpenOptions::new()
            .write(true)
            .open(CONTROL)
            .context(CONTROL)?;
        let departures = Departures::new(flow)?;
        let sent = Arc::new(Mutex::new(Sent::default()));
        let receipts = Arc::new(Mutex::new(Receipts::default()));
        let (start, duration, told) = (t0_ns + flow.start_ns, flow.duration_ns, Arc::clone(&sent));
        spawn(format!("from {}", flow.name), move || {
            if let Err(e) = send(control, &source, departures, start, duration, &told) {
                lock(&told).error = Some(format!("{e:#}"));
            }
        })?;
        let (id, socket, account, table) = (
            flow.id,
            Arc::clone(&sink),
            Arc::clone(&receipts),
            Arc::clone(table),
        );
        let receiver = spawn(format!("to {}", flow.name), move || {
            receive(id, &socket, t0_ns, &account, &table)
        })?;
        Ok(Self {
            sink,
            sent,
            receipts,
            receiver: Some(receiver),
        })
    }
}

impl Generator for UdpFlow {
    /// Departures end with the flow's duration by themselves.
    fn stop(&mut self) {}

    fn account(&mut self, account: &mut Account) -> Result<()> {
        // Wakes the receiver, which takes what its socket still holds and ends.
        let _ = shutdown(self.sink.as_raw_fd(), Shutdown::Read);
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
        let (sent, receipts) = (lock(&self.sent), lock(&self.receipts));
        account.error = sent.error.clone().or_else(|| receipts.error.clone());
        account.sent_pkts = Some(sent.packets);
        account.sent_bytes = Some(sent.bytes);
        account.received_bytes = Some(receipts.bytes);
        account.received_pkts = Some(receipts.unique());
        account.duplicate_pkts = Some(receipts.duplicates());
        account.reordered_pkts = Some(receipts.reordered);
        account.jitter_us = receipts.jitter_us();
        Ok(())
    }
}

/// A UDP socket bound to `local` and connected to `remote`, with room.
fn pair(local: SocketAddr, remote: SocketAddr) -> Result<OwnedFd> {
    let socket = bound(local, SockType::Datagram)?;
    setsockopt(&socket, sockopt::SndBufForce, &BUFFER_BYTES)?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(remote))
        .with_context(|| format!("cannot connect to {remote}"))?;
    Ok(socket)
}

/// Hands over departures, batch by batch, until `duration_ns` is over.
fn send(
    mut control: File,
    socket: &OwnedFd,
    departures: Departures,
    start_ns: i64,
    duration_ns: i64,
    told: &Mutex<Sent>,
) -> Result<()> {
    let mut departures = departures
        .take_while(|(at, _)| *at < duration_ns)
        .peekable();
    let mut sequence = 0_u64;
    while departures.peek().is_some() {
        let batch: Vec<(i64, u32)> = departures.by_ref().take(BATCH).collect();
        let mut request = Vec::with_capacity(16 + batch.len() * 16);
        request.extend_from_slice(&(socket.as_raw_fd() as u32).to_ne_bytes());
        request.extend_from_slice(&(batch.len() as u32).to_ne_bytes());
        request.extend_from_slice(&sequence.to_ne_bytes());
        for (at, bytes) in &batch {
            request.extend_from_slice(&(start_ns + at).to_ne_bytes());
            request.extend_from_slice(&u64::from(*bytes).to_ne_bytes());
        }
        let done = control
            .write(&request)
            .context("sending datagrams")?
            .saturating_sub(16)
            / 16;
        sequence += done as u64;
        let mut told = lock(told);
        told.packets = sequence;
        told.bytes += batch
            .iter()
            .take(done)
            .map(|(_, bytes)| u64::from(*bytes))
            .sum::<u64>();
        if done < batch.len() {
            bail!("datagram {sequence} could not be sent");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(tool: &str) -> Flow {
        let text = format!(
            r#"{{"id":0,"name":"x","from":"a","to":"b","source":"10.0.0.1","destination":"10.0.0.2","source_port":1,
            "destination_port":2,"start_ns":0,"duration_ns":1,"seed":7,"rate_bps":1000000,{tool}}}"#
        );
        serde_json::from_str(&text).unwrap_or_else(|e| unreachable!("{e}"))
    }

    fn departures(tool: &str) -> Departures {
        Departures::new(&flow(tool)).unwrap_or_else(|e| unreachable!("{e}"))
    }

    const FIXED: &str = r#""packet_size_bytes":1458,"packet_size_most_bytes":1472,"packet_size_distribution":"constant""#;

    #[test]
    fn cbr_counts_whole_frames() {
        let gaps: Vec<i64> = departures(&format!(r#""tool":"cbr",{FIXED}"#))
            .take(3)
            .map(|d| d.0)
            .collect();
        assert_eq!(gaps, [0, 12_000_000, 24_000_000]);
    }

    #[test]
    fn poisson_keeps_the_rate() {
        let last = departures(&format!(r#""tool":"poisson",{FIXED}"#))
            .nth(99_999)
            .map_or(0, |d| d.0);
        assert!((last as f64 / 1e5 / 12e6 - 1.0).abs() < 0.02, "{last}");
    }

    #[test]
    fn on_off_is_silent_while_off() {
        let tool = format!(
            r#""tool":"on_off",{FIXED},"on_ns":36000000,"on_distribution":"constant","off_ns":100000000,"off_distribution":"constant""#
        );
        let times: Vec<i64> = departures(&tool).take(5).map(|d| d.0 / 1_000_000).collect();
        assert_eq!(times, [0, 12, 24, 136, 148]);
    }
}

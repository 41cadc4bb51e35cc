//! `ping`: ICMP echo at fixed instants, each round trip measured to the nanosecond: from the instant of sending to the
//! kernel's timestamp of the reply. (The program ping rounds to three digits.)

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, bind, connect, recvmsg, send, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;

use super::echoes::{Echo, Echoes};
use super::fields::PingFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup, Tables};
use super::options;
use super::socket::echo;
use super::threads::{lock, spawn};
use crate::time::{Stamps, monotonic_ns, wait_until};

const ICMP_ECHO: u8 = 8;
const ICMPV6_ECHO_REQUEST: u8 = 128;

/// A flow of echo requests.
struct Ping {
    flow_id: u32,
    tables: Tables,
    size: usize,
    stopped: Arc<AtomicBool>,
    echoes: Arc<Mutex<Vec<Echo>>>,
    error: Arc<Mutex<Option<String>>>,
}

/// The end at another machine's destination: the kernel answers echo requests, so it has nothing to do.
struct Elsewhere;

impl Generator for Elsewhere {
    fn stop(&mut self) {}

    fn collect(&mut self, _stats: &mut FlowStats) -> Result<()> {
        Ok(())
    }
}

/// Opens the socket and starts a thread that sends and one that receives.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let (flow, t0_ns) = (setup.flow, setup.t0_ns);
    let PingFields { interval_ns, size } = flow.fields()?;
    let size = usize::from(size);
    let Some(source) = setup.source() else {
        return Ok(Box::new(Elsewhere));
    };
    let socket = Arc::new(source.run(|| -> Result<OwnedFd> {
        let socket = echo(flow.source)?;
        let local = SockaddrStorage::from(SocketAddr::new(flow.source, flow.source_port));
        bind(socket.as_raw_fd(), &local).context("cannot bind an echo socket")?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        options::set(socket.as_raw_fd(), &flow.sockets)?;
        connect(
            socket.as_raw_fd(),
            &SockaddrStorage::from(SocketAddr::new(flow.destination, 0)),
        )?;
        Ok(socket)
    })??);
    let ping = Ping {
        flow_id: flow.id,
        tables: setup.tables.clone(),
        size,
        stopped: Arc::default(),
        echoes: Arc::default(),
        error: Arc::default(),
    };
    let kind = if flow.source.is_ipv4() {
        ICMP_ECHO
    } else {
        ICMPV6_ECHO_REQUEST
    };
    let (stopped, echoes, error) = (
        Arc::clone(&ping.stopped),
        Arc::clone(&ping.echoes),
        Arc::clone(&ping.error),
    );
    let (start, sender) = (t0_ns + flow.start_ns, Arc::clone(&socket));
    spawn(format!("from {}", flow.name), move || {
        let mut packet = vec![0_u8; 8 + size];
        packet[0] = kind;
        for sequence in 0_u32.. {
            wait_until(start + i64::from(sequence) * interval_ns);
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            packet[6..8].copy_from_slice(&(sequence as u16).to_be_bytes());
            lock(&echoes).push(Echo {
                sent_ns: monotonic_ns() - t0_ns,
                rtt_ns: None,
            });
            match send(sender.as_raw_fd(), &packet, MsgFlags::empty()) {
                // A full queue of this node dropped it (net_xmit_errno()): it counts as a lost request.
                Ok(_) | Err(Errno::ENOBUFS) => {}
                Err(e) => {
                    lock(&error).get_or_insert_with(|| format!("echo request {sequence}: {e}"));
                }
            }
        }
    })?;
    let echoes = Arc::clone(&ping.echoes);
    spawn(format!("to {}", flow.name), move || {
        receive(&socket, &echoes, t0_ns)
    })?;
    Ok(Box::new(ping))
}

impl Generator for Ping {
    fn stop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        let echoes = lock(&self.echoes);
        let answered = echoes.iter().filter(|e| e.rtt_ns.is_some()).count();
        stats.sent_bytes = Some((echoes.len() * self.size) as u64);
        stats.received_bytes = Some((answered * self.size) as u64);
        (stats.sent_pkts, stats.received_pkts) = (Some(echoes.len() as u64), Some(answered as u64));
        stats.error.clone_from(&lock(&self.error));
        lock(&self.tables.pings).push(Echoes {
            flow_id: self.flow_id,
            echoes: echoes.clone(),
        });
        Ok(())
    }
}

fn receive(socket: &OwnedFd, echoes: &Mutex<Vec<Echo>>, t0_ns: i64) {
    let stamps_of_kernel = Stamps::new();
    let mut reply = [0_u8; 64];
    let mut control = cmsg_space!(TimeSpec);
    loop {
        let mut parts = [IoSliceMut::new(&mut reply)];
        let Ok(message) = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        ) else {
            return;
        };
        let Ok(mut stamps) = message.cmsgs() else {
            continue;
        };
        let stamp = stamps.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(t) => {
                Some(stamps_of_kernel.monotonic_ns(t.tv_sec() * 1_000_000_000 + t.tv_nsec()))
            }
            _ => None,
        });
        let (bytes, Some(stamp)) = (message.bytes, stamp) else {
            continue;
        };
        if bytes >= 8 {
            settle(
                &mut lock(echoes),
                u16::from_be_bytes([reply[6], reply[7]]),
                stamp - t0_ns,
            );
        }
    }
}

/// Records the answer to the newest request with this 16-bit sequence number.
fn settle(echoes: &mut [Echo], sequence: u16, received_ns: i64) {
    let newest = (0..echoes.len()).rev().find(|&i| i as u16 == sequence);
    if let Some(echo) = newest.and_then(|i| echoes.get_mut(i)) {
        echo.rtt_ns.get_or_insert(received_ns - echo.sent_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_settles_the_newest_request_of_its_sequence_number() {
        let mut echoes: Vec<Echo> = (0..70_000)
            .map(|i| Echo {
                sent_ns: i,
                rtt_ns: None,
            })
            .collect();
        settle(&mut echoes, 3, 100_000);
        assert_eq!(echoes[65_539].rtt_ns, Some(100_000 - 65_539));
        assert_eq!(echoes[3].rtt_ns, None);
    }
}

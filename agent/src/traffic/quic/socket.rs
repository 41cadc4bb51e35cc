//! The UDP socket of an endpoint: datagrams with the ECN bits of their IP headers, several of them in one call.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use anyhow::{Context, Result};
use bytes::BytesMut;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockType, SockaddrStorage,
    connect, recvmmsg, sendmsg, setsockopt, sockopt,
};
use quinn_proto::{EcnCodepoint, Transmit};

use crate::lab::Flow;
use crate::traffic::options::{self, set_number};
use crate::traffic::socket::bound;
use crate::traffic::udp::enlarge_buffers;

/// Number of datagrams taken at once.
const BATCH: usize = 32;
/// The bits of ECN in the octet of DSCP and ECN (RFC 3168, section 5).
const ECN_BITS: u8 = 3;

/// A datagram that arrived.
pub struct Arrival {
    pub from: SocketAddr,
    pub ecn: Option<EcnCodepoint>,
    pub bytes: BytesMut,
}

/// Datagrams that waited in a socket.
pub struct Arrivals {
    pub datagrams: Vec<Arrival>,
    /// The answer of ICMP to a datagram that was sent before, which the kernel keeps until then.
    pub refusal: Option<Errno>,
}

/// The socket.
pub struct UdpSocket {
    socket: OwnedFd,
    is_ipv4: bool,
    is_connected: bool,
    /// The octet of DSCP and ECN without the latter, if quinn decides about ECN; None: the socket's options decide.
    class: Option<u8>,
    buffers: Vec<Vec<u8>>,
}

impl UdpSocket {
    /// Opens it in the namespace of this thread; with `remote` it learns if that address refuses its datagrams.
    pub fn open(
        flow: &Flow,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        datagram_bytes: u32,
    ) -> Result<Self> {
        let socket = bound(local, SockType::Datagram)?;
        enlarge_buffers(&socket)?;
        let is_ipv4 = local.is_ipv4();
        let (level, discover, probe) = if is_ipv4 {
            setsockopt(&socket, sockopt::IpRecvTos, &true)?;
            (
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_PROBE,
            )
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
            (
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            )
        };
        // Packets must not be fragmented (RFC 9000, section 14).
        set_number(socket.as_raw_fd(), level, discover, probe.into()).context("no fragments")?;
        options::set(socket.as_raw_fd(), &flow.sockets)?;
        if let Some(remote) = remote {
            connect(socket.as_raw_fd(), &SockaddrStorage::from(remote))
                .with_context(|| format!("cannot connect to {remote}"))?;
        }
        Ok(Self {
            socket,
            is_ipv4,
            is_connected: remote.is_some(),
            class: class_of(flow),
            buffers: vec![vec![0; datagram_bytes as usize]; BATCH],
        })
    }

    /// Sends what quinn has put into `bytes`. A packet that the network or this node refuses is lost, like one that a queue
    /// drops.
    pub fn send(&self, transmit: &Transmit, bytes: &[u8]) {
        let part = [IoSlice::new(bytes)];
        let segment = transmit.segment_size.map(|size| size as u16);
        let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
        let octet = self.class.map(|class| class | ecn).unwrap_or_default();
        let wide = i32::from(octet);
        let mut control = Vec::with_capacity(2);
        control.extend(segment.as_ref().map(ControlMessage::UdpGsoSegments));
        if self.class.is_some() {
            control.push(match self.is_ipv4 {
                true => ControlMessage::Ipv4Tos(&octet),
                false => ControlMessage::Ipv6TClass(&wide),
            });
        }
        let to = (!self.is_connected).then(|| SockaddrStorage::from(transmit.destination));
        let _ = sendmsg(
            self.socket.as_raw_fd(),
            &part,
            &control,
            MsgFlags::empty(),
            to.as_ref(),
        );
    }

    /// Takes the datagrams that wait in the socket.
    pub fn take(&mut self) -> Result<Arrivals> {
        let mut found = Arrivals {
            datagrams: Vec::new(),
            refusal: None,
        };
        loop {
            match self.take_batch(&mut found.datagrams) {
                Ok(BATCH) => {}
                Ok(_) | Err(Errno::EAGAIN) => return Ok(found),
                Err(e @ (Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH)) => {
                    found.refusal = Some(e);
                }
                Err(e) => return Err(e).context("cannot receive"),
            }
        }
    }

    fn take_batch(&mut self, found: &mut Vec<Arrival>) -> nix::Result<usize> {
        let mut headers =
            MultiHeaders::<SockaddrStorage>::preallocate(BATCH, Some(cmsg_space!(libc::c_int)));
        let mut parts: Vec<[IoSliceMut; 1]> = self
            .buffers
            .iter_mut()
            .map(|buffer| [IoSliceMut::new(buffer)])
            .collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let fd = self.socket.as_raw_fd();
        let mut got = 0;
        for message in recvmmsg(fd, &mut headers, parts.iter_mut(), flags, None)? {
            got += 1;
            let bytes = message.iovs().next().unwrap_or_default();
            let Some(from) = message.address.as_ref().and_then(address) else {
                continue;
            };
            let ecn = message.cmsgs()?.find_map(|one| match one {
                ControlMessageOwned::Ipv4Tos(octet) => Some(octet),
                ControlMessageOwned::Ipv6TClass(octet) => Some(octet as u8),
                _ => None,
            });
            found.push(Arrival {
                from,
                ecn: ecn.and_then(|octet| EcnCodepoint::from_bits(octet & ECN_BITS)),
                bytes: BytesMut::from(bytes),
            });
        }
        Ok(got)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The DSCP bits of a flow that asks for ECN.
fn class_of(flow: &Flow) -> Option<u8> {
    let names = ["IP_TOS", "IPV6_TCLASS"];
    let mut octets = flow
        .sockets
        .iter()
        .filter(|option| names.contains(&option.name.as_str()))
        .map(|option| option.value as u8);
    octets
        .next()
        .filter(|octet| octet & ECN_BITS != 0)
        .map(|octet| octet & !ECN_BITS)
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddrV4::from(*v4).into());
    }
    storage
        .as_sockaddr_in6()
        .map(|v6| SocketAddrV6::from(*v6).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    const FLOW: &str = r#"{"id":0,"name":"x","group":"x","tool":"x","from":"a","to":"b","source":"127.0.0.1",
            "destination":"127.0.0.1","source_port":1,"destination_port":2,"family":"ipv4","start_ns":0,"duration_ns":1,
            "seed":7,"changes":[],"sockets":SOCKETS}"#;

    fn flow(sockets: &str) -> Result<Flow> {
        Ok(serde_json::from_str(&FLOW.replace("SOCKETS", sockets))?)
    }

    fn local(socket: &UdpSocket) -> Result<SocketAddr> {
        let storage = nix::sys::socket::getsockname::<SockaddrStorage>(socket.socket.as_raw_fd())?;
        address(&storage).context("no address")
    }

    fn transmit(destination: SocketAddr) -> Transmit {
        Transmit {
            destination,
            ecn: Some(EcnCodepoint::Ect0),
            size: 3,
            segment_size: None,
            src_ip: None,
        }
    }

    #[test]
    fn a_port_that_no_socket_has_is_learnt_of() -> Result<()> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let closed = local(&UdpSocket::open(&flow("[]")?, any, None, 1200)?)?;
        let mut socket = UdpSocket::open(&flow("[]")?, any, Some(closed), 1200)?;
        socket.send(&transmit(closed), b"abc");
        sleep(Duration::from_millis(10));
        assert_eq!(socket.take()?.refusal, Some(Errno::ECONNREFUSED));
        assert_eq!(socket.take()?.refusal, None);
        Ok(())
    }

    #[test]
    fn marks_are_sent_only_for_flows_that_ask_for_ecn() -> Result<()> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        for (sockets, expected) in [
            ("[]", None),
            (
                r#"[{"name":"IP_TOS","level":0,"option":1,"value":138}]"#,
                Some(EcnCodepoint::Ect0),
            ),
        ] {
            let mut to = UdpSocket::open(&flow("[]")?, any, None, 1200)?;
            let destination = local(&to)?;
            let from = UdpSocket::open(&flow(sockets)?, any, None, 1200)?;
            from.send(&transmit(destination), b"abc");
            let arrivals = to.take()?;
            let found: Vec<_> = arrivals
                .datagrams
                .iter()
                .map(|one| (one.ecn, &one.bytes[..]))
                .collect();
            assert_eq!(found, [(expected, &b"abc"[..])]);
        }
        Ok(())
    }
}

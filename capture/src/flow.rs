//! A flow: the packets between two ports of two hosts, in both directions.

use std::net::IpAddr;

use crate::direction::Direction;
use crate::flags::Flags;
use crate::packet_info::PacketInfo;
use crate::segment::{ACK, SYN, Segment};
use crate::sequence::{Exchange, Finding};

/// An address and a port; an IPv4 address as ::ffff:a.b.c.d.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    address: u128,
    /// The port
    pub port: u16,
}

impl Endpoint {
    /// Makes an endpoint from an address in the form of `ip`.
    #[must_use]
    pub fn new(address: u128, port: u16) -> Self {
        Self { address, port }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        IpAddr::from(std::net::Ipv6Addr::from(self.address)).to_canonical()
    }

    pub(crate) fn words(&self) -> [u64; 2] {
        [(self.address >> 64) as u64, self.address as u64]
    }
}

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP
    Tcp,
    /// UDP
    Udp,
}

impl Protocol {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Times of a TCP handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    syn_ns: Option<i64>,
    syn_ack_ns: Option<i64>,
    /// Time from the last SYN to the first ACK without SYN
    whole_ns: Option<u64>,
    /// Time from the last SYN to the first SYN that acknowledges it
    answer_ns: Option<u64>,
}

/// A flow with all its counts. Direction 0 is that of its first packet.
#[derive(Clone, Debug)]
pub struct Flow {
    /// TCP or UDP
    pub protocol: Protocol,
    /// Its number among those of its protocol, from 0: Wireshark's `tcp.stream` and `udp.stream`
    pub stream: u32,
    /// Source and destination of its first packet
    pub ends: [Endpoint; 2],
    /// Counts of each direction
    pub directions: [Direction; 2],
    handshake: Handshake,
}

impl Flow {
    pub(crate) fn new(protocol: Protocol, stream: u32, ends: [Endpoint; 2]) -> Self {
        Self {
            protocol,
            stream,
            ends,
            directions: Default::default(),
            handshake: Handshake::default(),
        }
    }

    /// Source and destination of the packets in this direction: 0 is the first packet's, 1 the opposite.
    #[must_use]
    pub fn ends_of(&self, direction: usize) -> [Endpoint; 2] {
        let [first, second] = self.ends;
        if direction == 0 {
            [first, second]
        } else {
            [second, first]
        }
    }

    /// Time from the SYN to the handshake's last ACK: a whole round trip, wherever the capture was taken (Wireshark's
    /// `tcp.analysis.initial_rtt`).
    #[must_use]
    pub fn handshake_ns(&self) -> Option<u64> {
        self.handshake.whole_ns
    }

    /// Time from the SYN to the SYN that answers it: the part of the round trip between the capture and the server.
    #[must_use]
    pub fn answer_ns(&self) -> Option<u64> {
        self.handshake.answer_ns
    }

    /// Whether this segment begins another connection between the same ports.
    pub(crate) fn is_reused_by(&self, direction: usize, segment: &Segment) -> bool {
        segment.flags & (SYN | ACK) == SYN
            && self
                .directions
                .get(direction)
                .is_some_and(|direction| direction.sender.is_reused_by(segment.seq))
    }

    /// Counts a UDP datagram, or a packet whose TCP header is unknown.
    pub(crate) fn count(&mut self, direction: usize, packet_info: &PacketInfo) {
        if let Some(direction) = self.directions.get_mut(direction) {
            direction.count(packet_info);
        }
    }

    /// Counts and analyses a TCP segment.
    pub(crate) fn analyse(
        &mut self,
        direction: usize,
        packet_info: &PacketInfo,
        segment: &Segment,
        flags: Flags,
    ) -> Finding {
        let [first, second] = &mut self.directions;
        let (forward, backward) = if direction == 0 {
            (first, second)
        } else {
            (second, first)
        };
        let finding = Exchange {
            sender: &mut forward.sender,
            peer: &mut backward.sender,
            segment,
            time_ns: packet_info.time_ns,
            handshake_ns: self.handshake.whole_ns,
        }
        .analyse(flags);
        forward.count(packet_info);
        forward.found(packet_info.time_ns, segment, &finding);
        backward.answered(packet_info.time_ns, segment, &finding);
        self.follow_handshake(packet_info.time_ns, segment);
        finding
    }

    fn follow_handshake(&mut self, time_ns: i64, segment: &Segment) {
        let times = &mut self.handshake;
        let since = |then: Option<i64>| u64::try_from(time_ns.wrapping_sub(then?)).ok();
        match segment.flags & (SYN | ACK) {
            SYN => times.syn_ns = Some(time_ns),
            ACK => times.whole_ns = times.whole_ns.or_else(|| since(times.syn_ns)),
            0 => {}
            _ => {
                times.syn_ack_ns = Some(time_ns);
                times.answer_ns = times.answer_ns.or_else(|| since(times.syn_ns));
            }
        }
    }
}

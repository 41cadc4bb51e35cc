//! Assigns packets of a capture to flows and computes round-trip times, bytes in flight, retransmissions.
//!
//! There is no I/O here: `file::Reader` takes bytes and returns frames, `Analysis` takes frames and keeps its findings.
//! Memory grows with the number of flows, not with that of packets.

mod bytes;
mod direction;
mod distribution;
pub mod file;
mod flags;
mod flow;
mod flows;
mod ip;
mod link;
mod observation;
mod packet_info;
mod segment;
mod sent_segments;
mod seqno;
mod sequence;
mod sequence_gaps;
mod series;

pub use direction::{Direction, InFlight, Times};
pub use distribution::Distribution;
pub use flags::Flags;
pub use flow::{Endpoint, Flow, Protocol};
pub use flows::Place;
pub use observation::Observation;
pub use sequence::Finding;
pub use series::{Interval, Series};

use bytes::be16;
use file::Frame;
use flows::Flows;
use packet_info::PacketInfo;

const UDP_HEADER_BYTES: u32 = 8;

/// Numbers of frames by kind. Frames that are in no flow are counted by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureStats {
    /// All frames
    pub frames: u64,
    /// Their bytes on the wire
    pub wire_bytes: u64,
    /// TCP segments in flows
    pub tcp: u64,
    /// UDP datagrams in flows
    pub udp: u64,
    /// IP packets with another payload
    pub other_protocol: u64,
    /// Frames of an unknown link layer
    pub unknown_link: u64,
    /// Frames without an IP packet
    pub not_ip: u64,
    /// Packets whose headers were cut off or are broken
    pub unreadable: u64,
    /// Fragments that could not be joined to a whole packet
    pub fragments: u64,
    /// Frames that were captured in part
    pub snapped: u64,
}

/// The analysis of a capture.
#[derive(Debug, Default)]
pub struct Analysis {
    stats: CaptureStats,
    flows: Flows,
}

impl Analysis {
    /// Numbers of frames by kind.
    #[must_use]
    pub fn stats(&self) -> &CaptureStats {
        &self.stats
    }

    /// The flows in the order of their first packets.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        self.flows.all()
    }

    /// Analyses a frame. `None` if it is in no flow.
    pub fn frame(&mut self, frame: &Frame<'_>) -> Option<Observation> {
        let stats = &mut self.stats;
        stats.frames += 1;
        stats.wire_bytes += u64::from(frame.wire_bytes);
        stats.snapped += u64::from((frame.bytes.len() as u64) < u64::from(frame.wire_bytes));
        let network = link::network_layer(frame.link_type, frame.bytes, frame.wire_bytes);
        let Some((bytes, wire_bytes)) = network else {
            if link::is_known(frame.link_type) {
                stats.not_ip += 1;
            } else {
                stats.unknown_link += 1;
            }
            return None;
        };
        let Some(packet) = ip::read(bytes, wire_bytes) else {
            stats.unreadable += 1;
            return None;
        };
        if packet.fragment.is_some() {
            stats.fragments += 1;
            return None;
        }
        match packet.protocol {
            ip::TCP => self.segment(frame, &packet),
            ip::UDP => self.datagram(frame, &packet),
            _ => {
                stats.other_protocol += 1;
                None
            }
        }
    }

    fn segment(&mut self, frame: &Frame<'_>, packet: &ip::Packet<'_>) -> Option<Observation> {
        let segment = segment::read(packet.payload, packet.payload_bytes);
        let (Some(segment), Some(ends)) = (segment, ends(packet)) else {
            self.stats.unreadable += 1;
            return None;
        };
        let packet_info = packet_info(frame, packet, segment.payload_bytes);
        let (place, finding) = self.flows.analyse(ends, &packet_info, &segment);
        self.stats.tcp += 1;
        Some(Observation {
            place,
            finding,
            payload_bytes: segment.payload_bytes,
        })
    }

    fn datagram(&mut self, frame: &Frame<'_>, packet: &ip::Packet<'_>) -> Option<Observation> {
        let Some(ends) = ends(packet) else {
            self.stats.unreadable += 1;
            return None;
        };
        let payload_bytes = packet.payload_bytes.saturating_sub(UDP_HEADER_BYTES);
        let packet_info = packet_info(frame, packet, payload_bytes);
        let place = self.flows.count(Protocol::Udp, ends, &packet_info);
        self.stats.udp += 1;
        Some(Observation {
            place,
            finding: Finding::default(),
            payload_bytes,
        })
    }
}

/// Source and destination of a packet whose payload begins with ports.
fn ends(packet: &ip::Packet<'_>) -> Option<[Endpoint; 2]> {
    Some([
        Endpoint::new(packet.source, be16(packet.payload, 0)?),
        Endpoint::new(packet.destination, be16(packet.payload, 2)?),
    ])
}

fn packet_info(frame: &Frame<'_>, packet: &ip::Packet<'_>, payload_bytes: u32) -> PacketInfo {
    PacketInfo {
        time_ns: frame.time_ns,
        wire_bytes: frame.wire_bytes,
        payload_bytes,
        marked: packet.marked,
    }
}

//! The fields of each kind of flow in the lab. Made by `make generate` from `python/netwarp/flows/`.

#![allow(dead_code, reason = "some fields are for readers of records")]

use serde::Deserialize;

use crate::lab::Distribution;

/// The fields of a bulk flow in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct BulkFields {
    pub cc: String,
    /// None: as much as possible
    pub bytes: Option<u64>,
    /// how long before its start its connection is opened
    pub connect_ahead_ns: i64,
}

/// The fields in the lab of every UDP source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct UdpFields {
    /// of whole frames
    pub rate_bps: u64,
    /// of payload
    pub packet_size_bytes: u32,
    pub packet_size_distribution: Distribution,
    /// bound of a drawn size
    pub packet_size_most_bytes: u32,
}

/// The fields of UDP sources in the lab, and the lengths of its phases.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct OnOffFields {
    /// of whole frames
    pub rate_bps: u64,
    /// of payload
    pub packet_size_bytes: u32,
    pub packet_size_distribution: Distribution,
    /// bound of a drawn size
    pub packet_size_most_bytes: u32,
    pub on_ns: i64,
    pub on_distribution: Distribution,
    pub off_ns: i64,
    pub off_distribution: Distribution,
}

/// The fields of a media stream in the lab; rates are of media, without headers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct MediaFields {
    /// controlled by draft-ietf-rmcat-gcc-02; otherwise constant
    pub adaptive: bool,
    /// of an adaptive stream its first
    pub rate_bps: u64,
    pub min_rate_bps: u64,
    pub max_rate_bps: u64,
    /// between two frames
    pub interval_ns: i64,
    /// media in a packet; a larger frame is several packets
    pub packet_most_bytes: u32,
    /// between two reports of the receiver
    pub feedback_ns: i64,
    /// for readers of records: of the playout buffer
    pub playout_ns: i64,
    /// for readers of records: from sending to playout; None: it adapts
    pub deadline_ns: Option<i64>,
    /// for readers of records: of speech; empty: other media
    pub codec: String,
}

/// The fields of an MPTCP connection in the lab; the endpoints of its subflows are its node's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct MptcpFields {
    pub cc: String,
    /// None: as much as possible
    pub bytes: Option<u64>,
    /// whether the receiver's socket is MPTCP's; otherwise it is TCP's
    pub receiver_is_mptcp: bool,
}

/// The fields of an SCTP association in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct SctpFields {
    /// None: as much as possible
    pub bytes: Option<u64>,
    /// the last one of a flow of a given size may be shorter
    pub message_size_bytes: u64,
    pub streams: u16,
    /// whether messages are delivered in the order of their stream
    pub ordered: bool,
}

/// The fields of a client and its server in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct RequestFields {
    pub cc: String,
    pub request_size_bytes: u64,
    pub request_size_distribution: Distribution,
    pub response_size_bytes: u64,
    pub response_size_distribution: Distribution,
    pub think_ns: i64,
    pub think_distribution: Distribution,
    /// between a request and its response
    pub service_ns: i64,
}

/// The fields of an incast in the lab; sizes are those of each sender.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct IncastFields {
    pub cc: String,
    pub senders: u16,
    pub request_size_bytes: u64,
    pub request_size_distribution: Distribution,
    pub response_size_bytes: u64,
    pub response_size_distribution: Distribution,
    pub think_ns: i64,
    pub think_distribution: Distribution,
}

/// The fields of an open-loop flow in the lab; the agent draws times and sizes from the flow's seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct OpenLoopFields {
    pub cc: String,
    /// a Poisson process; otherwise regular or listed
    pub poisson: bool,
    /// mean time between arrivals; None: they are listed
    pub interval_ns: Option<i64>,
    /// listed arrivals, from the flow's start
    pub times_ns: Vec<i64>,
    /// constant, exponential, pareto, lognormal or empirical
    pub size_distribution: String,
    /// the mean
    pub size_bytes: u64,
    /// Pareto's exponent; the deviation of a log-normal size's logarithm
    pub size_shape: f64,
    /// points of the empirical distribution, linear between them
    pub cdf_bytes: Vec<u64>,
    /// the share of transfers that are not larger than each
    pub cdf_shares: Vec<f64>,
}

/// The fields of a QUIC flow in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct QuicFields {
    pub cc: String,
    /// None: as much as possible
    pub bytes: Option<u64>,
    pub streams: u16,
    /// of UDP's payload, of every full packet
    pub datagram_size_bytes: u32,
    /// several datagrams in one call (UDP_SEGMENT)
    pub gso: bool,
    /// how long before its start a first connection fetches a session ticket; None: it does not resume
    pub resume_ahead_ns: Option<i64>,
}

/// The fields of a flow of QUIC datagrams in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct QuicDatagramsFields {
    pub cc: String,
    /// of the data; None: as much as possible
    pub rate_bps: Option<u64>,
    /// of data in a datagram
    pub message_size_bytes: u32,
    /// data that waits at the sender at most; not without `rate_bps`
    pub backlog_bytes: u32,
    /// of UDP's payload, of every full packet
    pub datagram_size_bytes: u32,
    /// several datagrams in one call (UDP_SEGMENT)
    pub gso: bool,
}

/// The fields of a client of HTTP and its server in the lab; the agent draws times and sizes from the seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct HttpFields {
    /// tcp, or udp for HTTP/3
    pub protocol: String,
    /// 1.1, 2 or 3
    pub version: String,
    /// TLS 1.3 over TCP; HTTP/3 always has it
    pub tls: bool,
    /// of both ends: the kernel's, or quinn's for HTTP/3
    pub cc: String,
    /// of HTTP/3: UDP's payload of every full packet
    pub datagram_size_bytes: u32,
    /// of HTTP/1.1 for each page, at most
    pub most_connections: u16,
    pub document_bytes: u64,
    /// of a page, beside its document
    pub objects: u16,
    /// levels of objects, each known when its parents are complete
    pub depth: u16,
    /// objects of each page that are requested with the urgency 1
    pub urgent: u16,
    /// of objects: constant, exponential, pareto, lognormal or empirical
    pub size_distribution: String,
    /// the mean
    pub size_bytes: u64,
    /// Pareto's exponent; the deviation of a log-normal size's logarithm
    pub size_shape: f64,
    /// points of the empirical distribution, linear between them
    pub cdf_bytes: Vec<u64>,
    /// the share of objects that are not larger than each
    pub cdf_shares: Vec<f64>,
    /// None: until the flow's end
    pub pages: Option<u32>,
    /// each page begins after the one before, and a pause; otherwise as arrivals say
    pub closed: bool,
    /// mean of the pauses
    pub think_ns: i64,
    pub think_distribution: Distribution,
    /// a Poisson process; otherwise regular or listed
    pub poisson: bool,
    /// mean time between arrivals; None: they are listed
    pub interval_ns: Option<i64>,
    /// listed arrivals, from the flow's start
    pub times_ns: Vec<i64>,
    /// how long before its start first connections fetch session tickets; None: it does not resume
    pub resume_ahead_ns: Option<i64>,
}

/// The fields of a video and its player in the lab; the agent draws sizes from the seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct VideoFields {
    /// tcp, or udp for HTTP/3
    pub protocol: String,
    /// 1.1, 2 or 3
    pub version: String,
    /// TLS 1.3 over TCP; HTTP/3 always has it
    pub tls: bool,
    /// of both ends: the kernel's, or quinn's for HTTP/3
    pub cc: String,
    /// of HTTP/3: UDP's payload of every full packet
    pub datagram_size_bytes: u32,
    /// buffer, rate or hybrid
    pub player: String,
    /// the ladder, which rises
    pub bitrates_bps: Vec<u64>,
    /// playback in a segment
    pub segment_ns: i64,
    /// of the video; None: until the flow's end
    pub segments: Option<u32>,
    /// deviation of the logarithm of segments' sizes; 0: their bitrate's
    pub size_sigma: f64,
    /// the most playback in the buffer
    pub buffer_ns: i64,
    /// in the buffer when playback begins, and when it goes on after a stall
    pub startup_ns: i64,
    /// of the player buffer: below it the lowest bitrate
    pub reservoir_ns: i64,
    /// of the player buffer: above both the highest bitrate
    pub cushion_ns: i64,
    /// of the player rate: the share of the throughput that a bitrate may have
    pub safety: f64,
}

/// The options of iperf3 in the lab, from which the agent makes its command line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Iperf3Fields {
    /// tcp or udp
    pub protocol: String,
    /// its -b; 0: no limit, None: its default
    pub rate_bps: Option<u64>,
    pub cc: Option<String>,
    /// its -n
    pub bytes: Option<u64>,
    /// further arguments of the client
    pub args: Vec<String>,
}

/// The fields of echo requests in the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct PingFields {
    pub interval_ns: i64,
    /// bytes of payload
    pub size: u16,
}

/// The programs of a flow in the lab, with their arguments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct CommandFields {
    pub client: Vec<String>,
    pub server: Option<Vec<String>>,
    /// where the server listens when it is ready
    pub ready_port: Option<u16>,
}

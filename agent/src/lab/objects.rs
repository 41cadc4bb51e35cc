//! The objects of a lab. Made by `make generate` from `python/netwarp/lab_format/`.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::settings::Settings;

/// The whole lab of one run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// version of the lab's format
    pub format: u32,
    /// the run's seed
    pub seed: u64,
    /// CLOCK_MONOTONIC of the machine at which the run's clock starts
    pub t0_ns: i64,
    /// the run ends at t0 + duration
    pub duration_ns: i64,
    pub machine: Machine,
    /// in the order in which they are loaded
    pub modules: Vec<Module>,
    pub wire: Wires,
    pub nodes: Vec<Node>,
    /// in file order
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    /// routes of flows with separate metrics
    pub flow_routes: Vec<FlowRoute>,
    /// one entry for each single flow: `count = 3` gives three
    pub flows: Vec<Flow>,
    /// in order of time; one entry for each end of a link that changes
    pub changes: Vec<Change>,
    /// programs that tune nodes
    pub tuners: Vec<Tuner>,
    pub record: Record,
    /// None: one machine runs the whole network
    pub parts: Option<Parts>,
    /// None: the lab is a network with flows
    pub exec: Option<Exec>,
}

/// The whole machine: sysctls in the order in which they are set, and how many files a process may have open.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// names and values, in the order in which they are set
    pub sysctl: Settings,
    /// how many files each process may have open
    pub open_files: u64,
}

/// A kernel module of the scenario, compiled for the kernel of the run and loaded before anything else.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// the name of its file or directory
    pub name: String,
    /// its path in the scenario
    pub place: String,
    /// its sources by their paths
    pub files: Settings,
    /// names and values
    pub parameters: Settings,
    /// the program that decides the congestion control, if one does
    pub program: Option<Program>,
}

/// A program on the host that decides a congestion control; the engine starts it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// its path in the scenario; `-` is the caller of the run
    pub place: String,
    /// its arguments
    pub arguments: Vec<String>,
    /// it and the files that its arguments name, by name: a character is a byte
    pub files: Settings,
}

/// The hidden network namespace that holds the wires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Wires {
    /// names and values, in the order in which they are set
    pub sysctl: Settings,
}

/// A network namespace, with its sysctls in the order in which they are set.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// its name in the scenario
    pub name: String,
    /// whether it forwards packets (its sysctls contain this, too)
    pub forward: bool,
    /// names and values, in the order in which they are set: all that differ from the kernel's defaults
    pub sysctl: Settings,
    /// the time of each system call of programs that run here
    pub syscall_ns: u64,
    /// None: it translates no addresses
    pub nat: Option<Nat>,
    /// None: the kernel's defaults
    pub mptcp: Option<Mptcp>,
    /// the part of the network that it belongs to, from 0
    pub part: u32,
}

/// Address translation of a router towards one of its links, for UDP and TCP over IPv4 (RFC 4787).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Nat {
    /// ifindex of its interface towards the outside
    pub index: u32,
    /// the address of that interface, by which all inside hosts appear outside
    pub address: IpAddr,
    /// the part of the remote endpoint that the external port depends on
    pub mapping: Remote,
    /// the part of the remote endpoint that must have been sent to before
    pub filtering: Remote,
    /// whether external ports are the internal ones; otherwise a hash of endpoints
    pub preserved: bool,
    /// whether inside hosts reach each other by their external endpoints
    pub hairpin: bool,
    /// how long a mapping lasts after the last packet from inside
    pub timeout_ns: i64,
    /// the seed of the hash
    pub seed: u32,
}

/// How much of a remote endpoint counts: nothing, its address, or its address and its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Remote {
    Any,
    Address,
    Port,
}

/// The settings of the kernel's path manager of MPTCP in a node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Mptcp {
    /// the most subflows that a connection may have beside its first
    pub subflows: u32,
    pub endpoints: Vec<MptcpEndpoint>,
}

/// An address of a node from which its MPTCP connections may have a subflow (ip-mptcp(8)).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct MptcpEndpoint {
    pub address: IpAddr,
    /// the interface that sends its packets
    pub interface: String,
    /// whether the subflow sends only while no other can
    pub backup: bool,
}

/// A link and its two ends.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    /// bytes
    pub mtu: u32,
    /// segmentation offloads and aggregation at both nodes
    pub offload: bool,
    /// whether its ends are devices of netwarp's kernel (kind `wire`), which serialise and delay themselves; otherwise
    /// each is a veth whose peer is in the namespace of the wires
    pub device: bool,
    /// descriptors of such a device; with more than one, byte queue limits apply
    pub ring_pkts: u32,
    /// exactly two
    pub ends: [End; 2],
}

/// One end of a link: a node's interface, its rate and queue, and the wire that leaves it.
///
/// Packets go through `shaper` or `opportunities`, whose child is `queue`. These three are None if the scenario's tc
/// commands (`raw`) set up the interface. If the link is a device, `queue` is the interface's root.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct End {
    pub node: String,
    /// its name on the node
    pub interface: String,
    /// ifindex, unique in the whole lab
    pub index: u32,
    /// ifindex of the peer in the namespace of the wires
    pub wire_index: u32,
    pub mac: String,
    /// with the length of their prefix
    pub addresses: Vec<String>,
    /// None: no rate, `raw`, or a device
    pub shaper: Option<Shaper>,
    /// in place of a rate
    pub opportunities: Option<Opportunities>,
    /// child of either, or root; None with `raw`
    pub queue: Option<Queue>,
    /// the scenario's tc commands, in place of these three
    pub raw: Option<Vec<String>>,
    /// lines for tc that set up all this, except opportunities; the agent runs them
    pub tc: Vec<String>,
    /// the direction that leaves this end: the device, or a netem at the peer's wire interface
    pub wire: Wire,
    /// whether the inner state of its queue is sampled
    pub queue_states: bool,
}

/// The rate of a link's sending end: an htb class, whose quantum is a full frame.
///
/// Where time is exact its buckets hold one byte, so packets are spaced exactly. Elsewhere they hold the bytes of
/// `burst_ns` at the rate; otherwise each late timer would cost throughput.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// the rate and the ceiling of the class
    pub rate_bps: u64,
    /// a full frame
    pub quantum_bytes: u32,
    /// size of its buckets, as time at the rate; 0: one byte
    pub burst_ns: u64,
}

/// Delivery opportunities in place of a rate, at the milliseconds of `trace`, repeated every `period_ms`.
///
/// `17x3 20` means three at 17 ms and one at 20 ms; it is text because there may be a million. Each delivers `bytes`; a
/// packet counts as its frame plus `overhead_bytes`. Opportunities after the end of the run are left out; the mean is
/// that of the whole trace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Opportunities {
    /// bytes that one opportunity delivers
    pub bytes: u32,
    /// bytes that count for a packet in addition to its frame
    pub overhead_bytes: i32,
    /// period after which the trace repeats
    pub period_ms: u64,
    /// the mean over the whole trace
    pub mean_rate_bps: u64,
    /// milliseconds, each with the number of opportunities
    pub trace: String,
}

/// A queueing discipline: its major handle, its kind, its options in tc's syntax (`["limit", "100"]`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// major number, which tc writes in hexadecimal
    pub handle: u16,
    /// such as pfifo, red or fq_codel
    pub kind: String,
    /// in the syntax of tc: `["limit", "100"]`
    pub options: Vec<String>,
}

/// One direction of a link's wire: a netem on the peer's interface in the hidden namespace.
///
/// `rate_bps` None: no serialisation delay, because delivery opportunities pass whole packets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// None: no serialisation delay, as with opportunities
    pub rate_bps: Option<u64>,
    pub delay_ns: u64,
    pub jitter_ns: u64,
    /// with the previous packet
    pub jitter_correlation: f64,
    /// distribution of the jitter: a table of iproute2; None is netem's uniform one
    pub distribution: Option<String>,
    pub loss: Option<Loss>,
    /// of a device: to which packets it happens
    pub loss_plan: Option<Plan>,
    /// probability
    pub duplicate: f64,
    /// of a device: to which packets it happens
    pub duplicate_plan: Option<Plan>,
    /// probability
    pub corrupt: f64,
    /// probability that a packet is not delayed
    pub reorder: f64,
    /// of a device: to which packets it happens
    pub reorder_plan: Option<Plan>,
    /// limit of the netem; more than it can ever hold
    pub limit_pkts: u32,
    /// of its random numbers
    pub seed: u64,
}

/// Models of loss, see tc-netem(8).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Loss {
    /// Independent losses, or correlated ones: `loss random` of tc-netem(8).
    Random {
        /// probability of loss
        p: f64,
        /// with the previous packet
        correlation: f64,
        /// packets that can be marked are marked instead of lost
        ecn: bool,
    },
    /// Losses of two states (Gilbert and Elliott): `loss gemodel` of tc-netem(8).
    Gemodel {
        /// from the good state to the bad
        p: f64,
        /// from the bad state to the good
        r: f64,
        /// probability of loss in the bad state
        one_minus_h: f64,
        /// probability of loss in the good state
        one_minus_k: f64,
    },
    /// Losses of four states: `loss state` of tc-netem(8).
    State {
        /// from the good state into a burst of losses
        p13: f64,
        /// out of it
        p31: f64,
        /// from a burst into a gap within it
        p32: f64,
        /// back
        p23: f64,
        /// of a single loss
        p14: f64,
    },
}

/// The affected packets of a direction, counted from 1: one of the first three fields selects them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// each packet whose number is a multiple
    pub every: Option<u32>,
    /// single packets, in ascending order
    pub numbers: Vec<u64>,
    /// each packet that begins to leave from then on, from t0
    pub from_ns: Option<i64>,
    /// and before
    pub to_ns: Option<i64>,
    /// of the packets that count
    pub kind: Planned,
    /// name of the flow or group whose packets count; None: all do
    pub flow: Option<String>,
    /// the flows of this name
    pub flows: Vec<PlannedFlow>,
}

/// Packets that a plan is about: those with data are all but TCP segments without payload; ACKs are TCP segments
/// without payload, SYN, FIN and RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Planned {
    Any,
    Data,
    Acks,
}

/// A flow that a plan is about: its packets in both directions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct PlannedFlow {
    /// number of its transport protocol
    pub protocol: u32,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// 0: the protocol has no ports
    pub destination_port: u16,
}

/// A route by prefix on one node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub node: String,
    /// adjacent subnets with the same next hop share one, such as 10.0.2.0/23
    pub prefix: String,
    pub via: IpAddr,
    pub interface: String,
}

/// The route of a group's TCP connections at one of its ends, alone in a table, which a rule of the same number chooses
/// by the ports at the flows' destination.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct FlowRoute {
    /// the group
    pub flow: String,
    pub node: String,
    /// also the priority of its rule
    pub table: u32,
    /// the address of the other end
    pub to: IpAddr,
    /// None: the other end is attached
    pub via: Option<IpAddr>,
    pub interface: String,
    /// the first port of the flows' destinations
    pub first_port: u16,
    pub last_port: u16,
    /// whether these are ports of the other end; otherwise of this one
    pub is_source: bool,
    pub metrics: Vec<RouteMetric>,
}

/// A metric of a route, which its connections take from it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct RouteMetric {
    /// in the syntax of ip-route(8)
    pub words: String,
    /// RTAX_… of linux/rtnetlink.h
    pub attribute: u32,
    pub value: u32,
}

/// A flow: the fields that every flow has, followed by those of its tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Flow {
    pub id: u32,
    /// the group's name alone if it has one flow, else with its number: `bulk.0`
    pub name: String,
    /// its name in the scenario
    pub group: String,
    pub tool: String,
    /// node
    pub from: String,
    /// node
    pub to: String,
    pub family: Family,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// 20000 + id
    pub source_port: u16,
    /// 5001 + id
    pub destination_port: u16,
    /// from t0, with the seeded offset
    pub start_ns: i64,
    /// within the run
    pub duration_ns: i64,
    /// the seed of everything random in this flow
    pub seed: u64,
    /// in order of time; before the first one its fields apply
    pub changes: Vec<FlowChange>,
    /// options of its sockets, in this order
    pub sockets: Vec<SocketOption>,
    #[serde(flatten)]
    pub own: Map<String, Value>,
}

/// The version of a flow's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Ipv4,
    Ipv6,
}

/// The state of a flow from `at_ns` on. `rate_bps`, or `think_ns` and its distribution, are None if its kind has none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct FlowChange {
    /// from t0
    pub at_ns: i64,
    /// whether it sends, or makes requests
    pub active: bool,
    /// the rate of UDP sources
    pub rate_bps: Option<u64>,
    /// mean of the pauses that begin from then on
    pub think_ns: Option<i64>,
    pub think_distribution: Option<Distribution>,
}

/// The distribution of a quantity around its mean. `pareto` is heavy-tailed: of shape 1.2, so of infinite variance, as
/// sizes of files on the Web are (Crovella, Bestavros 1997, IEEE/ACM ToN 5(6): shapes of 1.1 to 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    Constant,
    Exponential,
    Pareto,
}

/// A whole number that setsockopt(2) sets on each socket of a flow, at both ends, before it connects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct SocketOption {
    /// its name in C, for messages
    pub name: String,
    pub level: u32,
    pub option: u32,
    /// its lower 32 bits are passed
    pub value: i64,
}

/// A change of one end of a link at `at_ns`: its shaper's rate, its queue, the whole wire.
///
/// None means unchanged. With a condition, `at_ns` is the time from which this counts; after the run, when it held.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub link: String,
    pub node: String,
    pub interface: String,
    /// ifindex of the end that changes
    pub index: u32,
    /// the new rate of its shaper
    pub rate_bps: Option<u64>,
    pub queue: Option<NewQueue>,
    /// lines for tc that change the queue; the agent runs them
    pub tc: Vec<String>,
    /// the whole wire afterwards
    pub wire: Option<Wire>,
    /// None: at its time
    pub when: Option<Condition>,
}

/// A queue from an instant of the run on: the present queue is changed `in_place`, or replaced.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct NewQueue {
    /// major number, which tc writes in hexadecimal
    pub handle: u16,
    /// such as pfifo, red or fq_codel
    pub kind: String,
    /// in the syntax of tc: `["limit", "100"]`
    pub options: Vec<String>,
    /// the present queue is changed; otherwise it is replaced
    pub in_place: bool,
}

/// A state of a sender: the first ACK after which it holds brings a change.
///
/// Changes of one link happen in the order of their numbers, each after the one before.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// the change's number in the scenario; both ends of a link share it
    pub number: u32,
    pub flow: String,
    /// the port at the end of the connection that sends data
    pub source_port: u16,
    pub destination_port: u16,
    /// a column of `acks`, or a variable that the congestion control exports
    pub variable: String,
    /// <, <=, >, >=, == or !=
    pub relation: String,
    /// in the unit of the column
    pub value: i64,
}

/// A program that tunes a node, from before the flows to the run's end.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Tuner {
    pub node: String,
    /// the program and its arguments
    pub program: Vec<String>,
}

/// The agent's records.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// packets, drops, ACKs and arrivals, by the kernel's recorder
    pub exact: bool,
    /// interval between samples of sockets, queues and links; 0: only one at the end
    pub sample_ns: i64,
    pub captures: Vec<Capture>,
    /// the maximum kept of each stream that a command prints, and of all files that commands leave
    pub kept_bytes: u64,
}

/// A packet capture on one interface.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub link: String,
    pub node: String,
    pub interface: String,
    pub index: u32,
    /// the captured bytes of each packet
    pub snap: u32,
    /// in the syntax of pcap-filter(7); None: every packet
    pub filter: Option<String>,
}

/// A network in several machines at once: each builds all of it and runs the nodes of one part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// the part that this machine runs
    pub own: u32,
    pub count: u32,
    /// how far no machine is ahead of another: at most the delay between parts
    pub window_ns: u64,
    /// the room for frames on the way from one part to another
    pub ring_bytes: u64,
}

/// A command that is the whole run and builds its network, or runs in a node of the lab.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// the program and its arguments
    pub command: Vec<String>,
    /// its working directory
    pub directory: String,
    /// its whole environment
    pub env: Settings,
    /// records of its network: ACKs and arrivals, or packets as well
    pub record: Recorded,
    /// the rate of each veth and loopback without another; None: none
    pub rate_bps: Option<u64>,
    /// quantiles of the time that each program takes to start, at equal steps from 0 to 1; empty: none
    pub start_ns: Vec<u64>,
    /// the time of each system call of its programs
    pub syscall_ns: u64,
    /// how far CLOCK_REALTIME of each network namespace but the first is ahead: quantiles at equal steps from 0 to 1;
    /// empty: all are right
    pub clock_off_ns: Vec<i64>,
    /// whether computing takes as long as on the host; such a run cannot be repeated
    pub compute: bool,
    /// the node in which it starts; None: it makes its network
    pub node: Option<String>,
    /// its standard input
    pub input: Option<String>,
    /// whether it has an interactive terminal
    pub terminal: bool,
    /// at a terminal: the most seconds of its time per second of real time
    pub pace: Option<f64>,
    /// whether it finds this lab in `/run/netwarp-lab.json` and changes links by `/run/netwarp-control`
    pub control: bool,
}

/// The records of a command's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    None,
    Acks,
    Packets,
}

"""The tables of a run directory: columns, Arrow types, units and meanings, which are stated only here.

`make generate` makes the agent's `tables.rs` and `docs/records.md` from them. A column's name is the kernel's, then
its unit (`_ns _us _ms _bytes _pkts _bps`). Times are nanoseconds from the run's start (t0).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from netwarp.store.codes import FATES, PLACES, QUIC_EVENTS, RATE_STATES, SIGHTS, USAGES, Sight
from netwarp.store.socket_columns import SOCKET_COLUMNS
from netwarp.store.table import Column, column


@dataclass(frozen=True)
class Table:
    """One kind of record: a file `<name>.arrows` in a run directory, an Arrow IPC stream."""

    name: str
    row: str
    source: str
    columns: tuple[Column, ...]
    note: str = ""

    @property
    def file(self) -> str:
        """The file's name in the run directory."""
        return f"{self.name}.arrows"

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with each column's unit and meaning as field metadata."""
        return pa.schema([c.field for c in self.columns])


def _codes(meanings: Mapping[Any, str]) -> str:
    return ", ".join(f"{int(code)} {meaning}" for code, meaning in meanings.items())


_TIME = column("time_ns", "i64", "ns", "when, from t0")
_TUPLE_KEY = column("tuple_id", "u32", "", "key into tuples.arrows")
_INTERFACE = column("interface_index", "u32", "", "index of the interface, unique in the whole lab")

PACKETS = Table(
    "packets",
    "one packet in the queue of one node interface; a packet that its queue splits has a row for each part that leaves",
    "kernel recorder, exact",
    (
        _INTERFACE,
        _TUPLE_KEY,
        column(
            "packet_bytes",
            "u32",
            "bytes",
            "on the wire: the frame with its Ethernet header; for an aggregate, one header for each segment",
        ),
        column("segments", "u32", "packets", "packets on the wire: 1, or the segments of an aggregate"),
        column("enqueue_ns", "i64", "ns", "arrival at the queue, from t0"),
        column("dequeue_ns", "i64?", "ns", "departure from the queue; absent if it never left"),
        column("drop_ns", "i64?", "ns", "when it was dropped; absent if it was not"),
        column("length_pkts", "u32", "packets", "queue length just after its arrival, itself included, in segments"),
        column("length_after_pkts", "u32?", "packets", "queue length just after its departure, in segments"),
        column("backlog_bytes", "u32", "bytes", "bytes in the queue just after its arrival"),
        column("fate", "u8", "", _codes(FATES)),
        column("drop_reason", "u16?", "", "the kernel's enum skb_drop_reason"),
        column("ecn_in", "u8", "", "ECN bits of the IP header on arrival (3 = Congestion Experienced)"),
        column("ecn_out", "u8?", "", "the same on departure"),
    ),
    "A packet that leaves an idle queue at once has a row too (`enqueue_ns` = `dequeue_ns`, `length_pkts` = 1).",
)

DROPS = Table(
    "drops",
    "one packet dropped anywhere but in a recorded queue",
    "kernel recorder, exact",
    (
        column("time_ns", "i64", "ns", "when, from t0"),
        column(
            "interface_index",
            "u32?",
            "",
            "interface at which it was seen last; for `place` 0, any interface of its node",
        ),
        column("place", "u8", "", _codes(PLACES)),
        _TUPLE_KEY,
        column(
            "packet_bytes",
            "u32",
            "bytes",
            "on the wire: the frame with its Ethernet header; for an aggregate, one header for each segment",
        ),
        column("segments", "u32", "packets", "packets on the wire: 1, or the segments of an aggregate"),
        column("drop_reason", "u16", "", "the kernel's enum skb_drop_reason"),
        column("function", "utf8?", "", "function of the kernel that dropped it"),
    ),
)

INTERFACES = Table(
    "interfaces",
    "one node interface and the packets that passed it while recording; aggregates count as their segments",
    "kernel recorder, at the end of the run",
    (
        _INTERFACE,
        column("sent_pkts", "u64", "packets", "left its queue"),
        column("sent_bytes", "u64", "bytes", "the same, on the wire"),
        column("arrived_pkts", "u64", "packets", "arrived, of the packets that left the queue at the link's other end"),
        column("arrived_bytes", "u64", "bytes", "the same, on the wire"),
        column("lost_pkts", "u64", "packets", "dropped after they had left its queue, before the other end"),
        column("lost_bytes", "u64", "bytes", "the same, on the wire"),
        column(
            "received_pkts",
            "u64",
            "packets",
            "arrived; each is counted in one of the following five columns, or has vanished",
        ),
        column("delivered_pkts", "u64", "packets", "handed to the node's own transport"),
        column("forwarded_pkts", "u64", "packets", "handed to a recorded queue"),
        column("dropped_pkts", "u64", "packets", "dropped by the node before either"),
        column("elsewhere_pkts", "u64", "packets", "continued at interfaces that are not recorded, such as an ifb"),
        column(
            "waiting_pkts",
            "u64?",
            "packets",
            "still in the node: they wait for the address of a neighbour, or as fragments for the others",
        ),
        column(
            "unsent_pkts",
            "u64?",
            "packets",
            "the node's own that still wait for a neighbour's address, in front of its queue",
        ),
    ),
)

ACKS = Table(
    "acks",
    "one ACK processed by a sender, and the sender's state after it",
    "kernel recorder, exact",
    (
        _TIME,
        column("tuple_id", "u32", "", "key into tuples.arrows, in the data's direction"),
        column("bytes_acked", "u64", "bytes", "acknowledged so far"),
        column("snd_cwnd_pkts", "u32", "packets", "congestion window"),
        column("snd_ssthresh_pkts", "u32", "packets", "slow-start threshold"),
        column("rtt_us", "i32?", "µs", "RTT sample of this ACK, not smoothed; absent if it gave none"),
        column("srtt_us", "u32", "µs", "smoothed RTT (RFC 6298)"),
        column("rttvar_us", "u32", "µs", "RTT variation (RFC 6298)"),
        column("min_rtt_us", "u32", "µs", "windowed minimum of the RTT"),
        column("in_flight_pkts", "u32", "packets", "sent, and neither acknowledged nor assumed lost"),
        column("lost_pkts", "u32", "packets", "now assumed lost"),
        column("retrans_out_pkts", "u32", "packets", "retransmitted and now in flight"),
        column("retransmits", "u32", "packets", "retransmitted so far (tcpi_total_retrans)"),
        column("delivered_pkts", "u32", "packets", "delivered so far, retransmitted ones included"),
        column("delivered_ce_pkts", "u32", "packets", "of these, acknowledged while the peer echoed an ECN mark"),
        column("ca_state", "u8", "", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"),
        column("app_limited", "bool", "", "whether the sender had nothing more to send"),
        column("snd_wnd_bytes", "u32", "bytes", "the peer's advertised window"),
        column("rcv_wnd_bytes", "u32", "bytes", "the sender's own advertised window"),
        column("mss_bytes", "u32", "bytes", "current maximum segment size"),
        column("pacing_rate_bps", "u64?", "bit/s", "pacing rate; absent if there is none"),
        column("bbr_bw_bps", "u64?", "bit/s", "BBR's bandwidth estimate; absent for other congestion controls"),
        column("bbr_pacing_gain", "u16?", "1/256", "BBR's pacing gain"),
        column("bbr_cwnd_gain", "u16?", "1/256", "BBR's window gain"),
    ),
)

VARIABLES = Table(
    "variables",
    "one variable that a congestion control of a module exports",
    "kernel recorder, exact, where a module exports any",
    (
        column("variable_id", "u32", "", "key of states.arrows"),
        column("control", "utf8", "", "name of the congestion control"),
        column("name", "utf8", "", "its name there (NETWARP_EXPORT, docs/modules.md)"),
    ),
)

STATES = Table(
    "states",
    "the value of one variable of a congestion control after an ACK",
    "kernel recorder, exact, where a module exports any",
    (
        _TIME,
        column("tuple_id", "u32", "", "key into tuples.arrows, in the data's direction"),
        column("variable_id", "u32", "", "key into variables.arrows"),
        column("value", "i64", "", "its value; 2^63 - 1 also stands for larger values"),
    ),
)

ARRIVALS = Table(
    "arrivals",
    "payload that reached the socket it was sent to: a TCP segment, acceptable and free of errors, a datagram, or a "
    "chunk of SCTP; or no payload, if some that SCTP held back became readable",
    "kernel recorder, exact",
    (
        _TIME,
        column("tuple_id", "u32", "", "key into tuples.arrows, in the data's direction"),
        column("payload_bytes", "u32", "bytes", "its payload"),
        column("new_bytes", "u32", "bytes", "of these, not received before: data sent again counts once (TCP)"),
        column(
            "in_order_bytes",
            "u32?",
            "bytes",
            "that the socket's reader could take from then on: this payload unless it came beyond a gap, and what had "
            "waited behind the gap that it closed; of SCTP whole messages in their order",
        ),
    ),
)

TUPLES = Table(
    "tuples",
    "a five-tuple named by tuple_id",
    "kernel recorder",
    (
        column("tuple_id", "u32", "", "its number in this run"),
        column("protocol", "u8", "", "IP protocol number (6 TCP, 17 UDP, 132 SCTP, 1 and 58 ICMP)"),
        column("source", "utf8", "", "source address"),
        column("source_port", "u16", "", "source port; 0 where the protocol has none"),
        column("destination", "utf8", "", "destination address"),
        column("destination_port", "u16", "", "destination port; 0 where the protocol has none"),
    ),
)

_FOUND = "Only in results of `netwarp exec`, whose commands build networks of their own."

NAMESPACES = Table(
    "namespaces",
    "a network namespace that was created or named",
    "kernel recorder",
    (
        _TIME,
        column("namespace", "u64", "", "its cookie (SO_NETNS_COOKIE of socket(7)), never used again"),
        column("event", "u8", "", _codes({code: SIGHTS[code] for code in (Sight.MADE, Sight.NAMED)})),
        column("pid", "u32", "", "the process that did it"),
        column("text", "utf8", "", "if created: that process's command line; if named: the path of the mount"),
    ),
    _FOUND,
)

DEVICES = Table(
    "devices",
    "the state of an interface from an instant on",
    "kernel recorder",
    (
        _TIME,
        _INTERFACE,
        column("namespace", "u64", "", "cookie of the namespace that it is in"),
        column("event", "u8", "", _codes({code: SIGHTS[code] for code in (Sight.THERE, Sight.GONE, Sight.LAST)})),
        column("ifindex", "u32", "", "its index in that namespace"),
        column("name", "utf8", "", "its name there"),
        column("kind", "utf8", "", "veth, bridge, loopback …; empty if its driver says none"),
        column("mtu_bytes", "u32", "bytes", "its MTU"),
        column("peer_index", "u32?", "", "the other end of a veth"),
        column("master_index", "u32?", "", "the bridge, bond or datapath that it is a port of"),
        column("offload", "bool", "", "whether it may send aggregates"),
        column(
            "sent_pkts", "u64?", "packets", "sent so far, by its own counter; only when it has gone, and at the end"
        ),
        column("received_pkts", "u64?", "packets", "received so far; only when it has gone, and at the end"),
    ),
    _FOUND,
)

DISCIPLINES = Table(
    "disciplines",
    "a queueing discipline, or one of its classes, as configured from an instant on",
    "kernel recorder",
    (
        _TIME,
        _INTERFACE,
        column("handle", "u32", "", "its handle; for a class, its number"),
        column("parent", "u32", "", "its parent; 0xffffffff at the root"),
        column("kind", "utf8", "", "htb, netem …"),
        column("class", "bool", "", "a class rather than a discipline"),
        column("gone", "bool", "", "it was removed"),
        column("rate_bps", "u64?", "bit/s", "for classes of htb the ceiling, for tbf, netem and cake the rate"),
        column("limit", "u32?", "", "for pfifo and netem in packets, for bfifo and tbf in bytes"),
        column("delay_ns", "i64?", "ns", "of netem"),
        column("jitter_ns", "i64?", "ns", "of netem"),
        column("loss", "f64?", "", "of netem, 0 to 1"),
    ),
    _FOUND,
)

ENDPOINTS = Table(
    "endpoints",
    "a socket at one end of a five-tuple's data",
    "kernel recorder",
    (
        _TIME,
        column("tuple_id", "u32", "", "key into tuples.arrows, in the data's direction"),
        column(
            "receives", "bool", "", "whether it received the data; otherwise it sent them (TCP, with its first ACK)"
        ),
        column("namespace", "u64?", "", "cookie of its namespace; absent in a lab, whose nodes are known"),
        column("owner", "u32?", "", "the flow (flow_id) whose program created it; absent if it was another program's"),
    ),
    "In results of `netwarp exec`, and for the flows of a lab that are commands.",
)

SOCKETS = Table("sockets", "one TCP socket at one instant", "agent, sampled over NETLINK_SOCK_DIAG", SOCKET_COLUMNS)

QUEUES = Table(
    "queues",
    "one qdisc at one instant",
    "agent, sampled",
    (
        _TIME,
        _INTERFACE,
        column("handle", "u32", "", "the qdisc's handle (major << 16)"),
        column("parent", "u32", "", "its parent class; 0xffffffff at the root"),
        column("kind", "utf8", "", "pfifo, red, fq_codel, htb …"),
        column("bytes", "u64", "bytes", "sent so far"),
        column("packets", "u64", "packets", "sent so far"),
        column("drops", "u32", "packets", "dropped so far"),
        column("overlimits", "u32", "", "times it was over its limit so far"),
        column("requeues", "u32", "packets", "requeued so far"),
        column("length_pkts", "u32", "packets", "queue length now"),
        column("backlog_bytes", "u32", "bytes", "bytes queued now"),
    ),
)

QUEUE_STATES = Table(
    "queue_states",
    "a number that a queueing discipline reports about its inner state, at one instant",
    "agent, sampled, where the scenario asks for it",
    (
        _TIME,
        _INTERFACE,
        column("handle", "u32", "", "handle of the qdisc (major << 16), or number of its class (major << 16 | minor)"),
        column("kind", "utf8", "", "pie, fq_codel, htb …"),
        column("tin", "u8?", "", "the tin of CAKE that it describes, from 0 as tc prints them; absent for other parts"),
        column("name", "utf8", "", "its name: see below"),
        column("value", "f64", "", "its value, in the unit that its name ends with"),
    ),
    "The ends of links that `queue_states` of `[record]` names have rows at each sample. If the handle has a minor\n"
    "number, the row is of a class. The names are listed [below](#what-queues-report).",
)

LINKS = Table(
    "links",
    "one node interface at one instant",
    "agent, sampled",
    (
        _TIME,
        _INTERFACE,
        column("tx_bytes", "u64", "bytes", "sent so far"),
        column("tx_packets", "u64?", "packets", "sent so far"),
        column("rx_bytes", "u64", "bytes", "received so far"),
        column("rx_packets", "u64?", "packets", "received so far"),
        column("tx_dropped", "u64?", "packets", "dropped on sending so far"),
        column("rx_dropped", "u64?", "packets", "dropped on receiving so far"),
    ),
)

FLOWS = Table(
    "flows",
    "one flow's totals, as its generator reports them at its end",
    "agent",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("name", "utf8", "", "the flow's name"),
        column("tool", "utf8", "", "bulk, ping …"),
        column("start_ns", "i64", "ns", "when it started, from t0"),
        column("connect_ns", "i64?", "ns", "when it was connected; absent if it never was, or has no connection"),
        column("end_ns", "i64", "ns", "when it ended, from t0"),
        column("sent_bytes", "u64?", "bytes", "payload handed to the kernel; absent if nothing counted it (command)"),
        column("received_bytes", "u64?", "bytes", "payload that arrived; absent if nothing counted it (command)"),
        column("retransmits", "u32?", "packets", "retransmitted in all"),
        column("rwnd_limited_us", "u64?", "µs", "time limited by the receiver's window"),
        column("sndbuf_limited_us", "u64?", "µs", "time limited by the send buffer"),
        column("busy_us", "u64?", "µs", "time with data to send or unacknowledged"),
        column("error", "utf8?", "", "what went wrong; absent if nothing did"),
        column("sent_pkts", "u64?", "packets", "datagrams or echo requests sent"),
        column("received_pkts", "u64?", "packets", "datagrams that arrived, each counted once (UDP generators)"),
        column("duplicate_pkts", "u64?", "packets", "datagrams that arrived again (UDP generators)"),
        column(
            "reordered_pkts", "u64?", "packets", "datagrams that arrived after a later one (RFC 4737, UDP generators)"
        ),
        column("jitter_us", "f64?", "µs", "interarrival jitter at the receiver's end (RFC 3550, UDP generators)"),
        column("received_in_ns", "i64?", "ns", "how long payload arrived, by the receiver's own clock (iperf3)"),
    ),
)

PINGS = Table(
    "pings",
    "one echo request",
    "agent",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("sequence", "u32", "", "sequence number of the request"),
        column("sent_ns", "i64", "ns", "when it was sent, from t0"),
        column("rtt_ns", "i64?", "ns", "until its reply; absent: no reply"),
    ),
)

DATAGRAMS = Table(
    "datagrams",
    "one datagram of a UDP generator that arrived, in order of arrival; a datagram without a row did not arrive",
    "agent, exact",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("sequence", "u64", "", "its number among those sent, from 0; a duplicate has the same number"),
        column("sent_ns", "i64", "ns", "when the sender handed it to the kernel, from t0"),
        column("received_ns", "i64", "ns", "when the receiver's kernel took it, from t0"),
        column("payload_bytes", "u32", "bytes", "its payload"),
    ),
)

RATE_CONTROL = Table(
    "rate_control",
    "one report of the receiver of an adaptive media stream, and the sender's state after it",
    "agent, exact, where a media stream is adaptive",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("time_ns", "i64", "ns", "when the report reached the sender, from t0"),
        column("target_bps", "u64", "bit/s", "rate of media that the sender takes from now on"),
        column("delay_based_bps", "u64", "bit/s", "what the delay-based controller allows"),
        column("loss_based_bps", "u64", "bit/s", "what the loss-based controller allows"),
        column(
            "received_bps", "u64?", "bit/s", "rate at which media arrived in the last half second; absent before that"
        ),
        column("lost", "f64", "", "share of the packets of this report that have not arrived, 0 to 1"),
        column("rtt_ns", "i64?", "ns", "round trip of the last packet that arrived; absent if none did"),
        column(
            "gradient_ms", "f64", "ms", "estimated change of the one-way delay from one group of packets to the next"
        ),
        column("threshold_ms", "f64", "ms", "over-use is the gradient, times the groups so far or 60, above this"),
        column("usage", "u8", "", _codes(USAGES)),
        column("state", "u8", "", _codes(RATE_STATES)),
    ),
)

QUIC_ACKS = Table(
    "quic_acks",
    "one acknowledgement that a QUIC sender processed, or a loss that it found, and its state after it",
    "agent, exact, where there are QUIC flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        _TIME,
        column("event", "u8", "", _codes(QUIC_EVENTS)),
        column("cwnd_bytes", "u64", "bytes", "congestion window, of UDP payload"),
        column("ssthresh_bytes", "u64?", "bytes", "slow-start threshold; absent if it has not been set, or with BBR"),
        column("in_flight_bytes", "u64", "bytes", "sent, and neither acknowledged nor declared lost, of UDP payload"),
        column("acked_bytes", "u64", "bytes", "acknowledged so far, of UDP payload"),
        column(
            "rtt_ns",
            "i64?",
            "ns",
            "RTT sample of this acknowledgement, with the receiver's delay of it; absent if it gave none",
        ),
        column("srtt_ns", "i64", "ns", "smoothed RTT (RFC 9002, section 5.3), after the datagram"),
        column("min_rtt_ns", "i64", "ns", "minimum of the RTT (RFC 9002, section 5.2), after the datagram"),
        column("sent_pkts", "u64", "packets", "sent so far"),
        column("lost_pkts", "u64", "packets", "declared lost so far"),
    ),
    "An acknowledgement that reveals losses has two rows: before and after the sender's answer to these.",
)

QUIC_ARRIVALS = Table(
    "quic_arrivals",
    "data of a QUIC flow's streams that reached its receiver at an instant",
    "agent, exact, where there are QUIC flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        _TIME,
        column("new_bytes", "u64", "bytes", "not received before"),
        column(
            "in_order_bytes",
            "u64",
            "bytes",
            "that the application could read from then on, each stream in order: these bytes unless they came beyond a "
            "gap, and what had waited behind the gap that they closed",
        ),
    ),
)

TRANSFERS = Table(
    "transfers",
    "one exchange that began: a request (or several at once) with its response, a bulk flow of a given size, or a "
    "transfer of an open-loop flow",
    "agent, exact",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("sequence", "u32", "", "its number in the flow, from 0"),
        column("start_ns", "i64", "ns", "when the request was made, or the flow or transfer began, from t0"),
        column("end_ns", "i64?", "ns", "when the last byte arrived, from t0; absent if it never completed"),
        column("request_bytes", "u64", "bytes", "payload of the request; 0 without one"),
        column("bytes", "u64", "bytes", "payload of the response, the flow or the transfer"),
    ),
)

WIRES = Table(
    "wires",
    "one direction of a link and its packets, from the set-up of the lab to the end of the run",
    "agent, at the end of the run",
    (
        column("interface_index", "u32", "", "the interface that sends into it"),
        column("sent_pkts", "u64", "packets", "taken from the sending interface"),
        column("sent_bytes", "u64", "bytes", "the same, frames with their Ethernet header"),
        column("delivered_pkts", "u64", "packets", "handed to the other end's interface"),
        column("delivered_bytes", "u64", "bytes", "the same, frames with their Ethernet header"),
        column("lost_pkts", "u64", "packets", "lost on the wire by its configured loss"),
        column("queued_pkts", "u64", "packets", "still on the wire at the end"),
        column("queued_bytes", "u64", "bytes", "the same, on the wire"),
    ),
)

SYSCTLS = Table(
    "sysctls",
    "a sysctl of a node that a program tunes: its first value, and each later value that a sample found",
    "agent, sampled every 100 ms at most",
    (
        _TIME,
        column("node", "utf8", "", "the node"),
        column("name", "utf8", "", "such as net.ipv4.tcp_rmem"),
        column("value", "utf8", "", "as the kernel shows it, with blanks between its parts"),
    ),
)

MACHINE = Table(
    "machine",
    "the machine that the run shares with other programs, at one instant; counters are since the machine's start",
    "agent, sampled; only with engines in real time",
    (
        _TIME,
        column("node", "utf8?", "", "the node, if the whole machine is one node; absent if it holds all of them"),
        column("cpus", "u16", "", "CPUs of the machine"),
        column("busy_us", "u64", "µs", "time that all CPUs together have been busy so far"),
        column("steal_us", "u64", "µs", "time that a hypervisor has taken from the CPUs so far (steal)"),
        column("softnet_dropped_pkts", "u64", "packets", "dropped so far because a CPU's backlog was full"),
        column(
            "softnet_squeezed",
            "u64",
            "",
            "times so far that a CPU had more packets than it processes at once (time squeeze)",
        ),
        column("agent_cpu_us", "u64", "µs", "CPU time of the agent so far, generators included"),
        column("sampling_cpu_us", "u64", "µs", "of these, in the thread that samples and changes the network"),
        column("timers", "u64", "", "instants so far at which something was due: samples, changes, departures"),
        column("late_timers", "u64", "", "of these, more than 1 ms late"),
        column("lateness_max_us", "u64", "µs", "the largest delay of one since the previous row"),
        column("realtime_offset_ns", "i64", "ns", "difference of CLOCK_REALTIME and CLOCK_MONOTONIC"),
        column("udp_buffer_errors", "u64?", "packets", "datagrams lost in full sockets; at the end only"),
        column("capture_missed_pkts", "u64", "packets", "missed by captures so far"),
    ),
)

CLOCKS = Table(
    "clocks",
    "the clock of a node against that of the machine that netwarp runs on, to which all times of the run are corrected",
    "netwarp; only with engines whose nodes are separate machines",
    (
        column("node", "utf8", "", "the node"),
        column("start_ns", "i64", "ns", "when its clock showed the agreed instant, from t0 of the common clock"),
        column("late_ns", "i64", "ns", "by how much later its part of the run began"),
        column("offset_before_ns", "i64", "ns", "how far its clock was ahead before the run"),
        column(
            "round_trip_before_ns",
            "i64",
            "ns",
            "round trip of the request that measured this; the offset is known to half of it",
        ),
        column(
            "offset_after_ns", "i64?", "ns", "how far its clock was ahead after the run; absent if the node was gone"
        ),
        column("round_trip_after_ns", "i64?", "ns", "round trip of the request that measured this"),
        column("drift_ppm", "f64?", "ppm", "how much its clock gained between the two measurements"),
        column("limit_ns", "i64", "ns", "limit for the uncertainty of clocks, and for the difference of starts"),
    ),
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        PACKETS,
        DROPS,
        INTERFACES,
        ACKS,
        VARIABLES,
        STATES,
        ARRIVALS,
        TUPLES,
        NAMESPACES,
        DEVICES,
        DISCIPLINES,
        ENDPOINTS,
        SOCKETS,
        QUEUES,
        QUEUE_STATES,
        LINKS,
        FLOWS,
        PINGS,
        DATAGRAMS,
        RATE_CONTROL,
        QUIC_ACKS,
        QUIC_ARRIVALS,
        TRANSFERS,
        WIRES,
        SYSCTLS,
        MACHINE,
        CLOCKS,
    )
}

EXACT = (PACKETS, DROPS, ACKS, STATES, ARRIVALS, DATAGRAMS, QUIC_ACKS, QUIC_ARRIVALS)
"""Tables with a row for each packet, ACK or datagram: nearly all bytes of a run."""

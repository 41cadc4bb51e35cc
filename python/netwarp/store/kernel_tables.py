"""The tables that the kernel's recorder fills: packets, drops, ACKs, arrivals, states, and the networks of others."""

from netwarp.store.codes import FATES, PLACES, SIGHTS, Sight
from netwarp.store.table import INTERFACE, TIME, TUPLE_KEY, Table, column, listed_codes

PACKETS = Table(
    "packets",
    "one packet in the queue of one node interface; a packet that its queue splits has a row for each part that leaves",
    "kernel recorder, exact",
    (
        INTERFACE,
        TUPLE_KEY,
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
        column("fate", "u8", "", listed_codes(FATES)),
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
        column("place", "u8", "", listed_codes(PLACES)),
        TUPLE_KEY,
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
        INTERFACE,
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
        TIME,
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
        TIME,
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
        TIME,
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
        TIME,
        column("namespace", "u64", "", "its cookie (SO_NETNS_COOKIE of socket(7)), never used again"),
        column("event", "u8", "", listed_codes({code: SIGHTS[code] for code in (Sight.MADE, Sight.NAMED)})),
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
        TIME,
        INTERFACE,
        column("namespace", "u64", "", "cookie of the namespace that it is in"),
        column("event", "u8", "", listed_codes({code: SIGHTS[code] for code in (Sight.THERE, Sight.GONE, Sight.LAST)})),
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
        TIME,
        INTERFACE,
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
        TIME,
        column("tuple_id", "u32", "", "key into tuples.arrows, in the data's direction"),
        column(
            "receives", "bool", "", "whether it received the data; otherwise it sent them (TCP, with its first ACK)"
        ),
        column("namespace", "u64?", "", "cookie of its namespace; absent in a lab, whose nodes are known"),
        column("owner", "u32?", "", "the flow (flow_id) whose program created it; absent if it was another program's"),
    ),
    "In results of `netwarp exec`, and for the flows of a lab that are commands.",
)

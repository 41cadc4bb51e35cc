"""The tables of a run directory: columns, Arrow types, units and meanings, which are stated only here, in
`kernel_tables.py`, in `web_tables.py` and in the modules of columns.

`make generate` makes the agent's `tables.rs` and `docs/records.md` from them. A column's name is the kernel's, then
its unit (`_ns _us _ms _bytes _pkts _bps`). Times are nanoseconds from the run's start (t0).
"""

from netwarp.store.codes import QUIC_EVENTS, RATE_STATES, USAGES
from netwarp.store.kernel_tables import (
    ACKS,
    ARRIVALS,
    DEVICES,
    DISCIPLINES,
    DROPS,
    ENDPOINTS,
    INTERFACES,
    NAMESPACES,
    PACKETS,
    STATES,
    TUPLES,
    VARIABLES,
)
from netwarp.store.socket_columns import SOCKET_COLUMNS
from netwarp.store.table import INTERFACE, TIME, Table, column, listed_codes
from netwarp.store.web_tables import OBJECTS, PAGES, PLAYBACK, SEGMENTS

SOCKETS = Table("sockets", "one TCP socket at one instant", "agent, sampled over NETLINK_SOCK_DIAG", SOCKET_COLUMNS)

QUEUES = Table(
    "queues",
    "one qdisc at one instant",
    "agent, sampled",
    (
        TIME,
        INTERFACE,
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
        TIME,
        INTERFACE,
        column("handle", "u32", "", "handle of the qdisc (major << 16), or number of its class (major << 16 | minor)"),
        column("kind", "utf8", "", "pie, fq_codel, htb …"),
        column("tin", "u8?", "", "the tin of CAKE that it describes, from 0 as tc prints them; absent for other parts"),
        column("name", "utf8", "", "its name: see below"),
        column("value", "f64", "", "its value, in the unit that its name ends with"),
    ),
    "The ends of links that `queue_states` of `[record]` names have rows at each sample, every 100 ms unless `sample`\n"
    "says otherwise. If the handle has a minor number, the row is of a class. The names are listed\n"
    "[below](#what-queues-report).",
)

LINKS = Table(
    "links",
    "one node interface at one instant",
    "agent, sampled",
    (
        TIME,
        INTERFACE,
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
        column(
            "sent_bytes",
            "u64?",
            "bytes",
            "payload handed to the kernel; of `quic_datagrams` the data of `sent_pkts`; absent if nothing counted it "
            "(command)",
        ),
        column("received_bytes", "u64?", "bytes", "payload that arrived; absent if nothing counted it (command)"),
        column("retransmits", "u32?", "packets", "retransmitted in all"),
        column("rwnd_limited_us", "u64?", "µs", "time limited by the receiver's window"),
        column("sndbuf_limited_us", "u64?", "µs", "time limited by the send buffer"),
        column("busy_us", "u64?", "µs", "time with data to send or unacknowledged"),
        column("error", "utf8?", "", "what went wrong; absent if nothing did"),
        column(
            "sent_pkts",
            "u64?",
            "packets",
            "datagrams or echo requests sent; of `quic_datagrams` those that were due, without those that still "
            "waited at the end",
        ),
        column("received_pkts", "u64?", "packets", "datagrams that arrived, each counted once (UDP generators)"),
        column("duplicate_pkts", "u64?", "packets", "datagrams that arrived again (UDP generators)"),
        column(
            "reordered_pkts", "u64?", "packets", "datagrams that arrived after a later one (RFC 4737, UDP generators)"
        ),
        column("jitter_us", "f64?", "µs", "interarrival jitter at the receiver's end (RFC 3550, UDP generators)"),
        column("received_in_ns", "i64?", "ns", "how long payload arrived, by the receiver's own clock (iperf3)"),
        column(
            "unsent_pkts",
            "u64?",
            "packets",
            "of `sent_pkts`, those that the sender's backlog dropped before they could leave (quic_datagrams)",
        ),
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
    "one datagram of a UDP generator or of `quic_datagrams` that arrived, in order of arrival; a datagram without "
    "a row did not arrive",
    "agent, exact",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("sequence", "u64", "", "its number among those sent, from 0; a duplicate has the same number"),
        column("sent_ns", "i64", "ns", "when the sender handed it to the kernel (to QUIC), from t0"),
        column("received_ns", "i64", "ns", "when the receiver's kernel (QUIC) took it, from t0"),
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
        column("usage", "u8", "", listed_codes(USAGES)),
        column("state", "u8", "", listed_codes(RATE_STATES)),
    ),
)

QUIC_ACKS = Table(
    "quic_acks",
    "one acknowledgement that a QUIC sender processed, or a loss that it found, and its state after it",
    "agent, exact, where there are QUIC flows; a program's own qlog",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column(
            "connection",
            "u32?",
            "",
            "the connection's number in the flow, from 0; of `http` with `zero_rtt` the first two are those that "
            "fetched tickets; absent: the flow's only one",
        ),
        TIME,
        column("event", "u8", "", listed_codes(QUIC_EVENTS)),
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
        TIME,
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

MPTCP = Table(
    "mptcp",
    "one MPTCP connection that was made, at its end",
    "agent, at the end of the flow, where there are MPTCP flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        column("fell_back", "bool", "", "whether it became one of TCP, as its peer or a middlebox lacks MPTCP"),
        column("subflows", "u16?", "", "its subflows then, the first included; absent if it fell back"),
        column(
            "sent_bytes", "u64?", "bytes", "payload that it handed to subflows, each byte once; absent if it fell back"
        ),
        column(
            "reinjected_bytes",
            "u64?",
            "bytes",
            "payload that it handed to a second subflow as well, since the first did not deliver it; absent if it fell "
            "back",
        ),
    ),
)

MPTCP_READS = Table(
    "mptcp_reads",
    "what the receiving application of an MPTCP flow could read at an instant",
    "agent, exact, where there are MPTCP flows",
    (
        column("flow_id", "u32", "", "the flow's number in the lab"),
        TIME,
        column("in_order_bytes", "u64", "bytes", "bytes that it read, in the order of the connection"),
    ),
    "`arrivals` has the payload that reached each subflow.",
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
        TIME,
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
        TIME,
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
        MPTCP,
        MPTCP_READS,
        TRANSFERS,
        PAGES,
        OBJECTS,
        SEGMENTS,
        PLAYBACK,
        WIRES,
        SYSCTLS,
        MACHINE,
        CLOCKS,
    )
}

EXACT = (PACKETS, DROPS, ACKS, STATES, ARRIVALS, DATAGRAMS, QUIC_ACKS, QUIC_ARRIVALS, MPTCP_READS)
"""Tables with a row for each packet, ACK or datagram: nearly all bytes of a run."""

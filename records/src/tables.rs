//! The tables of a run directory. Made by `make generate` from `schemas.py` and `codes.py` in
//! `python/netwarp/store/`.

use crate::table::{columns, tables};

/// The fate of a packet in a queue (`packets.arrows`).
pub mod fate {
    /// Sent
    pub const SENT: u8 = 0;
    /// Dropped
    pub const DROPPED: u8 = 1;
    /// Still queued at the end
    pub const QUEUED: u8 = 2;
    /// Taken elsewhere by an action of a filter
    pub const TAKEN: u8 = 3;
}

/// The use of a path that an over-use detector sees (`rate_control.arrows`).
pub mod usage {
    /// Normal
    pub const NORMAL: u8 = 0;
    /// Over-use
    pub const OVER: u8 = 1;
    /// Under-use
    pub const UNDER: u8 = 2;
}

/// The state of a video's playback (`playback.arrows`).
pub mod playback_state {
    /// Waiting for its first segments
    pub const STARTING: u8 = 0;
    /// Playing
    pub const PLAYING: u8 = 1;
    /// Stalled: the buffer ran empty
    pub const STALLED: u8 = 2;
}

/// An event of a QUIC sender (`quic_acks.arrows`).
pub mod quic_event {
    /// An acknowledgement
    pub const ACKNOWLEDGED: u8 = 0;
    /// A loss that did not lower the window, mostly since one of the same round trip has done so
    pub const LOSS: u8 = 1;
    /// A loss, or an ECN mark, that lowered the window
    pub const CONGESTION: u8 = 2;
    /// Persistent congestion, which lowered it to its minimum
    pub const PERSISTENT: u8 = 3;
}

/// The state of a rate control (`rate_control.arrows`).
pub mod rate_state {
    /// Hold
    pub const HOLD: u8 = 0;
    /// Increase
    pub const INCREASE: u8 = 1;
    /// Decrease
    pub const DECREASE: u8 = 2;
}

tables! {
    /// `packets.arrows`: one packet in the queue of one node interface; a packet that its queue splits has a row for each part that leaves (kernel recorder, exact).
    packets {
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows";
        packet_bytes: u32 = UInt32Builder, false, "bytes", "on the wire: the frame with its Ethernet header; for an aggregate, one header for each segment";
        segments: u32 = UInt32Builder, false, "packets", "packets on the wire: 1, or the segments of an aggregate";
        enqueue_ns: i64 = Int64Builder, false, "ns", "arrival at the queue, from t0";
        dequeue_ns: Option<i64> = Int64Builder, true, "ns", "departure from the queue; absent if it never left";
        drop_ns: Option<i64> = Int64Builder, true, "ns", "when it was dropped; absent if it was not";
        length_pkts: u32 = UInt32Builder, false, "packets", "queue length just after its arrival, itself included, in segments";
        length_after_pkts: Option<u32> = UInt32Builder, true, "packets", "queue length just after its departure, in segments";
        backlog_bytes: u32 = UInt32Builder, false, "bytes", "bytes in the queue just after its arrival";
        fate: u8 = UInt8Builder, false, "", "0 sent, 1 dropped, 2 still queued at the end, 3 taken elsewhere by an action of a filter";
        drop_reason: Option<u16> = UInt16Builder, true, "", "the kernel's enum skb_drop_reason";
        ecn_in: u8 = UInt8Builder, false, "", "ECN bits of the IP header on arrival (3 = Congestion Experienced)";
        ecn_out: Option<u8> = UInt8Builder, true, "", "the same on departure";
    }
    /// `drops.arrows`: one packet dropped anywhere but in a recorded queue (kernel recorder, exact).
    drops<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: Option<u32> = UInt32Builder, true, "", "interface at which it was seen last; for `place` 0, any interface of its node";
        place: u8 = UInt8Builder, false, "", "0 created by the node, and not yet at an interface, 1 on its way to the interface's queue, 3 sent: on the wire, 4 arrived at the interface, 5 handed to the node's own transport";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows";
        packet_bytes: u32 = UInt32Builder, false, "bytes", "on the wire: the frame with its Ethernet header; for an aggregate, one header for each segment";
        segments: u32 = UInt32Builder, false, "packets", "packets on the wire: 1, or the segments of an aggregate";
        drop_reason: u16 = UInt16Builder, false, "", "the kernel's enum skb_drop_reason";
        function: Option<&'r str> = StringBuilder, true, "", "function of the kernel that dropped it";
    }
    /// `interfaces.arrows`: one node interface and the packets that passed it while recording; aggregates count as their segments (kernel recorder, at the end of the run).
    interfaces {
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        sent_pkts: u64 = UInt64Builder, false, "packets", "left its queue";
        sent_bytes: u64 = UInt64Builder, false, "bytes", "the same, on the wire";
        arrived_pkts: u64 = UInt64Builder, false, "packets", "arrived, of the packets that left the queue at the link's other end";
        arrived_bytes: u64 = UInt64Builder, false, "bytes", "the same, on the wire";
        lost_pkts: u64 = UInt64Builder, false, "packets", "dropped after they had left its queue, before the other end";
        lost_bytes: u64 = UInt64Builder, false, "bytes", "the same, on the wire";
        received_pkts: u64 = UInt64Builder, false, "packets", "arrived; each is counted in one of the following five columns, or has vanished";
        delivered_pkts: u64 = UInt64Builder, false, "packets", "handed to the node's own transport";
        forwarded_pkts: u64 = UInt64Builder, false, "packets", "handed to a recorded queue";
        dropped_pkts: u64 = UInt64Builder, false, "packets", "dropped by the node before either";
        elsewhere_pkts: u64 = UInt64Builder, false, "packets", "continued at interfaces that are not recorded, such as an ifb";
        waiting_pkts: Option<u64> = UInt64Builder, true, "packets", "still in the node: they wait for the address of a neighbour, or as fragments for the others";
        unsent_pkts: Option<u64> = UInt64Builder, true, "packets", "the node's own that still wait for a neighbour's address, in front of its queue";
    }
    /// `acks.arrows`: one ACK processed by a sender, and the sender's state after it (kernel recorder, exact).
    acks {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows, in the data's direction";
        bytes_acked: u64 = UInt64Builder, false, "bytes", "acknowledged so far";
        snd_cwnd_pkts: u32 = UInt32Builder, false, "packets", "congestion window";
        snd_ssthresh_pkts: u32 = UInt32Builder, false, "packets", "slow-start threshold";
        rtt_us: Option<i32> = Int32Builder, true, "µs", "RTT sample of this ACK, not smoothed; absent if it gave none";
        srtt_us: u32 = UInt32Builder, false, "µs", "smoothed RTT (RFC 6298)";
        rttvar_us: u32 = UInt32Builder, false, "µs", "RTT variation (RFC 6298)";
        min_rtt_us: u32 = UInt32Builder, false, "µs", "windowed minimum of the RTT";
        in_flight_pkts: u32 = UInt32Builder, false, "packets", "sent, and neither acknowledged nor assumed lost";
        lost_pkts: u32 = UInt32Builder, false, "packets", "now assumed lost";
        retrans_out_pkts: u32 = UInt32Builder, false, "packets", "retransmitted and now in flight";
        retransmits: u32 = UInt32Builder, false, "packets", "retransmitted so far (tcpi_total_retrans)";
        delivered_pkts: u32 = UInt32Builder, false, "packets", "delivered so far, retransmitted ones included";
        delivered_ce_pkts: u32 = UInt32Builder, false, "packets", "of these, acknowledged while the peer echoed an ECN mark";
        ca_state: u8 = UInt8Builder, false, "", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss";
        app_limited: bool = BooleanBuilder, false, "", "whether the sender had nothing more to send";
        snd_wnd_bytes: u32 = UInt32Builder, false, "bytes", "the peer's advertised window";
        rcv_wnd_bytes: u32 = UInt32Builder, false, "bytes", "the sender's own advertised window";
        mss_bytes: u32 = UInt32Builder, false, "bytes", "current maximum segment size";
        pacing_rate_bps: Option<u64> = UInt64Builder, true, "bit/s", "pacing rate; absent if there is none";
        bbr_bw_bps: Option<u64> = UInt64Builder, true, "bit/s", "BBR's bandwidth estimate; absent for other congestion controls";
        bbr_pacing_gain: Option<u16> = UInt16Builder, true, "1/256", "BBR's pacing gain";
        bbr_cwnd_gain: Option<u16> = UInt16Builder, true, "1/256", "BBR's window gain";
    }
    /// `variables.arrows`: one variable that a congestion control of a module exports (kernel recorder, exact, where a module exports any).
    variables<'r> {
        variable_id: u32 = UInt32Builder, false, "", "key of states.arrows";
        control: &'r str = StringBuilder, false, "", "name of the congestion control";
        name: &'r str = StringBuilder, false, "", "its name there (NETWARP_EXPORT, docs/modules.md)";
    }
    /// `states.arrows`: the value of one variable of a congestion control after an ACK (kernel recorder, exact, where a module exports any).
    states {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows, in the data's direction";
        variable_id: u32 = UInt32Builder, false, "", "key into variables.arrows";
        value: i64 = Int64Builder, false, "", "its value; 2^63 - 1 also stands for larger values";
    }
    /// `arrivals.arrows`: payload that reached the socket it was sent to: a TCP segment, acceptable and free of errors, a datagram, or a chunk of SCTP; or no payload, if some that SCTP held back became readable (kernel recorder, exact).
    arrivals {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows, in the data's direction";
        payload_bytes: u32 = UInt32Builder, false, "bytes", "its payload";
        new_bytes: u32 = UInt32Builder, false, "bytes", "of these, not received before: data sent again counts once (TCP)";
        in_order_bytes: Option<u32> = UInt32Builder, true, "bytes", "that the socket's reader could take from then on: this payload unless it came beyond a gap, and what had waited behind the gap that it closed; of SCTP whole messages in their order";
    }
    /// `tuples.arrows`: a five-tuple named by tuple_id (kernel recorder).
    tuples<'r> {
        tuple_id: u32 = UInt32Builder, false, "", "its number in this run";
        protocol: u8 = UInt8Builder, false, "", "IP protocol number (6 TCP, 17 UDP, 132 SCTP, 1 and 58 ICMP)";
        source: &'r str = StringBuilder, false, "", "source address";
        source_port: u16 = UInt16Builder, false, "", "source port; 0 where the protocol has none";
        destination: &'r str = StringBuilder, false, "", "destination address";
        destination_port: u16 = UInt16Builder, false, "", "destination port; 0 where the protocol has none";
    }
    /// `namespaces.arrows`: a network namespace that was created or named (kernel recorder).
    namespaces<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        namespace: u64 = UInt64Builder, false, "", "its cookie (SO_NETNS_COOKIE of socket(7)), never used again";
        event: u8 = UInt8Builder, false, "", "1 made, 2 given a name";
        pid: u32 = UInt32Builder, false, "", "the process that did it";
        text: &'r str = StringBuilder, false, "", "if created: that process's command line; if named: the path of the mount";
    }
    /// `devices.arrows`: the state of an interface from an instant on (kernel recorder).
    devices<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        namespace: u64 = UInt64Builder, false, "", "cookie of the namespace that it is in";
        event: u8 = UInt8Builder, false, "", "3 exists, in this state from now on, 4 has left the namespace, 5 exists at the end";
        ifindex: u32 = UInt32Builder, false, "", "its index in that namespace";
        name: &'r str = StringBuilder, false, "", "its name there";
        kind: &'r str = StringBuilder, false, "", "veth, bridge, loopback …; empty if its driver says none";
        mtu_bytes: u32 = UInt32Builder, false, "bytes", "its MTU";
        peer_index: Option<u32> = UInt32Builder, true, "", "the other end of a veth";
        master_index: Option<u32> = UInt32Builder, true, "", "the bridge, bond or datapath that it is a port of";
        offload: bool = BooleanBuilder, false, "", "whether it may send aggregates";
        sent_pkts: Option<u64> = UInt64Builder, true, "packets", "sent so far, by its own counter; only when it has gone, and at the end";
        received_pkts: Option<u64> = UInt64Builder, true, "packets", "received so far; only when it has gone, and at the end";
    }
    /// `disciplines.arrows`: a queueing discipline, or one of its classes, as configured from an instant on (kernel recorder).
    disciplines<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        handle: u32 = UInt32Builder, false, "", "its handle; for a class, its number";
        parent: u32 = UInt32Builder, false, "", "its parent; 0xffffffff at the root";
        kind: &'r str = StringBuilder, false, "", "htb, netem …";
        class: bool = BooleanBuilder, false, "", "a class rather than a discipline";
        gone: bool = BooleanBuilder, false, "", "it was removed";
        rate_bps: Option<u64> = UInt64Builder, true, "bit/s", "for classes of htb the ceiling, for tbf, netem and cake the rate";
        limit: Option<u32> = UInt32Builder, true, "", "for pfifo and netem in packets, for bfifo and tbf in bytes";
        delay_ns: Option<i64> = Int64Builder, true, "ns", "of netem";
        jitter_ns: Option<i64> = Int64Builder, true, "ns", "of netem";
        loss: Option<f64> = Float64Builder, true, "", "of netem, 0 to 1";
    }
    /// `endpoints.arrows`: a socket at one end of a five-tuple's data (kernel recorder).
    endpoints {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        tuple_id: u32 = UInt32Builder, false, "", "key into tuples.arrows, in the data's direction";
        receives: bool = BooleanBuilder, false, "", "whether it received the data; otherwise it sent them (TCP, with its first ACK)";
        namespace: Option<u64> = UInt64Builder, true, "", "cookie of its namespace; absent in a lab, whose nodes are known";
        owner: Option<u32> = UInt32Builder, true, "", "the flow (flow_id) whose program created it; absent if it was another program's";
    }
    /// `queues.arrows`: one qdisc at one instant (agent, sampled).
    queues<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        handle: u32 = UInt32Builder, false, "", "the qdisc's handle (major << 16)";
        parent: u32 = UInt32Builder, false, "", "its parent class; 0xffffffff at the root";
        kind: &'r str = StringBuilder, false, "", "pfifo, red, fq_codel, htb …";
        bytes: u64 = UInt64Builder, false, "bytes", "sent so far";
        packets: u64 = UInt64Builder, false, "packets", "sent so far";
        drops: u32 = UInt32Builder, false, "packets", "dropped so far";
        overlimits: u32 = UInt32Builder, false, "", "times it was over its limit so far";
        requeues: u32 = UInt32Builder, false, "packets", "requeued so far";
        length_pkts: u32 = UInt32Builder, false, "packets", "queue length now";
        backlog_bytes: u32 = UInt32Builder, false, "bytes", "bytes queued now";
    }
    /// `queue_states.arrows`: a number that a queueing discipline reports about its inner state, at one instant (agent, sampled, where the scenario asks for it).
    queue_states<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        handle: u32 = UInt32Builder, false, "", "handle of the qdisc (major << 16), or number of its class (major << 16 | minor)";
        kind: &'r str = StringBuilder, false, "", "pie, fq_codel, htb …";
        tin: Option<u8> = UInt8Builder, true, "", "the tin of CAKE that it describes, from 0 as tc prints them; absent for other parts";
        name: &'r str = StringBuilder, false, "", "its name: see below";
        value: f64 = Float64Builder, false, "", "its value, in the unit that its name ends with";
    }
    /// `links.arrows`: one node interface at one instant (agent, sampled).
    links {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        interface_index: u32 = UInt32Builder, false, "", "index of the interface, unique in the whole lab";
        tx_bytes: u64 = UInt64Builder, false, "bytes", "sent so far";
        tx_packets: Option<u64> = UInt64Builder, true, "packets", "sent so far";
        rx_bytes: u64 = UInt64Builder, false, "bytes", "received so far";
        rx_packets: Option<u64> = UInt64Builder, true, "packets", "received so far";
        tx_dropped: Option<u64> = UInt64Builder, true, "packets", "dropped on sending so far";
        rx_dropped: Option<u64> = UInt64Builder, true, "packets", "dropped on receiving so far";
    }
    /// `flows.arrows`: one flow's totals, as its generator reports them at its end (agent).
    flows<'r> {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        name: &'r str = StringBuilder, false, "", "the flow's name";
        tool: &'r str = StringBuilder, false, "", "bulk, ping …";
        start_ns: i64 = Int64Builder, false, "ns", "when it started, from t0";
        connect_ns: Option<i64> = Int64Builder, true, "ns", "when it was connected; absent if it never was, or has no connection";
        end_ns: i64 = Int64Builder, false, "ns", "when it ended, from t0";
        sent_bytes: Option<u64> = UInt64Builder, true, "bytes", "payload handed to the kernel; of `quic_datagrams` the data of `sent_pkts`; absent if nothing counted it (command)";
        received_bytes: Option<u64> = UInt64Builder, true, "bytes", "payload that arrived; absent if nothing counted it (command)";
        retransmits: Option<u32> = UInt32Builder, true, "packets", "retransmitted in all";
        rwnd_limited_us: Option<u64> = UInt64Builder, true, "µs", "time limited by the receiver's window";
        sndbuf_limited_us: Option<u64> = UInt64Builder, true, "µs", "time limited by the send buffer";
        busy_us: Option<u64> = UInt64Builder, true, "µs", "time with data to send or unacknowledged";
        error: Option<&'r str> = StringBuilder, true, "", "what went wrong; absent if nothing did";
        sent_pkts: Option<u64> = UInt64Builder, true, "packets", "datagrams or echo requests sent; of `quic_datagrams` those that were due, without those that still waited at the end";
        received_pkts: Option<u64> = UInt64Builder, true, "packets", "datagrams that arrived, each counted once (UDP generators)";
        duplicate_pkts: Option<u64> = UInt64Builder, true, "packets", "datagrams that arrived again (UDP generators)";
        reordered_pkts: Option<u64> = UInt64Builder, true, "packets", "datagrams that arrived after a later one (RFC 4737, UDP generators)";
        jitter_us: Option<f64> = Float64Builder, true, "µs", "interarrival jitter at the receiver's end (RFC 3550, UDP generators)";
        received_in_ns: Option<i64> = Int64Builder, true, "ns", "how long payload arrived, by the receiver's own clock (iperf3)";
        unsent_pkts: Option<u64> = UInt64Builder, true, "packets", "of `sent_pkts`, those that the sender's backlog dropped before they could leave (quic_datagrams)";
    }
    /// `pings.arrows`: one echo request (agent).
    pings {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        sequence: u32 = UInt32Builder, false, "", "sequence number of the request";
        sent_ns: i64 = Int64Builder, false, "ns", "when it was sent, from t0";
        rtt_ns: Option<i64> = Int64Builder, true, "ns", "until its reply; absent: no reply";
    }
    /// `datagrams.arrows`: one datagram of a UDP generator or of `quic_datagrams` that arrived, in order of arrival; a datagram without a row did not arrive (agent, exact).
    datagrams {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        sequence: u64 = UInt64Builder, false, "", "its number among those sent, from 0; a duplicate has the same number";
        sent_ns: i64 = Int64Builder, false, "ns", "when the sender handed it to the kernel (to QUIC), from t0";
        received_ns: i64 = Int64Builder, false, "ns", "when the receiver's kernel (QUIC) took it, from t0";
        payload_bytes: u32 = UInt32Builder, false, "bytes", "its payload";
    }
    /// `rate_control.arrows`: one report of the receiver of an adaptive media stream, and the sender's state after it (agent, exact, where a media stream is adaptive).
    rate_control {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        time_ns: i64 = Int64Builder, false, "ns", "when the report reached the sender, from t0";
        target_bps: u64 = UInt64Builder, false, "bit/s", "rate of media that the sender takes from now on";
        delay_based_bps: u64 = UInt64Builder, false, "bit/s", "what the delay-based controller allows";
        loss_based_bps: u64 = UInt64Builder, false, "bit/s", "what the loss-based controller allows";
        received_bps: Option<u64> = UInt64Builder, true, "bit/s", "rate at which media arrived in the last half second; absent before that";
        lost: f64 = Float64Builder, false, "", "share of the packets of this report that have not arrived, 0 to 1";
        rtt_ns: Option<i64> = Int64Builder, true, "ns", "round trip of the last packet that arrived; absent if none did";
        gradient_ms: f64 = Float64Builder, false, "ms", "estimated change of the one-way delay from one group of packets to the next";
        threshold_ms: f64 = Float64Builder, false, "ms", "over-use is the gradient, times the groups so far or 60, above this";
        usage: u8 = UInt8Builder, false, "", "0 normal, 1 over-use, 2 under-use";
        state: u8 = UInt8Builder, false, "", "0 hold, 1 increase, 2 decrease";
    }
    /// `quic_acks.arrows`: one acknowledgement that a QUIC sender processed, or a loss that it found, and its state after it (agent, exact, where there are QUIC flows; a program's own qlog).
    quic_acks {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        connection: Option<u32> = UInt32Builder, true, "", "the connection's number in the flow, from 0; of `http` with `zero_rtt` the first two are those that fetched tickets; absent: the flow's only one";
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        event: u8 = UInt8Builder, false, "", "0 an acknowledgement, 1 a loss that did not lower the window, mostly since one of the same round trip has done so, 2 a loss, or an ECN mark, that lowered the window, 3 persistent congestion, which lowered it to its minimum";
        cwnd_bytes: u64 = UInt64Builder, false, "bytes", "congestion window, of UDP payload";
        ssthresh_bytes: Option<u64> = UInt64Builder, true, "bytes", "slow-start threshold; absent if it has not been set, or with BBR";
        in_flight_bytes: u64 = UInt64Builder, false, "bytes", "sent, and neither acknowledged nor declared lost, of UDP payload";
        acked_bytes: u64 = UInt64Builder, false, "bytes", "acknowledged so far, of UDP payload";
        rtt_ns: Option<i64> = Int64Builder, true, "ns", "RTT sample of this acknowledgement, with the receiver's delay of it; absent if it gave none";
        srtt_ns: i64 = Int64Builder, false, "ns", "smoothed RTT (RFC 9002, section 5.3), after the datagram";
        min_rtt_ns: i64 = Int64Builder, false, "ns", "minimum of the RTT (RFC 9002, section 5.2), after the datagram";
        sent_pkts: u64 = UInt64Builder, false, "packets", "sent so far";
        lost_pkts: u64 = UInt64Builder, false, "packets", "declared lost so far";
    }
    /// `quic_arrivals.arrows`: data of a QUIC flow's streams that reached its receiver at an instant (agent, exact, where there are QUIC flows).
    quic_arrivals {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        new_bytes: u64 = UInt64Builder, false, "bytes", "not received before";
        in_order_bytes: u64 = UInt64Builder, false, "bytes", "that the application could read from then on, each stream in order: these bytes unless they came beyond a gap, and what had waited behind the gap that they closed";
    }
    /// `mptcp.arrows`: one MPTCP connection that was made, at its end (agent, at the end of the flow, where there are MPTCP flows).
    mptcp {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        fell_back: bool = BooleanBuilder, false, "", "whether it became one of TCP, as its peer or a middlebox lacks MPTCP";
        subflows: Option<u16> = UInt16Builder, true, "", "its subflows then, the first included; absent if it fell back";
        sent_bytes: Option<u64> = UInt64Builder, true, "bytes", "payload that it handed to subflows, each byte once; absent if it fell back";
        reinjected_bytes: Option<u64> = UInt64Builder, true, "bytes", "payload that it handed to a second subflow as well, since the first did not deliver it; absent if it fell back";
    }
    /// `mptcp_reads.arrows`: what the receiving application of an MPTCP flow could read at an instant (agent, exact, where there are MPTCP flows).
    mptcp_reads {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        in_order_bytes: u64 = UInt64Builder, false, "bytes", "bytes that it read, in the order of the connection";
    }
    /// `transfers.arrows`: one exchange that began: a request (or several at once) with its response, a bulk flow of a given size, or a transfer of an open-loop flow (agent, exact).
    transfers {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        sequence: u32 = UInt32Builder, false, "", "its number in the flow, from 0";
        start_ns: i64 = Int64Builder, false, "ns", "when the request was made, or the flow or transfer began, from t0";
        end_ns: Option<i64> = Int64Builder, true, "ns", "when the last byte arrived, from t0; absent if it never completed";
        request_bytes: u64 = UInt64Builder, false, "bytes", "payload of the request; 0 without one";
        bytes: u64 = UInt64Builder, false, "bytes", "payload of the response, the flow or the transfer";
    }
    /// `pages.arrows`: one page that a client of HTTP began to load (agent, exact, where there are HTTP flows).
    pages {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        page: u32 = UInt32Builder, false, "", "its number in the flow, from 0";
        start_ns: i64 = Int64Builder, false, "ns", "when its load began, before there was a connection, from t0";
        connected_ns: Option<i64> = Int64Builder, true, "ns", "when its first connection could send requests, from t0; or absent";
        first_byte_ns: Option<i64> = Int64Builder, true, "ns", "when the head of the document's response was there, from t0; or absent";
        end_ns: Option<i64> = Int64Builder, true, "ns", "when the last byte of its last object arrived, from t0; or absent";
        objects: u32 = UInt32Builder, false, "", "its objects, the document included";
        bytes: u64 = UInt64Builder, false, "bytes", "their content, without headers";
        connections: u32 = UInt32Builder, false, "", "connections that it opened";
    }
    /// `objects.arrows`: one object of a page; times are from t0, and absent if that never happened (agent, exact, where there are HTTP flows).
    objects {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        page: u32 = UInt32Builder, false, "", "the page's number in the flow";
        object: u32 = UInt32Builder, false, "", "its number in the page: 0 is the document";
        parent: Option<u32> = UInt32Builder, true, "", "the object that names it; absent for the document";
        urgency: u8 = UInt8Builder, false, "", "of its request (RFC 9218): 0 is the most urgent, 3 the default";
        connection: Option<u32> = UInt32Builder, true, "", "the page's connection that carries it, from 0";
        known_ns: Option<i64> = Int64Builder, true, "ns", "when the client knew of it: its parent was complete";
        sent_ns: Option<i64> = Int64Builder, true, "ns", "when its request was handed to a connection";
        first_byte_ns: Option<i64> = Int64Builder, true, "ns", "when the head of its response was there";
        end_ns: Option<i64> = Int64Builder, true, "ns", "when its last byte could be read";
        bytes: u64 = UInt64Builder, false, "bytes", "its content, without headers";
    }
    /// `segments.arrows`: one segment that a player of a video requested; times are from t0 (agent, exact, where there are video flows).
    segments {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        segment: u32 = UInt32Builder, false, "", "its number in the video, from 0";
        level: u8 = UInt8Builder, false, "", "the number of its bitrate in the ladder, from 0";
        bitrate_bps: u64 = UInt64Builder, false, "bit/s", "its bitrate in the ladder";
        bytes: u64 = UInt64Builder, false, "bytes", "its content, without headers";
        requested_ns: i64 = Int64Builder, false, "ns", "when its request was handed to the connection";
        first_byte_ns: Option<i64> = Int64Builder, true, "ns", "when the head of its response was there; or absent";
        end_ns: Option<i64> = Int64Builder, true, "ns", "when its last byte could be read; absent if it never could";
        buffer_ns: i64 = Int64Builder, false, "ns", "playback in the buffer when its bitrate was decided";
        buffer_end_ns: Option<i64> = Int64Builder, true, "ns", "the same at its end, with this segment; absent if it was not there, or the viewer had left";
        throughput_bps: Option<f64> = Float64Builder, true, "bit/s", "its bytes over the time from its request to its end";
        expected_bps: Option<f64> = Float64Builder, true, "bit/s", "the throughput that its bitrate was decided for; absent if the player looks at none, or had seen none";
    }
    /// `playback.arrows`: one stretch of time in which the playback of a video was in one state; times are from t0 (agent, exact, where there are video flows).
    playback {
        flow_id: u32 = UInt32Builder, false, "", "the flow's number in the lab";
        state: u8 = UInt8Builder, false, "", "0 waiting for its first segments, 1 playing, 2 stalled: the buffer ran empty";
        start_ns: i64 = Int64Builder, false, "ns", "when it began";
        end_ns: Option<i64> = Int64Builder, true, "ns", "when it ended; absent: it lasted until the flow's end";
    }
    /// `wires.arrows`: one direction of a link and its packets, from the set-up of the lab to the end of the run (agent, at the end of the run).
    wires {
        interface_index: u32 = UInt32Builder, false, "", "the interface that sends into it";
        sent_pkts: u64 = UInt64Builder, false, "packets", "taken from the sending interface";
        sent_bytes: u64 = UInt64Builder, false, "bytes", "the same, frames with their Ethernet header";
        delivered_pkts: u64 = UInt64Builder, false, "packets", "handed to the other end's interface";
        delivered_bytes: u64 = UInt64Builder, false, "bytes", "the same, frames with their Ethernet header";
        lost_pkts: u64 = UInt64Builder, false, "packets", "lost on the wire by its configured loss";
        queued_pkts: u64 = UInt64Builder, false, "packets", "still on the wire at the end";
        queued_bytes: u64 = UInt64Builder, false, "bytes", "the same, on the wire";
    }
    /// `sysctls.arrows`: a sysctl of a node that a program tunes: its first value, and each later value that a sample found (agent, sampled every 100 ms at most).
    sysctls<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        node: &'r str = StringBuilder, false, "", "the node";
        name: &'r str = StringBuilder, false, "", "such as net.ipv4.tcp_rmem";
        value: &'r str = StringBuilder, false, "", "as the kernel shows it, with blanks between its parts";
    }
    /// `machine.arrows`: the machine that the run shares with other programs, at one instant; counters are since the machine's start (agent, sampled; only with engines in real time).
    machine<'r> {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        node: Option<&'r str> = StringBuilder, true, "", "the node, if the whole machine is one node; absent if it holds all of them";
        cpus: u16 = UInt16Builder, false, "", "CPUs of the machine";
        busy_us: u64 = UInt64Builder, false, "µs", "time that all CPUs together have been busy so far";
        steal_us: u64 = UInt64Builder, false, "µs", "time that a hypervisor has taken from the CPUs so far (steal)";
        softnet_dropped_pkts: u64 = UInt64Builder, false, "packets", "dropped so far because a CPU's backlog was full";
        softnet_squeezed: u64 = UInt64Builder, false, "", "times so far that a CPU had more packets than it processes at once (time squeeze)";
        agent_cpu_us: u64 = UInt64Builder, false, "µs", "CPU time of the agent so far, generators included";
        sampling_cpu_us: u64 = UInt64Builder, false, "µs", "of these, in the thread that samples and changes the network";
        timers: u64 = UInt64Builder, false, "", "instants so far at which something was due: samples, changes, departures";
        late_timers: u64 = UInt64Builder, false, "", "of these, more than 1 ms late";
        lateness_max_us: u64 = UInt64Builder, false, "µs", "the largest delay of one since the previous row";
        realtime_offset_ns: i64 = Int64Builder, false, "ns", "difference of CLOCK_REALTIME and CLOCK_MONOTONIC";
        udp_buffer_errors: Option<u64> = UInt64Builder, true, "packets", "datagrams lost in full sockets; at the end only";
        capture_missed_pkts: u64 = UInt64Builder, false, "packets", "missed by captures so far";
    }
}

columns! {
    /// `sockets.arrows`: one TCP socket at one instant (agent, sampled over NETLINK_SOCK_DIAG).
    sockets {
        time_ns: i64 = Int64Builder, false, "ns", "when, from t0";
        node: &'r str = StringBuilder, false, "", "the node whose socket it is";
        cookie: Option<u64> = UInt64Builder, true, "", "the kernel's socket cookie";
        source: &'r str = StringBuilder, false, "", "local address";
        source_port: u16 = UInt16Builder, false, "", "local port";
        destination: &'r str = StringBuilder, false, "", "peer's address";
        destination_port: u16 = UInt16Builder, false, "", "peer's port";
        congestion_control: Option<&'r str> = StringBuilder, true, "", "name of the congestion control";
        state: u8 = UInt8Builder, false, "", "TCP state (1 established)";
        ca_state: Option<u8> = UInt8Builder, true, "", "0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss";
        retransmits: Option<u8> = UInt8Builder, true, "", "consecutive timeouts without an acknowledgement";
        probes: Option<u8> = UInt8Builder, true, "", "unanswered window or keepalive probes";
        backoff: Option<u8> = UInt8Builder, true, "", "exponential backoff of the timer";
        options: Option<u8> = UInt8Builder, true, "", "TCPI_OPT_* bits: 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 16 ECN seen";
        snd_wscale: Option<u8> = UInt8Builder, true, "", "peer's window scale";
        rcv_wscale: Option<u8> = UInt8Builder, true, "", "own window scale";
        delivery_rate_app_limited: Option<bool> = BooleanBuilder, true, "", "whether delivery_rate_bps was limited by the application";
        fastopen_client_fail: Option<u8> = UInt8Builder, true, "", "TFO_*: 1 no cookie, 2 data not acknowledged, 3 SYN sent again";
        rto_us: Option<u32> = UInt32Builder, true, "µs", "retransmission timeout";
        ato_us: Option<u32> = UInt32Builder, true, "µs", "delayed-ACK timeout";
        snd_mss_bytes: Option<u32> = UInt32Builder, true, "bytes", "sending maximum segment size";
        rcv_mss_bytes: Option<u32> = UInt32Builder, true, "bytes", "estimate of the peer's segment size";
        unacked_pkts: Option<u32> = UInt32Builder, true, "packets", "sent and not acknowledged";
        sacked_pkts: Option<u32> = UInt32Builder, true, "packets", "of these, selectively acknowledged";
        lost_pkts: Option<u32> = UInt32Builder, true, "packets", "of these, assumed lost";
        retrans_pkts: Option<u32> = UInt32Builder, true, "packets", "retransmitted and now in flight";
        last_data_sent_ms: Option<u32> = UInt32Builder, true, "ms", "since data was last sent";
        last_data_recv_ms: Option<u32> = UInt32Builder, true, "ms", "since data last arrived";
        last_ack_recv_ms: Option<u32> = UInt32Builder, true, "ms", "since an ACK last arrived";
        pmtu_bytes: Option<u32> = UInt32Builder, true, "bytes", "path MTU";
        rcv_ssthresh_bytes: Option<u32> = UInt32Builder, true, "bytes", "limit for the growth of the receive window";
        rtt_us: Option<u32> = UInt32Builder, true, "µs", "smoothed RTT (as in ss; the samples are in acks.arrows); absent before the first sample";
        rttvar_us: Option<u32> = UInt32Builder, true, "µs", "RTT variation; absent before the first sample of the RTT";
        snd_ssthresh_pkts: Option<u32> = UInt32Builder, true, "packets", "slow-start threshold";
        snd_cwnd_pkts: Option<u32> = UInt32Builder, true, "packets", "congestion window";
        advmss_bytes: Option<u32> = UInt32Builder, true, "bytes", "advertised maximum segment size";
        reordering: Option<u32> = UInt32Builder, true, "packets", "reordering the sender allows for";
        rcv_rtt_us: Option<u32> = UInt32Builder, true, "µs", "receiver's estimate of the RTT; absent if it has none";
        rcv_space_bytes: Option<u32> = UInt32Builder, true, "bytes", "receive buffer tuning: bytes per RTT";
        total_retrans: Option<u32> = UInt32Builder, true, "packets", "retransmitted so far";
        pacing_rate_bps: Option<u64> = UInt64Builder, true, "bit/s", "pacing rate (the kernel's bytes/s × 8)";
        max_pacing_rate_bps: Option<u64> = UInt64Builder, true, "bit/s", "its cap; absent if there is none";
        bytes_acked: Option<u64> = UInt64Builder, true, "bytes", "acknowledged so far";
        bytes_received: Option<u64> = UInt64Builder, true, "bytes", "received in order so far";
        segs_out: Option<u32> = UInt32Builder, true, "packets", "segments sent so far";
        segs_in: Option<u32> = UInt32Builder, true, "packets", "segments received so far";
        notsent_bytes: Option<u32> = UInt32Builder, true, "bytes", "in the send buffer and not yet sent";
        min_rtt_us: Option<u32> = UInt32Builder, true, "µs", "windowed minimum of the RTT; absent before the first sample";
        data_segs_in: Option<u32> = UInt32Builder, true, "packets", "data segments received so far";
        data_segs_out: Option<u32> = UInt32Builder, true, "packets", "data segments sent so far";
        delivery_rate_bps: Option<u64> = UInt64Builder, true, "bit/s", "most recent delivery rate (the kernel's bytes/s × 8); absent before the first";
        busy_time_us: Option<u64> = UInt64Builder, true, "µs", "time with data to send or unacknowledged";
        rwnd_limited_us: Option<u64> = UInt64Builder, true, "µs", "of this, limited by the receiver's window";
        sndbuf_limited_us: Option<u64> = UInt64Builder, true, "µs", "of this, limited by the send buffer";
        delivered_pkts: Option<u32> = UInt32Builder, true, "packets", "delivered so far";
        delivered_ce_pkts: Option<u32> = UInt32Builder, true, "packets", "of these, acknowledged with an ECN mark";
        bytes_sent: Option<u64> = UInt64Builder, true, "bytes", "sent so far, retransmissions included";
        bytes_retrans: Option<u64> = UInt64Builder, true, "bytes", "retransmitted so far";
        dsack_dups: Option<u32> = UInt32Builder, true, "packets", "duplicates the peer reported (RFC 2883)";
        reord_seen: Option<u32> = UInt32Builder, true, "", "reordering events seen";
        rcv_ooopack: Option<u32> = UInt32Builder, true, "packets", "out-of-order packets received";
        snd_wnd_bytes: Option<u32> = UInt32Builder, true, "bytes", "the peer's advertised window";
        rcv_wnd_bytes: Option<u32> = UInt32Builder, true, "bytes", "own advertised window";
        rehash: Option<u32> = UInt32Builder, true, "", "times the flow hash was changed after a timeout";
        total_rto: Option<u16> = UInt16Builder, true, "", "retransmission timeouts so far";
        total_rto_recoveries: Option<u16> = UInt16Builder, true, "", "recoveries from timeouts so far";
        total_rto_time_ms: Option<u32> = UInt32Builder, true, "ms", "time spent in these recoveries";
        received_ce_pkts: Option<u32> = UInt32Builder, true, "packets", "received with an ECN mark (from Linux 6.18 on, as what follows)";
        delivered_e1_bytes: Option<u32> = UInt32Builder, true, "bytes", "delivered as ECT(1), by AccECN (RFC 9768)";
        delivered_e0_bytes: Option<u32> = UInt32Builder, true, "bytes", "delivered as ECT(0)";
        delivered_ce_bytes: Option<u32> = UInt32Builder, true, "bytes", "delivered with an ECN mark";
        received_e1_bytes: Option<u32> = UInt32Builder, true, "bytes", "received as ECT(1)";
        received_e0_bytes: Option<u32> = UInt32Builder, true, "bytes", "received as ECT(0)";
        received_ce_bytes: Option<u32> = UInt32Builder, true, "bytes", "received with an ECN mark";
        bbr_bw_bps: Option<u64> = UInt64Builder, true, "bit/s", "BBR's bandwidth estimate";
        bbr_min_rtt_us: Option<u32> = UInt32Builder, true, "µs", "BBR's minimum RTT";
        bbr_pacing_gain: Option<u32> = UInt32Builder, true, "1/256", "BBR's pacing gain";
        bbr_cwnd_gain: Option<u32> = UInt32Builder, true, "1/256", "BBR's window gain";
        vegas_enabled: Option<bool> = BooleanBuilder, true, "", "whether Vegas now controls the window";
        vegas_rttcnt: Option<u32> = UInt32Builder, true, "", "RTT samples in this round";
        vegas_rtt_us: Option<u32> = UInt32Builder, true, "µs", "Vegas' base RTT: the smallest of the connection";
        vegas_min_rtt_us: Option<u32> = UInt32Builder, true, "µs", "the smallest RTT of this round";
        dctcp_enabled: Option<bool> = BooleanBuilder, true, "", "whether DCTCP is in use with this peer";
        dctcp_ce_state: Option<u16> = UInt16Builder, true, "", "whether the last packet carried an ECN mark";
        dctcp_alpha: Option<u32> = UInt32Builder, true, "1/1024", "moving fraction of marked bytes";
        dctcp_ab_ecn_bytes: Option<u32> = UInt32Builder, true, "bytes", "marked bytes in this window";
        dctcp_ab_tot_bytes: Option<u32> = UInt32Builder, true, "bytes", "all bytes in this window";
    }
}

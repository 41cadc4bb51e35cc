//! The kernel's records as they lie in its stream. Made by `make generate` from `linux/netwarp.h` in
//! `python/netwarp/kernels/tree/`.

use super::record::records;

records! {
    /// struct netwarp_tuple
    Tuple: 0, 40 bytes {
        /// 4, 6 or 0: neither
        family: u8, 0, 1;
        protocol: u8, 1, 1;
        /// as the packet carries it: DSCP and ECN
        tos: u8, 2, 1;
        /// NETWARP_ENQUEUE: NET_XMIT_*, and NETWARP_STOLEN
        verdict: u8, 3, 1;
        /// ICMP echo: its identifier
        sport: u16, 4, 2;
        /// ICMP echo: 0
        dport: u16, 6, 2;
        saddr: &'a [u8], 8, 16;
        daddr: &'a [u8], 24, 16;
    }
    /// struct netwarp_enqueue: a packet came to a root queue, and what became of it
    Enqueue: 1, 80 bytes {
        ifindex: u32, 4, 4;
        /// CLOCK_MONOTONIC
        time_ns: u64, 8, 8;
        /// of the packet at this queue, never used again
        id: u64, 16, 8;
        bytes: u32, 24, 4;
        /// of the root queue, afterwards
        qlen: u32, 28, 4;
        /// likewise, bytes
        backlog: u32, 32, 4;
        segs: u32, 36, 4;
        tuple: Tuple<'a>, 40, 40;
    }
    /// struct netwarp_dequeue: a packet, or a part of an aggregate, left a root queue for the device
    Dequeue: 2, 48 bytes {
        ifindex: u32, 4, 4;
        time_ns: u64, 8, 8;
        id: u64, 16, 8;
        qlen: u32, 24, 4;
        backlog: u32, 28, 4;
        tos: u32, 32, 4;
        segs: u32, 36, 4;
        bytes: u32, 40, 4;
    }
    /// struct netwarp_free: a packet, or a part of an aggregate, ended in a root queue
    Free: 3, 32 bytes {
        /// enum skb_drop_reason; SKB_CONSUMED: without a word
        reason: u32, 4, 4;
        time_ns: u64, 8, 8;
        id: u64, 16, 8;
        segs: u32, 24, 4;
        bytes: u32, 28, 4;
    }
    /// struct netwarp_drop: a packet was dropped, outside of every recorded queue
    Drop: 6, 80 bytes {
        reason: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// address, see netwarp_symbol
        function: u64, 16, 8;
        /// NETWARP_LOCAL: any of the node's, 0 if it has none
        ifindex: u32, 24, 4;
        /// enum netwarp_place
        place: u32, 28, 4;
        segs: u32, 32, 4;
        bytes: u32, 36, 4;
        tuple: Tuple<'a>, 40, 40;
    }
    /// struct netwarp_symbol: the kernel function of an address in the drops that follow
    Symbol: 7, 88 bytes {
        time_ns: u64, 8, 8;
        function: u64, 16, 8;
        name: &'a [u8], 24, 64;
    }
    /// struct netwarp_namespace: a network namespace was made or named: struct, then text
    Namespace: 10, 32 bytes {
        /// enum netwarp_event
        event: u32, 4, 4;
        time_ns: u64, 8, 8;
        cookie: u64, 16, 8;
        pid: u32, 24, 4;
        /// of the text
        length: u32, 28, 4;
    }
    /// struct netwarp_interface: an interface came, changed or went
    Interface: 11, 96 bytes {
        number: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// cookie of its namespace
        netns: u64, 16, 8;
        /// enum netwarp_event
        event: u32, 24, 4;
        ifindex: u32, 28, 4;
        mtu: u32, 32, 4;
        /// number of a veth's other end; 0: none
        peer: u32, 36, 4;
        /// number of the bridge, bond or datapath that it is a port of; 0: none
        master: u32, 40, 4;
        /// whether packets may be aggregates
        offload: u32, 44, 4;
        /// by its own count, in packets, aggregates counting as one or as it likes
        sent: u64, 48, 8;
        received: u64, 56, 8;
        name: &'a [u8], 64, 16;
        /// of rtnl_link_ops: veth, bridge …; lo's is "loopback"
        kind: &'a [u8], 80, 16;
    }
    /// struct netwarp_notice: a queueing discipline or a class of one: struct, then the message of rtnetlink(7)
    Notice: 12, 24 bytes {
        /// of the interface
        number: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// of the message
        length: u32, 16, 4;
    }
    /// struct netwarp_counts: what passed an interface, at the end of recording
    Counts: 8, 120 bytes {
        ifindex: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// out of the root queue
        sent: u64, 16, 8;
        sent_bytes: u64, 24, 8;
        /// came in of what had left a recorded queue
        arrived: u64, 32, 8;
        arrived_bytes: u64, 40, 8;
        /// dropped between the queue and the other end
        lost: u64, 48, 8;
        lost_bytes: u64, 56, 8;
        /// came in; as the next five count it, unsent aside:
        received: u64, 64, 8;
        /// handed to the node's own transport
        delivered: u64, 72, 8;
        /// handed to a root queue
        forwarded: u64, 80, 8;
        /// dropped by the node before either
        dropped: u64, 88, 8;
        /// at interfaces that are not recorded
        elsewhere: u64, 96, 8;
        /// for a neighbour's address, or as fragments for the others
        waiting: u64, 104, 8;
        /// the node's own that wait for a neighbour's address at this interface
        unsent: u64, 112, 8;
    }
    /// struct netwarp_ack: a sender has processed an ACK
    Ack: 4, 168 bytes {
        /// of the newest packet it acknowledged; -1: none
        rtt_us: i32, 4, 4;
        time_ns: u64, 8, 8;
        cookie: u64, 16, 8;
        tuple: Tuple<'a>, 24, 40;
        bytes_acked: u64, 64, 8;
        /// bytes/s; ~0: none
        pacing_rate: u64, 72, 8;
        /// bytes/s
        bbr_bw: u64, 80, 8;
        snd_cwnd: u32, 88, 4;
        snd_ssthresh: u32, 92, 4;
        srtt_us: u32, 96, 4;
        rttvar_us: u32, 100, 4;
        min_rtt_us: u32, 104, 4;
        in_flight: u32, 108, 4;
        lost: u32, 112, 4;
        retrans_out: u32, 116, 4;
        total_retrans: u32, 120, 4;
        delivered: u32, 124, 4;
        delivered_ce: u32, 128, 4;
        snd_wnd: u32, 132, 4;
        rcv_wnd: u32, 136, 4;
        mss: u32, 140, 4;
        bbr_pacing_gain: u16, 144, 2;
        bbr_cwnd_gain: u16, 146, 2;
        ca_state: u8, 148, 1;
        app_limited: u8, 149, 1;
        has_bbr: u8, 150, 1;
        /// cookie of the socket's namespace where everything is recorded, else 0
        netns: u64, 152, 8;
        /// for whom the program runs that made the socket
        owner: u32, 160, 4;
    }
    /// struct netwarp_capture: a captured packet: struct, then its bytes
    Capture: 5, 24 bytes {
        /// of the capture
        id: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// of the frame
        len: u32, 16, 4;
        /// of what follows
        caplen: u32, 20, 4;
    }
    /// struct netwarp_arrival: payload came to the socket it was sent to
    Arrival: 9, 80 bytes {
        /// of payload; 0: none came, some became readable
        bytes: u32, 4, 4;
        time_ns: u64, 8, 8;
        /// in the data's direction
        tuple: Tuple<'a>, 16, 40;
        /// TCP: of its first byte
        seq: u32, 56, 4;
        /// TCP: what the receiver waited for before it came
        rcv_nxt: u32, 60, 4;
        /// as of an ACK
        netns: u64, 64, 8;
        owner: u32, 72, 4;
        /// bytes that a reader can take since; of TCP seq and rcv_nxt tell it
        in_order: u32, 76, 4;
    }
    /// struct netwarp_variable: a variable that a congestion control exports (netwarp.h), before its first value
    Variable: 20, 96 bytes {
        /// from 1
        id: u32, 4, 4;
        time_ns: u64, 8, 8;
        control: &'a [u8], 16, 16;
        name: &'a [u8], 32, 64;
    }
    /// struct netwarp_state: what they were after an ACK: struct, then a signed number of eight bytes for each
    State: 21, 56 bytes {
        /// id of the first; the others follow
        first: u32, 4, 4;
        time_ns: u64, 8, 8;
        tuple: Tuple<'a>, 16, 40;
    }
}

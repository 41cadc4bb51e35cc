/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: exact records of what queues and congestion controls do.
 *
 * The records leave the machine through a file descriptor of the host that
 * User Mode Linux inherited (NETWARP_RECORD_FD), written by the kernel itself:
 * no ring that could overrun, no process of the guest that would have to wake,
 * and no virtual time spent. All integers are little endian; every record
 * begins with its type and its size in bytes.
 */
#ifndef _LINUX_NETWARP_H
#define _LINUX_NETWARP_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <uapi/linux/rtnetlink.h>

struct net;
struct net_device;
struct ns_common;
struct path;
struct Qdisc;
struct Qdisc_ops;
struct module;
struct sk_buff;
struct sock;
struct rate_sample;
struct sctp_ulpevent;
struct sk_buff_head;

void netwarp_mount_agent(void);

#define NETWARP_ENQUEUE	1	/* a packet came to a root queue, and what became of it */
#define NETWARP_DEQUEUE	2	/* a packet, or a part of an aggregate, left a root queue for the device */
#define NETWARP_FREE	3	/* a packet, or a part of an aggregate, ended in a root queue */
#define NETWARP_ACK	4	/* a sender has processed an ACK */
#define NETWARP_CAPTURE	5	/* a captured packet: struct, then its bytes */
#define NETWARP_DROP	6	/* a packet was dropped, outside of every recorded queue */
#define NETWARP_SYMBOL	7	/* the kernel function of an address in the drops that follow */
#define NETWARP_COUNTS	8	/* what passed an interface, at the end of recording */
#define NETWARP_ARRIVAL	9	/* payload came to the socket it was sent to */
#define NETWARP_NAMESPACE	10	/* a network namespace was made or named: struct, then text */
#define NETWARP_INTERFACE	11	/* an interface came, changed or went */
#define NETWARP_NOTICE	12	/* a queueing discipline or a class of one: struct, then the message of rtnetlink(7) */
#define NETWARP_VARIABLE	20	/* a variable that a congestion control exports (netwarp.h), before its first value */
#define NETWARP_STATE	21	/* what they were after an ACK: struct, then a signed number of eight bytes for each */

/*
 * Where a packet was seen last: with the interface, kept in the packet itself
 * (struct sk_buff), so that copies and segments have it as well.
 */
enum netwarp_place {
	NETWARP_LOCAL,		/* made by the node, and of no interface yet */
	NETWARP_OUTPUT,		/* on its way to the interface's root queue */
	NETWARP_QUEUED,		/* in it */
	NETWARP_SENT,		/* out of it: on the wire */
	NETWARP_RECEIVED,	/* come in by the interface */
	NETWARP_DELIVERED,	/* and handed to the node's own transport */
	NETWARP_SETTLED,	/* what became of it is known: freeing it is no drop */
};

struct netwarp_tuple {
	__u8	family;		/* 4, 6 or 0: neither */
	__u8	protocol;
	__u8	tos;		/* as the packet carries it: DSCP and ECN */
	__u8	verdict;	/* NETWARP_ENQUEUE: NET_XMIT_*, and NETWARP_STOLEN */
	__u16	sport;		/* ICMP echo: its identifier */
	__u16	dport;		/* ICMP echo: 0 */
	__u8	saddr[16];
	__u8	daddr[16];
};

/* In a verdict: an action of a filter in the queue took the packet elsewhere. */
#define NETWARP_STOLEN	0x80

/*
 * Bytes are those of the wire: the frame with its Ethernet header, and of an
 * aggregate one header for each of its segments. Queue lengths are in segments.
 */
struct netwarp_enqueue {
	__u16	type, size;
	__u32	ifindex;
	__u64	time_ns;	/* CLOCK_MONOTONIC */
	__u64	id;		/* of the packet at this queue, never used again */
	__u32	bytes;
	__u32	qlen;		/* of the root queue, afterwards */
	__u32	backlog;	/* likewise, bytes */
	__u32	segs;
	struct netwarp_tuple tuple;
};

struct netwarp_dequeue {
	__u16	type, size;
	__u32	ifindex;
	__u64	time_ns;
	__u64	id;
	__u32	qlen;
	__u32	backlog;
	__u32	tos;
	__u32	segs;
	__u32	bytes;
	__u32	pad;
};

struct netwarp_free {
	__u16	type, size;
	__u32	reason;		/* enum skb_drop_reason; SKB_CONSUMED: without a word */
	__u64	time_ns;
	__u64	id;
	__u32	segs;
	__u32	bytes;
};

struct netwarp_drop {
	__u16	type, size;
	__u32	reason;
	__u64	time_ns;
	__u64	function;	/* address, see netwarp_symbol */
	__u32	ifindex;	/* NETWARP_LOCAL: any of the node's, 0 if it has none */
	__u32	place;		/* enum netwarp_place */
	__u32	segs;
	__u32	bytes;
	struct netwarp_tuple tuple;
};

struct netwarp_symbol {
	__u16	type, size;
	__u32	pad;
	__u64	time_ns;
	__u64	function;
	char	name[64];
};

/*
 * Where everything is recorded, interfaces are known by numbers of the recorder's
 * own in place of their indices, which are those of their namespace alone, and a
 * namespace by its cookie (SO_NETNS_COOKIE of getsockopt(2)).
 */
enum netwarp_event {
	NETWARP_MADE = 1,	/* a namespace: the text is the command line of who made it */
	NETWARP_NAMED,		/* a namespace: the text is the path at which it was mounted */
	NETWARP_THERE,		/* an interface: it came to the namespace, or is as follows from now on */
	NETWARP_GONE,		/* an interface left the namespace */
	NETWARP_LAST,		/* an interface is there when recording ends */
};

struct netwarp_namespace {
	__u16	type, size;
	__u32	event;		/* enum netwarp_event */
	__u64	time_ns;
	__u64	cookie;
	__u32	pid;
	__u32	length;		/* of the text */
};

struct netwarp_interface {
	__u16	type, size;
	__u32	number;
	__u64	time_ns;
	__u64	netns;		/* cookie of its namespace */
	__u32	event;		/* enum netwarp_event */
	__u32	ifindex;
	__u32	mtu;
	__u32	peer;		/* number of a veth's other end; 0: none */
	__u32	master;		/* number of the bridge, bond or datapath that it is a port of; 0: none */
	__u32	offload;	/* whether packets may be aggregates */
	__u64	sent;		/* by its own count, in packets, aggregates counting as one or as it likes */
	__u64	received;
	char	name[16];
	char	kind[16];	/* of rtnl_link_ops: veth, bridge …; lo's is "loopback" */
};

struct netwarp_notice {
	__u16	type, size;
	__u32	number;		/* of the interface */
	__u64	time_ns;
	__u32	length;		/* of the message */
	__u32	pad;
};

/* In segments, since recording began. */
struct netwarp_counts {
	__u16	type, size;
	__u32	ifindex;
	__u64	time_ns;
	__u64	sent;		/* out of the root queue */
	__u64	sent_bytes;
	__u64	arrived;	/* came in of what had left a recorded queue */
	__u64	arrived_bytes;
	__u64	lost;		/* dropped between the queue and the other end */
	__u64	lost_bytes;
	__u64	received;	/* came in; as the next five count it, unsent aside: */
	__u64	delivered;	/* handed to the node's own transport */
	__u64	forwarded;	/* handed to a root queue */
	__u64	dropped;	/* dropped by the node before either */
	__u64	elsewhere;	/* at interfaces that are not recorded */
	__u64	waiting;	/* for a neighbour's address, or as fragments for the others */
	__u64	unsent;		/* the node's own that wait for a neighbour's address at this interface */
};

struct netwarp_ack {
	__u16	type, size;
	__s32	rtt_us;		/* of the newest packet it acknowledged; -1: none */
	__u64	time_ns;
	__u64	cookie;
	struct netwarp_tuple tuple;
	__u64	bytes_acked;
	__u64	pacing_rate;	/* bytes/s; ~0: none */
	__u64	bbr_bw;		/* bytes/s */
	__u32	snd_cwnd, snd_ssthresh;
	__u32	srtt_us, rttvar_us, min_rtt_us;
	__u32	in_flight, lost, retrans_out, total_retrans;
	__u32	delivered, delivered_ce;
	__u32	snd_wnd, rcv_wnd, mss;
	__u16	bbr_pacing_gain, bbr_cwnd_gain;
	__u8	ca_state, app_limited, has_bbr, pad;
	__u64	netns;		/* cookie of the socket's namespace where everything is recorded, else 0 */
	__u32	owner;		/* for whom the program runs that made the socket */
};

struct netwarp_capture {
	__u16	type, size;	/* the size with the bytes, padded to eight */
	__u32	id;		/* of the capture */
	__u64	time_ns;
	__u32	len;		/* of the frame */
	__u32	caplen;		/* of what follows */
};

struct netwarp_arrival {
	__u16	type, size;
	__u32	bytes;		/* of payload; 0: none came, some became readable */
	__u64	time_ns;
	struct netwarp_tuple tuple;	/* in the data's direction */
	__u32	seq;		/* TCP: of its first byte */
	__u32	rcv_nxt;	/* TCP: what the receiver waited for before it came */
	__u64	netns;		/* as of an ACK */
	__u32	owner;
	__u32	in_order;	/* bytes that a reader can take since; of TCP seq and rcv_nxt tell it */
};

struct netwarp_variable {
	__u16	type, size;
	__u32	id;		/* from 1 */
	__u64	time_ns;
	char	control[16];
	char	name[64];
};

struct netwarp_state {
	__u16	type, size;
	__u32	first;		/* id of the first; the others follow */
	__u64	time_ns;
	struct netwarp_tuple tuple;
};

/* How each piece of what a program prints begins, on the stream of NETWARP_OUTPUT_FD; the bytes follow. */
struct netwarp_output {
	__u32	stream;		/* 1: its output, 2: its errors */
	__u32	bytes;
};

/*
 * What /proc/netwarp_send takes: datagrams of one connected socket, each with
 * the instant at which it is to leave. As sendmmsg(2), but in time: a source
 * costs one system call for a thousand packets.
 */
struct netwarp_batch {
	__u32	fd;
	__u32	count;
	__u64	sequence;	/* of the first */
};

struct netwarp_departure {
	__u64	time_ns;	/* CLOCK_MONOTONIC; one that has passed is now */
	__u32	bytes;		/* of payload, at least struct netwarp_payload */
	__u32	pad;
};

/*
 * Orders to /proc/netwarp_pumps, by ioctl(2): a TCP connection whose ends both open, of
 * which one sends zeros and then a FIN, and the other takes and discards them. Reading the file
 * waits for those of which all bytes have come. Instants are of CLOCK_MONOTONIC.
 */
#define NETWARP_PUMP_BEGIN	_IOW('w', 1, struct netwarp_pump)
#define NETWARP_PUMP_STOP	_IO('w', 2)	/* the id: ends sending, as shutdown(2) */
#define NETWARP_PUMP_ASK	_IOW('w', 3, struct netwarp_question)

struct netwarp_end {
	__s32	net;		/* a descriptor of its network namespace; -1: it is elsewhere */
	__u32	bytes;		/* of the address */
	__u8	address[32];	/* struct sockaddr_in or sockaddr_in6 */
};

struct netwarp_option {
	__s32	level, name, value;
};

struct netwarp_pump {
	__u32	id;		/* by which its owner names it */
	__u32	options;	/* of all its sockets */
	__u64	bytes;		/* to send; ~0: without end */
	__u64	connect_at_ns;
	__u64	start_at_ns;	/* of sending */
	struct netwarp_end from, to;
	char	congestion[16];	/* TCP_CONGESTION */
};				/* and then its options, struct netwarp_option */

struct netwarp_question {
	__u32	id;		/* the first of those that are asked about */
	__u32	room;		/* for answers */
	__u64	answers;	/* where they go: an array of struct netwarp_pumped */
};

struct netwarp_pumped {
	__u32	id;
	__s32	error;		/* a negative errno(3) that ended the sender, or 0; none after it was stopped */
	__s32	refused;	/* one that ended the receiver before it took anything, or 0 */
	__u32	info_bytes;	/* of the sender's struct tcp_info; 0: it is elsewhere */
	__u64	connected_ns;	/* 0: not yet */
	__u64	done_ns;	/* when the receiver was done; 0: not yet */
	__u64	taken;		/* bytes that the receiver took */
	__u64	received;	/* of its struct tcp_info */
	__u8	info[504];
};

struct netwarp_complete {
	__u64	id;
	__u64	done_ns;
};

/* How each datagram begins; the rest is zeros. */
struct netwarp_payload {
	__u64	sequence;
	__u64	time_ns;	/* when it was sent */
};

#ifdef CONFIG_NETWARP_RECORD
extern bool netwarp_recording;
extern bool netwarp_arrivals;
extern bool netwarp_everything;
extern __u64 netwarp_rate;

void __netwarp_packet(struct sk_buff *skb, struct netwarp_enqueue *e);
void __netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict,
			struct sk_buff *to_free);
void __netwarp_bypassed(struct sk_buff *skb, const struct Qdisc *q);
void __netwarp_segmented(struct sk_buff *skb);
void __netwarp_output(struct sk_buff *skb);
void __netwarp_received(struct sk_buff *skb);
void __netwarp_delivered(struct sk_buff *skb);
void __netwarp_fragmented(struct sk_buff *skb);
void __netwarp_settled(struct sk_buff *skb);
void __netwarp_parts(const struct sk_buff *whole);
void __netwarp_acked(struct sock *sk, const struct rate_sample *rs);
void __netwarp_tcp_arrived(const struct sock *sk, const struct sk_buff *skb);
void __netwarp_sctp_arrived(const struct sock *sk, const struct sctp_ulpevent *event);
void __netwarp_sctp_in_order(const struct sock *sk, const struct sk_buff_head *events);
void __netwarp_waits(struct sk_buff *skb, const struct net_device *dev);
void netwarp_found_exports(struct module *mod, void *exports, unsigned int bytes);
void __netwarp_udp_arrived(const struct sock *sk, const struct sk_buff *skb);
void __netwarp_mounted(struct ns_common *ns, const struct path *path);
void __netwarp_notified(struct net *net, const struct sk_buff *skb);
const struct Qdisc_ops *__netwarp_line(const struct net_device *dev);
#endif

/* Before the queue has the packet: afterwards it may be another's. */
static inline void netwarp_packet(struct sk_buff *skb, struct netwarp_enqueue *e)
{
#ifdef CONFIG_NETWARP_RECORD
	e->type = 0;
	if (unlikely(netwarp_recording))
		__netwarp_packet(skb, e);
#endif
}

/* With what the queue will have freed for it, linked by skb->next. */
static inline void netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict,
				    struct sk_buff *to_free)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(e->type))
		__netwarp_enqueued(e, q, verdict, to_free);
#endif
}

/* A work-conserving queue that is empty is passed by. */
static inline void netwarp_bypassed(struct sk_buff *skb, const struct Qdisc *q)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_bypassed(skb, q);
#endif
}

#ifdef CONFIG_NETWARP_RECORD
#define NETWARP_SKB_HOOK(name)					\
static inline void netwarp_##name(struct sk_buff *skb)		\
{								\
	if (unlikely(netwarp_recording))			\
		__netwarp_##name(skb);				\
}
#else
#define NETWARP_SKB_HOOK(name)					\
static inline void netwarp_##name(struct sk_buff *skb) { }
#endif

NETWARP_SKB_HOOK(segmented)	/* about to be: tbf, cake, netem and taprio do it on arrival */
NETWARP_SKB_HOOK(output)	/* handed to an interface */
NETWARP_SKB_HOOK(received)	/* come in by an interface */
NETWARP_SKB_HOOK(delivered)	/* for the node itself */
NETWARP_SKB_HOOK(fragmented)	/* about to be, by a router */
NETWARP_SKB_HOOK(settled)	/* wherever it is freed, no packet was dropped */

/* About to be freed, and with it what is in its frag_list. */
static inline void netwarp_parts(const struct sk_buff *whole)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_parts(whole);
#endif
}

/* About to wait for the address of a neighbour behind an interface or, without one, for more fragments. */
static inline void netwarp_waits(struct sk_buff *skb, const struct net_device *dev)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_waits(skb, dev);
#endif
}

static inline void netwarp_acked(struct sock *sk, const struct rate_sample *rs)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_acked(sk, rs);
#endif
}

static inline void netwarp_tcp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_tcp_arrived(sk, skb);
#endif
}

static inline void netwarp_sctp_arrived(const struct sock *sk, const struct sctp_ulpevent *event)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_sctp_arrived(sk, event);
#endif
}

/* Messages, or parts of them, are about to be put where a reader finds them. */
static inline void netwarp_sctp_in_order(const struct sock *sk, const struct sk_buff_head *events)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_sctp_in_order(sk, events);
#endif
}

static inline void netwarp_udp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_udp_arrived(sk, skb);
#endif
}

/* An interface without a queue is about to send, where all interfaces are recorded. */
static inline void netwarp_unqueued(struct sk_buff *skb, const struct Qdisc *q)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_everything))
		__netwarp_bypassed(skb, q);
#endif
}

/* A file of a namespace was mounted: ip-netns(8) gives a name so. */
static inline void netwarp_mounted(struct ns_common *ns, const struct path *path)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_everything))
		__netwarp_mounted(ns, path);
#endif
}

/* Whether messages of a group of rtnetlink(7) are built though nobody listens. */
static inline bool netwarp_wants(unsigned int group)
{
#ifdef CONFIG_NETWARP_RECORD
	return netwarp_everything && group == RTNLGRP_TC;
#else
	return false;
#endif
}

static inline void netwarp_notified(struct net *net, const struct sk_buff *skb, unsigned int group)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_wants(group)))
		__netwarp_notified(net, skb);
#endif
}

/* The queue of an interface that would have none: of a link whose rate is that of the machine's links (sch_line.c). */
static inline const struct Qdisc_ops *netwarp_line(const struct net_device *dev)
{
#ifdef CONFIG_NETWARP_RECORD
	return unlikely(netwarp_rate) ? __netwarp_line(dev) : NULL;
#else
	return NULL;
#endif
}

#endif

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

#include <linux/types.h>

struct Qdisc;
struct sk_buff;
struct sock;
struct rate_sample;

#define NETWARP_ENQUEUE	1	/* a packet came to a root queue, and what became of it */
#define NETWARP_DEQUEUE	2	/* a packet left a root queue for the device */
#define NETWARP_FREE	3	/* a packet was dropped, anywhere */
#define NETWARP_ACK	4	/* a sender has processed an ACK */
#define NETWARP_CAPTURE	5	/* a captured packet: struct, then its bytes */
#define NETWARP_ARRIVAL	6	/* payload came to the socket it was sent to */

struct netwarp_tuple {
	__u8	family;		/* 4, 6 or 0: neither */
	__u8	protocol;
	__u8	tos;		/* as the packet carries it: DSCP and ECN */
	__u8	verdict;	/* NETWARP_ENQUEUE: NET_XMIT_* */
	__u16	sport;		/* ICMP echo: its identifier */
	__u16	dport;		/* ICMP echo: 0 */
	__u8	saddr[16];
	__u8	daddr[16];
};

struct netwarp_enqueue {
	__u16	type, size;
	__u32	ifindex;
	__u64	time_ns;	/* CLOCK_MONOTONIC */
	__u64	skb;		/* identity while it lives */
	__u32	bytes;		/* frame, Ethernet header included */
	__u32	qlen;		/* of the root queue, afterwards */
	__u32	backlog;	/* likewise, bytes */
	__u32	pad;
	struct netwarp_tuple tuple;
};

struct netwarp_dequeue {
	__u16	type, size;
	__u32	ifindex;
	__u64	time_ns;
	__u64	skb;
	__u32	qlen;
	__u32	backlog;
	__u32	tos;
	__u32	pad;
};

struct netwarp_free {
	__u16	type, size;
	__u32	reason;		/* enum skb_drop_reason */
	__u64	time_ns;
	__u64	skb;
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
	__u32	bytes;		/* of payload */
	__u64	time_ns;
	struct netwarp_tuple tuple;	/* in the data's direction */
	__u32	seq;		/* TCP: of its first byte */
	__u32	rcv_nxt;	/* TCP: what the receiver waited for before it came */
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

/* How each datagram begins; the rest is zeros. */
struct netwarp_payload {
	__u64	sequence;
	__u64	time_ns;	/* when it was sent */
};

#ifdef CONFIG_NETWARP_RECORD
extern bool netwarp_recording;
extern bool netwarp_arrivals;

void __netwarp_packet(const struct sk_buff *skb, struct netwarp_enqueue *e);
void __netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict);
void __netwarp_bypassed(const struct sk_buff *skb, const struct Qdisc *q);
void __netwarp_acked(struct sock *sk, const struct rate_sample *rs);
void __netwarp_tcp_arrived(const struct sock *sk, const struct sk_buff *skb);
void __netwarp_udp_arrived(const struct sk_buff *skb);
#endif

/* Before the queue has the packet: afterwards it may be another's. */
static inline void netwarp_packet(const struct sk_buff *skb, struct netwarp_enqueue *e)
{
#ifdef CONFIG_NETWARP_RECORD
	e->type = 0;
	if (unlikely(netwarp_recording))
		__netwarp_packet(skb, e);
#endif
}

static inline void netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(e->type))
		__netwarp_enqueued(e, q, verdict);
#endif
}

/* A work-conserving queue that is empty is passed by. */
static inline void netwarp_bypassed(const struct sk_buff *skb, const struct Qdisc *q)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_bypassed(skb, q);
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

static inline void netwarp_udp_arrived(const struct sk_buff *skb)
{
#ifdef CONFIG_NETWARP_RECORD
	if (unlikely(netwarp_recording))
		__netwarp_udp_arrived(skb);
#endif
}

#endif

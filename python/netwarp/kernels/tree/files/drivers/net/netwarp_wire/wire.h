/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: a wire as a device; see device.c. */
#ifndef _NETWARP_WIRE_H
#define _NETWARP_WIRE_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/netlink.h>

#define WIRE_STATES	4		/* of losses */
#define WIRE_CERTAIN	(1ULL << 32)	/* the probability 1 */
#define WIRE_HERE	(~0U)
#define WIRE_TABLE_ONE	8192		/* one jitter, in a table of its distribution, as netem's */

/* Attributes of a device, within IFLA_INFO_DATA. */
enum {
	IFLA_WIRE_UNSPEC,
	IFLA_WIRE_CABLE,	/* u32: two devices with the same one are joined */
	IFLA_WIRE_RING,		/* u32: descriptors; with more than one, byte queue limits hold */
	IFLA_WIRE_RATE,		/* u64: bit/s */
	IFLA_WIRE_DELAY,	/* u64: ns */
	IFLA_WIRE_SEED,		/* u64 */
	IFLA_WIRE_CHAIN,	/* struct wire_chain: random losses */
	IFLA_WIRE_MARK,		/* u8: packets that ECN can mark are marked instead */
	IFLA_WIRE_COPY,		/* u64: probability of a second delivery, as all of them in 2^-32 */
	IFLA_WIRE_FLIP,		/* u64: of a bit that changes */
	IFLA_WIRE_SKIP,		/* u64: of no delay */
	IFLA_WIRE_JITTER,	/* u64: ns */
	IFLA_WIRE_TABLE,	/* s16 quantiles of the jitter, in 1/8192 of it; empty: uniform */
	IFLA_WIRE_LOSE_PLAN,	/* nested: which packets are lost */
	IFLA_WIRE_COPY_PLAN,	/* nested */
	IFLA_WIRE_SKIP_PLAN,	/* nested */
	IFLA_WIRE_TRACE,	/* struct wire_trace_parms: opportunities in place of a rate */
	IFLA_WIRE_OPPORTUNITIES, /* struct wire_opportunity: the next ones of the trace */
	IFLA_WIRE_PART,		/* u32: the part of the network where the other end is, if the ends are in different ones */
	__IFLA_WIRE_MAX,
};

#define IFLA_WIRE_MAX (__IFLA_WIRE_MAX - 1)

/* Of a plan. */
enum {
	WIRE_PLAN_UNSPEC,
	WIRE_PLAN_EVERY,	/* u32: n, of every nth packet */
	WIRE_PLAN_NUMBERS,	/* u64 numbers, the first packet is 1; ascending */
	WIRE_PLAN_FROM,		/* u64: CLOCK_MONOTONIC at which a packet begins to leave */
	WIRE_PLAN_UNTIL,	/* u64: the first instant after the interval */
	WIRE_PLAN_KIND,		/* u8: enum wire_kind */
	WIRE_PLAN_FLOWS,	/* struct wire_flow: only the packets of these, both ways */
	__WIRE_PLAN_MAX,
};

#define WIRE_PLAN_MAX (__WIRE_PLAN_MAX - 1)

enum wire_kind {
	WIRE_ANY,
	WIRE_DATA,	/* not a TCP segment, or one with payload */
	WIRE_ACK,	/* a TCP segment without payload, SYN, FIN and RST */
};

struct wire_flow {
	__u8	source[16];	/* an IPv4 address in the first four */
	__u8	destination[16];
	__u16	source_port;	/* 0: any */
	__u16	destination_port;
	__u8	protocol;
	__u8	family;		/* 4 or 6 */
	__u8	pad[2];
};

/*
 * Losses as a Markov chain: each packet moves it one step, and is lost with the
 * probability of the state that it has come to. The first state is 0.
 */
struct wire_chain {
	__u64	below[WIRE_STATES][WIRE_STATES - 1];	/* a draw below it leads to this state or an earlier one */
	__u64	loses[WIRE_STATES];
};

struct wire_trace_parms {
	__u64	start_ns;	/* CLOCK_MONOTONIC: time 0 of the trace; earlier, everything passes */
	__u64	period_ms;	/* when it begins again */
	__u32	bytes;		/* of one opportunity */
	__s32	overhead;	/* bytes that a packet counts beyond its frame */
	__u32	entries;	/* of the whole trace */
	__u32	pad;
};

/* So many opportunities at this time of the trace; times never fall. */
struct wire_opportunity {
	__u32	at_ms;
	__u32	count;
};

/* Of the direction that leaves a device, in IFLA_INFO_XSTATS. */
struct wire_xstats {
	__u64	taken_frames;
	__u64	taken_bytes;
	__u64	delivered_frames;
	__u64	delivered_bytes;
	__u64	lost_frames;
	__u64	lost_bytes;
	__u64	copied_frames;
	__u64	copied_bytes;
};

struct wire_plan {
	u32			every;		/* 0: none */
	u32			number;		/* of `numbers` */
	u32			next;		/* the first of them that is still to come */
	u32			flow_number;	/* of `flows` */
	u64			*numbers;
	struct wire_flow	*flows;
	u64			from_ns;
	u64			until_ns;
	u64			counted;	/* packets so far that it is about */
	u8			kind;
	bool			exists;
};

struct wire_trace {
	struct wire_trace_parms	parms;
	struct wire_opportunity	*entries;
	u32			known;		/* entries that are here */
	u32			next;		/* the entry whose turn it is */
	u64			base_ns;	/* when this round of the trace began */
	u64			credit;		/* bytes that may still pass at `credit_at` */
	ktime_t			credit_at;
	ktime_t			closes_at;	/* when the queue is to be stopped; KTIME_MAX: it is */
	u32			bytes_left;	/* of the frame that is leaving */
};

struct wire {
	struct net_device		*dev;
	struct net_device __rcu		*peer;
	struct list_head		others;
	u32				cable;
	u32				descriptors;
	bool				quiet;		/* under RTNL: the next NETDEV_CHANGE is of a change of the wire */

	spinlock_t			lock;		/* of all that follows */
	struct hrtimer			timer;		/* for the earliest of what is to come */
	struct sk_buff_head		ring;		/* frames that were taken; the first one is leaving */
	struct sk_buff_head		travelling;	/* in the order in which they arrive */
	u64				rate_bps;
	u64				delay_ns;
	ktime_t				begun_at;	/* when the first frame has begun to leave */
	ktime_t				free_at;	/* when its last bit leaves */
	u64				spare;		/* `free_at` is later than exact by spare / rate_bps ns */
	ktime_t				last_due;	/* of the frames that skip no delay */

	u64				seed;
	u64				counted;	/* unicast frames so far */
	struct wire_chain		chain;
	u32				state;		/* of the chain */
	bool				random;		/* whether it ever loses */
	bool				marks;
	u64				copies;
	u64				flips;
	u64				skips;
	u64				jitter_ns;
	s16				*table;
	u32				table_size;
	struct wire_plan		lose, copy, skip;
	struct wire_trace		*trace;		/* NULL: it has a rate */
	struct wire_xstats		sums;

	u32			part;		/* where its frames go; WIRE_HERE: this kernel has the nodes of both ends */
	struct list_head	stand_ins;	/* see over.c */
};

/* What becomes of a frame. */
struct wire_cb {
	ktime_t	due;		/* when it arrives */
	u64	number;		/* 0: not unicast, nothing happens to it */
	bool	lost, copied, flipped, skips;
	struct sk_buff *twin;	/* of a frame from another kernel: see over.c */
};

static inline struct wire_cb *wire_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wire_cb) > sizeof_field(struct sk_buff, cb));
	return (struct wire_cb *)skb->cb;
}

/* fate.c */
void wire_judge(struct wire *w, struct sk_buff *skb, u64 now_ns);
int wire_flip(const struct wire *w, struct sk_buff *skb);
s64 wire_delay_ns(const struct wire *w, u64 number);
bool wire_loses_all(const struct wire *w);

/* trace.c */
void wire_trace_begin(struct wire *w, const struct sk_buff *skb, ktime_t now);
void wire_trace_advance(struct wire *w, ktime_t now);
void wire_trace_open(struct wire_trace *t, ktime_t now);
bool wire_trace_is_open(const struct wire_trace *t);
ktime_t wire_trace_next(const struct wire_trace *t);
int wire_trace_create(struct wire *w, const struct nlattr *parms, struct netlink_ext_ack *extack);
int wire_trace_append(struct wire_trace *t, const struct nlattr *more, struct netlink_ext_ack *extack);
void wire_trace_free(struct wire_trace *t);

/* over.c */
bool wire_is_over(const struct wire *w);
bool wire_stands_in(const struct wire *w);
void wire_send_over(struct wire *w, struct sk_buff *skb);
void wire_join(struct wire *w, u32 part);
void wire_part(struct wire *w);
void wire_listen(bool listens);

/* device.c */
void wire_lose(struct wire *w, struct sk_buff *skb);
void wire_setup(struct net_device *dev);
void wire_prepare(struct wire *w);
void wire_set_rate(struct wire *w, u64 rate_bps, ktime_t now);
void wire_lose_leaving(struct wire *w, ktime_t now);
void wire_arm(struct wire *w);

#endif

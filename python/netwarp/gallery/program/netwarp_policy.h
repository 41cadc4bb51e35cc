/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What a congestion control outside of the kernel (cc = "program:./policy.py")
 * gets and answers. The kernel's module tcp_program.c, programs in C, and
 * netwarp.policy for programs in Python have the same two records, in the
 * byte order of x86-64.
 *
 * A program reads a state from descriptor 0 and writes one action to it, until
 * there is no more to read. Each read and each write is one whole record (the
 * descriptor is a SOCK_SEQPACKET socket). Standard output and standard error
 * are the log in the run's directory. Virtual time stands still meanwhile.
 *
 *	struct netwarp_policy_state s;
 *
 *	while (netwarp_policy_next(&s)) {
 *		struct netwarp_policy_action a = netwarp_policy_same(&s);
 *
 *		a.cwnd += s.delivered;
 *		netwarp_policy_answer(&a);
 *	}
 */
#ifndef _NETWARP_POLICY_H
#define _NETWARP_POLICY_H

#include <linux/types.h>

#define NETWARP_POLICY_MAGIC	0x3150574e	/* "NWP1" */

enum netwarp_policy_event {
	NETWARP_POLICY_START,		/* a connection has been made */
	NETWARP_POLICY_INTERVAL,	/* a monitoring interval, or one ACK, is over */
	NETWARP_POLICY_TIMEOUT,	/* the retransmission timer: all packets count as lost */
	NETWARP_POLICY_END,		/* the connection is over; its answer has no effect */
};

/* Packets are segments of up to mss bytes. "Since" is since the last record. */
struct netwarp_policy_state {
	__u32 magic;
	__u32 event;
	__u32 flow;			/* connections are numbered from 0 */
	__u32 mss;			/* bytes */
	__u32 local_port;
	__u32 remote_port;
	__s64 time_ns;			/* of the run: 0 is its start */
	__u64 interval_ns;		/* since */
	__u32 acks;			/* since */
	__u32 delivered;		/* packets acknowledged since */
	__u32 lost;			/* packets marked as lost since */
	__u32 sent;			/* packets sent since, retransmissions included */
	__u32 rtt_us;			/* the last sample, 0: none since */
	__u32 rtt_low_us;		/* the lowest sample since */
	__u32 rtt_high_us;		/* the highest sample since */
	__u32 rtt_samples;		/* since */
	/* Sums over the samples since, of the RTT r and of the time t of the sample since the last record, in microseconds */
	__u64 sum_r;
	__u64 sum_t;
	__u64 sum_tt;
	__u64 sum_tr;
	__u32 srtt_us;			/* the kernel's smoothed RTT */
	__u32 min_rtt_us;		/* the lowest of the connection so far */
	__u32 inflight;			/* packets */
	__u32 cwnd;			/* packets: what the last action set */
	__u64 pacing_rate;		/* bytes/s: what the last action set, 0: none */
	__u64 delivery_rate;		/* bytes/s, of the kernel's last rate sample, 0: none */
	__u32 ca_state;			/* 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss */
	__u32 app_limited;		/* 1: the application, not the window, limits the last rate sample */
	__u32 total_delivered;		/* packets of the connection so far, modulo 2^32 */
	__u32 total_lost;
};

struct netwarp_policy_action {
	__u32 magic;
	__u32 flow;
	__u32 cwnd;			/* packets, 1 or more */
	__u32 interval_us;		/* of the next record; 0: the module's interval_us, or else the smoothed RTT */
	__u64 pacing_rate;		/* bytes/s; 0: packets are not paced */
};

#ifndef __KERNEL__
#include <stdlib.h>
#include <unistd.h>

/* Reads the next state. 0: the run is over. */
static inline int netwarp_policy_next(struct netwarp_policy_state *state)
{
	ssize_t got = read(0, state, sizeof(*state));

	if (got == 0)
		return 0;
	if (got != sizeof(*state) || state->magic != NETWARP_POLICY_MAGIC)
		exit(1);
	return 1;
}

/* The action that changes nothing. */
static inline struct netwarp_policy_action netwarp_policy_same(const struct netwarp_policy_state *state)
{
	struct netwarp_policy_action same = {
		.magic = NETWARP_POLICY_MAGIC,
		.flow = state->flow,
		.cwnd = state->cwnd,
		.pacing_rate = state->pacing_rate,
	};

	return same;
}

static inline void netwarp_policy_answer(const struct netwarp_policy_action *action)
{
	if (write(0, action, sizeof(*action)) != sizeof(*action))
		exit(1);
}

/* The slope of the RTT over time in the interval (seconds per second), by least squares; 0: fewer than two samples. */
static inline double netwarp_policy_rtt_gradient(const struct netwarp_policy_state *state)
{
	double n = state->rtt_samples, t = state->sum_t;
	double below = n * state->sum_tt - t * t;

	return below > 0 ? (n * state->sum_tr - t * state->sum_r) / below : 0;
}
#endif

#endif

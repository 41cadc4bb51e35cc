/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: connections (netwarp_pump.c), what their ends do (netwarp_feed.c, netwarp_drain.c), and the file that
 * orders them (netwarp_pumps.c).
 */
#ifndef _NETWARP_PUMP_H
#define _NETWARP_PUMP_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mm_types_task.h>
#include <linux/net.h>
#include <linux/netwarp.h>
#include <linux/wait.h>
#include "netwarp_turns.h"

struct pumps;

/* As much as the agent's threads send and take with a call where there are no pumps (traffic/tcp.rs). */
#define MESSAGE_BYTES	(4U << 20)
#define TAKEN_BYTES	(1U << 30)

/* The end that sends. */
struct feed {
	struct socket *sock;
	struct turn turn;
	void (*next)(struct feed *f);	/* what its next turn is */
	struct hrtimer timer;		/* wakes it at an instant */
	wait_queue_entry_t event;	/* wakes it when something happened to its socket */
	bool awaits;			/* such an event */
	bool shares;			/* sends the zeros of all */
	struct page_frag frag;		/* as the task_frag of a thread that sends */
	u64 left;			/* bytes to send */
	u32 message;			/* of which this many are left of a message that was suspended */
	int resumes;			/* the flags of the call that goes on with it; 0: nothing was suspended */
};

/* The end that receives. */
struct drain {
	struct socket *listener;	/* until the peer has connected */
	struct socket *receiver;	/* from then on */
	struct socket *awaited;		/* the listener, the receiver, or none */
	struct turn turn;
	wait_queue_entry_t event;	/* with those who wait for it */
};

/* A connection, or that end of it which is in this machine. */
struct pump {
	struct pumps *of;
	struct netwarp_pump *order;
	struct netwarp_pumped state;
	bool stopped;
	struct feed feed;
	struct drain drain;
	struct list_head complete;	/* with those of its file of which no reader was told */
};

/* Opens the sockets of an order, and has what it says done. If it fails, nothing is open. */
int netwarp_pump_start(struct pump *p);
int netwarp_pump_set_options(struct socket *sock, const struct netwarp_pump *order);
/* Called once all bytes have come. */
void netwarp_pump_complete(struct pump *p);

/* Has a socket do what the order says. */
int netwarp_feed_start(struct pump *p, struct socket *sock);
int netwarp_drain_start(struct pump *p, struct socket *sock);
void netwarp_drain_close(struct drain *d);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: what connections (netwarp_pump.c) and the file that orders them (netwarp_pumps.c) share. */
#ifndef _NETWARP_PUMP_H
#define _NETWARP_PUMP_H

#include <linux/list.h>
#include <linux/net.h>
#include <linux/netwarp.h>
#include <linux/wait.h>

struct pumps;

/* A connection, or that end of it which is in this machine. */
struct pump {
	struct pumps *of;
	struct netwarp_pump *order;
	struct netwarp_pumped state;
	bool stopped;
	struct socket *sender;
	struct socket *listener;	/* until the peer's stream has ended */
	struct socket *receiver;	/* once the peer has connected */
	struct socket *awaited;		/* the listener, the receiver, or none */
	wait_queue_entry_t event;	/* with those who wait for it */
	struct list_head ready;		/* with all that may have something to take */
	struct list_head complete;	/* with those of its file of which no reader was told */
};

/* Opens the sockets of an order, and has what it says done. If it fails, nothing is open. */
int netwarp_pump_start(struct pump *p);
/* Called once all bytes have come. */
void netwarp_pump_complete(struct pump *p);

#endif

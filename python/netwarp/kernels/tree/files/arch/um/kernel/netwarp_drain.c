// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the end of a connection that takes what comes, and discards it (netwarp_pump.c).
 *
 * It takes what its socket has whenever a thread that slept in recvmsg() would be woken. TCP
 * does the same for either: it looks at its window when the queue is empty, before it would
 * sleep (tcp_recvmsg_locked()).
 */
#include <linux/net.h>
#include <linux/uio.h>
#include <net/sock.h>
#include "netwarp_pump.h"

#define BACKLOG		8

static int on_event(wait_queue_entry_t *event, unsigned int mode, int sync, void *key)
{
	netwarp_turn_wake(&container_of(event, struct drain, event)->turn);
	return 1;
}

static void await(struct drain *d, struct socket *sock)
{
	d->awaited = sock;
	init_waitqueue_func_entry(&d->event, on_event);
	add_wait_queue(sk_sleep(sock->sk), &d->event);
}

/* Forgets what has come since its turn began, too. */
static void await_nothing(struct drain *d)
{
	if (!d->awaited)
		return;
	remove_wait_queue(sk_sleep(d->awaited->sk), &d->event);
	d->awaited = NULL;
	netwarp_turn_forget(&d->turn);
}

void netwarp_drain_close(struct drain *d)
{
	await_nothing(d);
	if (d->listener)
		sock_release(d->listener);
	d->listener = NULL;
}

static void end(struct pump *p)
{
	netwarp_drain_close(&p->drain);
	p->state.done_ns = ktime_get_ns();
	if (p->state.taken == p->order->bytes)
		netwarp_pump_complete(p);
}

static bool accept_peer(struct pump *p)
{
	struct drain *d = &p->drain;
	int err = kernel_accept(d->listener, &d->receiver, O_NONBLOCK);

	if (err == -EAGAIN)
		return false;
	/* Nobody else connects to it, and it takes 3 kB. */
	netwarp_drain_close(d);
	/* A connection does not inherit all options (sk_clone_lock(): SO_PRIORITY). */
	err = err ?: netwarp_pump_set_options(d->receiver, p->order);
	if (err) {
		p->state.refused = err;
		return false;
	}
	await(d, d->receiver);
	return true;
}

/*
 * What has come is discarded: tcp(7), MSG_TRUNC. A thread's call ends after TAKEN_BYTES,
 * within a buffer, at which TCP looks at its window; so does one here.
 */
static int take_some(struct pump *p)
{
	u64 of_call = TAKEN_BYTES - (p->state.taken & (TAKEN_BYTES - 1));
	struct kvec nowhere = { .iov_len = min(p->order->bytes - p->state.taken, of_call) };
	struct msghdr msg = { };

	return kernel_recvmsg(p->drain.receiver, &msg, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_DONTWAIT);
}

static bool has_more(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) || sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN ||
	       sk->sk_state == TCP_CLOSE;
}

static void take(struct turn *turn)
{
	struct pump *p = container_of(turn, struct pump, drain.turn);
	int taken = 1;

	if (!p->drain.awaited || (!p->drain.receiver && !accept_peer(p)))
		return;
	while (p->state.taken < p->order->bytes && taken > 0 && has_more(p->drain.receiver->sk)) {
		taken = take_some(p);
		if (taken > 0)
			p->state.taken += taken;
	}
	/* A stream that ends early is the sender's error, if any. */
	if (p->state.taken == p->order->bytes || (taken <= 0 && taken != -EAGAIN))
		end(p);
}

int netwarp_drain_start(struct pump *p, struct socket *sock)
{
	int err = kernel_listen(sock, BACKLOG);

	if (err)
		return err;
	netwarp_turn_init(&p->drain.turn, take);
	p->drain.listener = sock;
	await(&p->drain, sock);
	return 0;
}

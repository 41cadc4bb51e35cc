// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: TCP connections that no program touches (linux/netwarp.h).
 *
 * Their ends do what a thread of a program would do at each, with the same effect on TCP, but
 * have no memory of a program: neither a stack of its own there, nor pages that the host maps, nor
 * a process on the host that each system call has to enter and leave. Nor have they threads
 * (netwarp_turns.h).
 *
 * Connections last as long as the machine: closing one would send a FIN. Their sockets belong to
 * no program, and have no file: filters by owner (xt_owner) do not find one.
 */
#include <linux/err.h>
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "netwarp_pump.h"

static int set_option(struct socket *sock, const struct netwarp_option *option)
{
	int number = option->value;
	sockptr_t value = KERNEL_SOCKPTR(&number);

	if (option->level == SOL_SOCKET)
		return sock_setsockopt(sock, SOL_SOCKET, option->name, value, sizeof(number));
	return sock->ops->setsockopt(sock, option->level, option->name, value, sizeof(number));
}

int netwarp_pump_set_options(struct socket *sock, const struct netwarp_pump *order)
{
	const struct netwarp_option *option = (const void *)(order + 1);
	int err = 0;

	for (u32 i = 0; i < order->options && !err; i++)
		err = set_option(sock, &option[i]);
	return err;
}

static struct socket *open_end(const struct netwarp_pump *order, const struct netwarp_end *end)
{
	struct net *net = get_net_ns_by_fd(end->net);
	struct socket *sock;
	int err;

	if (IS_ERR(net))
		return ERR_CAST(net);
	err = __sock_create(net, ((struct sockaddr *)end->address)->sa_family, SOCK_STREAM, IPPROTO_TCP, &sock, 0);
	put_net(net);
	if (err)
		return ERR_PTR(err);
	sock_set_reuseaddr(sock->sk);
	err = kernel_bind(sock, (void *)end->address, end->bytes);
	if (!err)
		err = sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR((void *)order->congestion),
					    strnlen(order->congestion, sizeof(order->congestion)));
	err = err ?: netwarp_pump_set_options(sock, order);
	if (!err)
		return sock;
	sock_release(sock);
	return ERR_PTR(err);
}

static int open_and(int (*start)(struct pump *p, struct socket *sock), struct pump *p, const struct netwarp_end *end)
{
	struct socket *sock = open_end(p->order, end);
	int err;

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = start(p, sock);
	if (err)
		sock_release(sock);
	return err;
}

/* What sends starts last, and then nothing fails any more. */
int netwarp_pump_start(struct pump *p)
{
	int err = netwarp_turns_prepare(2);

	if (!err && p->order->to.net >= 0)
		err = open_and(netwarp_drain_start, p, &p->order->to);
	if (!err && p->order->from.net >= 0)
		err = open_and(netwarp_feed_start, p, &p->order->from);
	if (err)
		netwarp_drain_close(&p->drain);
	return err;
}

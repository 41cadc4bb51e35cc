// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: TCP connections that no program touches (linux/netwarp.h).
 *
 * What sends is a thread of the kernel that sleeps until its instants, in connect() and in
 * sendmsg(), as a thread of a program would, and is woken at the same instants. But it has no
 * memory of a program: neither a stack of its own there, nor pages that the host maps, nor
 * a process on the host that each system call has to enter and leave.
 *
 * All that receive share one thread, which takes what a socket has whenever a thread that slept
 * in recvmsg() of it would be woken. TCP does the same for either: it looks at its window
 * when the queue is empty, before it would sleep (tcp_recvmsg_locked()). sendmsg() is not
 * like that: a call that would sleep pushes otherwise than one that does.
 *
 * Connections last as long as the machine: closing one would send a FIN. Their sockets belong to
 * no program, and have no file: filters by owner (xt_owner) do not find one.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/netwarp_zeros.h>
#include <linux/sched.h>
#include <linux/sockptr.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "netwarp_pump.h"

/* As much as the agent's threads send and take with a call where there are no pumps (traffic/tcp.rs). */
#define MESSAGE_BYTES	(4U << 20)
#define TAKEN_BYTES	(1U << 30)

/* As large as the pages that TCP would take (skb_page_frag_refill()). */
#define ZEROS_BYTES	32768

#define BACKLOG		8

/* What is sent: zeros that all share, or one page, many times over. */
struct page *netwarp_zeros;
static struct kvec zeros[MESSAGE_BYTES / PAGE_SIZE];

/* As clock_nanosleep() of the agent's threads does, which have the least slack that is possible (exact_timers()). */
#define SLACK_NS	1

static void sleep_until(u64 at_ns)
{
	ktime_t at = ns_to_ktime(at_ns);

	set_current_state(TASK_IDLE);
	schedule_hrtimeout_range(&at, SLACK_NS, HRTIMER_MODE_ABS);
}

/*
 * The pages into which TCP would copy a message are those of all zeros, and the message is
 * nowhere: so nothing is copied, and what waits to be sent takes no memory of the host.
 *
 * Not where the user limits the buffer: once all that was sent is acknowledged, a task begins
 * at the start of its page again (skb_page_frag_refill()), and where pages end decides which
 * buffers the receiver can join (skb_try_coalesce()). Nor with data in a SYN, which 6.1 copies
 * from the message (tcp_send_syn_data()).
 */
static bool shares_zeros(const struct sock *sk)
{
	return !(sk->sk_userlocks & SOCK_SNDBUF_LOCK) && !tcp_sk(sk)->fastopen_connect;
}

static int send_some(struct socket *sock, size_t bytes, bool shares)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

	if (!shares)
		return kernel_sendmsg(sock, &msg, zeros, ARRAY_SIZE(zeros), bytes);
	msg.msg_iter = (struct iov_iter){ .iter_type = ITER_DISCARD, .data_source = true, .count = bytes };
	return sock_sendmsg(sock, &msg);
}

static int send_all(struct socket *sock, u64 left, bool shares)
{
	int sent = 1;

	if (shares) {
		get_page(netwarp_zeros);
		current->task_frag = (struct page_frag){ .page = netwarp_zeros, .size = ZEROS_BYTES };
	}
	while (left && sent > 0) {
		sent = send_some(sock, min_t(u64, left, MESSAGE_BYTES), shares);
		if (sent > 0)
			left -= sent;
	}
	return left ? sent : kernel_sock_shutdown(sock, SHUT_WR);
}

static int feed(void *data)
{
	struct pump *p = data;
	bool shares = shares_zeros(p->sender->sk);
	int err;

	sleep_until(p->order->connect_at_ns);
	err = kernel_connect(p->sender, (void *)p->order->to.address, p->order->to.bytes, 0);
	if (!err) {
		p->state.connected_ns = ktime_get_ns();
		sleep_until(p->order->start_at_ns);
		err = send_all(p->sender, p->order->bytes, shares);
	}
	/* Its owner may have ended it, on which a socket that is connecting is reset. */
	if (err && !p->stopped)
		p->state.error = err;
	return 0;
}

/* Those that receive, whose sockets may have something, in the order in which it came. */
static LIST_HEAD(ready_pumps);
static DEFINE_SPINLOCK(ready_lock);
static struct task_struct *drainer;

static int on_event(wait_queue_entry_t *event, unsigned int mode, int sync, void *key)
{
	struct pump *p = container_of(event, struct pump, event);
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	if (list_empty(&p->ready))
		list_add_tail(&p->ready, &ready_pumps);
	spin_unlock_irqrestore(&ready_lock, flags);
	return wake_up_process(drainer);
}

static void await(struct pump *p, struct socket *sock)
{
	p->awaited = sock;
	init_waitqueue_func_entry(&p->event, on_event);
	add_wait_queue(sk_sleep(sock->sk), &p->event);
}

/* Forgets what has come since the drainer took it, too. */
static void await_nothing(struct pump *p)
{
	if (!p->awaited)
		return;
	remove_wait_queue(sk_sleep(p->awaited->sk), &p->event);
	p->awaited = NULL;
	spin_lock_irq(&ready_lock);
	list_del_init(&p->ready);
	spin_unlock_irq(&ready_lock);
}

static struct pump *next_ready(void)
{
	struct pump *p;

	spin_lock_irq(&ready_lock);
	p = list_first_entry_or_null(&ready_pumps, struct pump, ready);
	if (p)
		list_del_init(&p->ready);
	spin_unlock_irq(&ready_lock);
	return p;
}

static int set_option(struct socket *sock, const struct netwarp_option *option)
{
	int number = option->value;
	sockptr_t value = KERNEL_SOCKPTR(&number);

	if (option->level == SOL_SOCKET)
		return sock_setsockopt(sock, SOL_SOCKET, option->name, value, sizeof(number));
	return sock->ops->setsockopt(sock, option->level, option->name, value, sizeof(number));
}

static int set_options(struct socket *sock, const struct netwarp_pump *order)
{
	const struct netwarp_option *option = (const void *)(order + 1);
	int err = 0;

	for (u32 i = 0; i < order->options && !err; i++)
		err = set_option(sock, &option[i]);
	return err;
}

static void close_listener(struct pump *p)
{
	await_nothing(p);
	if (p->listener)
		sock_release(p->listener);
	p->listener = NULL;
}

static void end_receiving(struct pump *p)
{
	close_listener(p);
	p->state.done_ns = ktime_get_ns();
	if (p->state.taken == p->order->bytes)
		netwarp_pump_complete(p);
}

/* A connection does not inherit all options of its listener (sk_clone_lock(): SO_PRIORITY). */
static bool accept_peer(struct pump *p)
{
	int err = kernel_accept(p->listener, &p->receiver, O_NONBLOCK);

	if (err == -EAGAIN)
		return false;
	await_nothing(p);
	err = err ?: set_options(p->receiver, p->order);
	if (err) {
		p->state.refused = err;
		close_listener(p);
		return false;
	}
	await(p, p->receiver);
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

	return kernel_recvmsg(p->receiver, &msg, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_DONTWAIT);
}

static bool has_more(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) || sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN ||
	       sk->sk_state == TCP_CLOSE;
}

static void drain(struct pump *p)
{
	int taken = 1;

	if (!p->awaited || (!p->receiver && !accept_peer(p)))
		return;
	while (p->state.taken < p->order->bytes && taken > 0 && has_more(p->receiver->sk)) {
		taken = take_some(p);
		if (taken > 0)
			p->state.taken += taken;
	}
	/* A stream that ends early is the sender's error, if any. */
	if (p->state.taken == p->order->bytes || (taken <= 0 && taken != -EAGAIN))
		end_receiving(p);
}

static int drain_all(void *unused)
{
	struct pump *p;

	for (;;) {
		set_current_state(TASK_IDLE);
		p = next_ready();
		if (!p) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		drain(p);
	}
	return 0;
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
	err = err ?: set_options(sock, order);
	if (!err)
		return sock;
	sock_release(sock);
	return ERR_PTR(err);
}

static int listen_for(struct pump *p)
{
	struct socket *sock = open_end(p->order, &p->order->to);
	int err;

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = kernel_listen(sock, BACKLOG);
	if (err) {
		sock_release(sock);
		return err;
	}
	p->listener = sock;
	await(p, sock);
	return 0;
}

static int start_feed(struct pump *p)
{
	struct socket *sock = open_end(p->order, &p->order->from);

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	p->sender = sock;
	return PTR_ERR_OR_ZERO(kthread_run(feed, p, "feed"));
}

/* Once: the zeros, and the thread that drains. */
static int prepare(void)
{
	static DEFINE_MUTEX(starting);
	struct task_struct *started = NULL;

	mutex_lock(&starting);
	if (!netwarp_zeros)
		netwarp_zeros = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO, get_order(ZEROS_BYTES));
	if (!netwarp_zeros) {
		started = ERR_PTR(-ENOMEM);
	} else if (!drainer) {
		started = kthread_run(drain_all, NULL, "drains");
		if (!IS_ERR(started))
			drainer = started;
	}
	mutex_unlock(&starting);
	return PTR_ERR_OR_ZERO(started);
}

/* Its thread starts last, and then nothing fails any more. */
int netwarp_pump_start(struct pump *p)
{
	int err = prepare();

	INIT_LIST_HEAD(&p->ready);
	if (!err && p->order->to.net >= 0)
		err = listen_for(p);
	if (!err && p->order->from.net >= 0)
		err = start_feed(p);
	if (!err)
		return 0;
	close_listener(p);
	if (p->sender)
		sock_release(p->sender);
	return err;
}

static int __init netwarp_pump_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(zeros); i++)
		zeros[i] = (struct kvec) { .iov_base = empty_zero_page, .iov_len = PAGE_SIZE };
	return 0;
}
core_initcall(netwarp_pump_init);

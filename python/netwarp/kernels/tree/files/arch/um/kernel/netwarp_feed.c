// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the end of a connection that sends zeros (netwarp_pump.c).
 *
 * It does what a thread would do that sleeps until its instants, in connect() and in sendmsg(), with the same calls
 * of TCP at the same instants, but in turns (netwarp_turns.h). connect() has a form that does not sleep. sendmsg() has
 * one, too, but it is another: before it returns it pushes once more, by Nagle's rule, and the next call asks whether
 * the sender had nothing to send. So calls here are suspended, which are like those that sleep (linux/netwarp_feed.h).
 */
#include <linux/err.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/netwarp_feed.h>
#include <linux/netwarp_timer.h>
#include <linux/sched.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "netwarp_pump.h"

#define ZEROS_BYTES	32768	/* as large as the pages that TCP would take (skb_page_frag_refill()) */
#define SLACK_NS	1	/* the least that is possible, as of the agent's threads (exact_timers()) */

/* What is sent: zeros that all share, or one page, many times over. */
struct page *netwarp_zeros;
static struct kvec zeros[MESSAGE_BYTES / PAGE_SIZE];

static struct pump *pump_of(struct feed *f)
{
	return container_of(f, struct pump, feed);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	netwarp_turn_wake(&container_of(timer, struct feed, timer)->turn);
	return HRTIMER_NORESTART;
}

static void sleep_until(struct feed *f, u64 at_ns, void (*next)(struct feed *f))
{
	f->next = next;
	/*
	 * From 7.2 on no thread begins to sleep until what has passed, unless
	 * another timer is late (hrtimer_check_user_timer()).
	 */
	if (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0) && at_ns <= ktime_get_ns())
		next(f);
	else
		hrtimer_start_range_ns(&f->timer, ns_to_ktime(at_ns), SLACK_NS, HRTIMER_MODE_ABS);
}

static int on_event(wait_queue_entry_t *event, unsigned int mode, int sync, void *key)
{
	struct feed *f = container_of(event, struct feed, event);

	if (f->awaits)
		netwarp_turn_wake(&f->turn);
	f->awaits = false;
	return 1;
}

/* Whether what is awaited is there already, as wait_woken() returns at once if it was woken before. */
static bool is_there(struct feed *f, bool (*is_so)(const struct feed *f))
{
	f->awaits = true;
	if (!is_so(f))
		return false;
	f->awaits = false;
	netwarp_turn_forget(&f->turn);
	return true;
}

static void end(struct feed *f, int err)
{
	remove_wait_queue(sk_sleep(f->sock->sk), &f->event);
	if (f->frag.page)
		put_page(f->frag.page);
	f->frag.page = NULL;
	/* Its owner may have ended it, on which a socket that is connecting is reset. */
	if (err && !pump_of(f)->stopped)
		pump_of(f)->state.error = err;
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

static int send_message(struct feed *f, struct msghdr *msg)
{
	struct page_frag taker = current->task_frag;
	int sent;

	current->task_frag = f->frag;
	if (f->shares) {
		msg->msg_iter = (struct iov_iter){ .iter_type = ITER_DISCARD, .data_source = true, .count = f->message };
		sent = sock_sendmsg(f->sock, msg);
	} else {
		sent = kernel_sendmsg(f->sock, msg, zeros, ARRAY_SIZE(zeros), f->message);
	}
	f->frag = current->task_frag;
	current->task_frag = taker;
	return sent;
}

/* Sends a message, or goes on with one that was suspended. Returns a negative errno or 0. */
static int send_some(struct feed *f)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | NETWARP_SUSPENDS | f->resumes };
	int sent;

	if (!f->message)
		f->message = min_t(u64, f->left, MESSAGE_BYTES);
	sent = send_message(f, &msg);
	if (sent < 0)
		return sent;
	f->left -= sent;
	f->message -= sent;
	if (msg.msg_flags & NETWARP_SUSPENDED) {
		f->resumes |= NETWARP_RESUMES | (sent ? NETWARP_COPIED : 0);
	} else {
		/* A message that an error cut short is over, too: the next call tells of the error. */
		f->message = 0;
		f->resumes = 0;
	}
	return 0;
}

static bool has_space(const struct feed *f)
{
	const struct sock *sk = f->sock->sk;

	return sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN || sk_stream_memory_free(sk);
}

/* What sk_stream_wait_memory() waits for: it asks for a wake-up each time. */
static bool can_go_on(const struct feed *f)
{
	if (has_space(f))
		return true;
	set_bit(SOCK_NOSPACE, &f->sock->flags);
	return has_space(f);
}

static void send_all(struct feed *f)
{
	int err = 0;

	while (f->left && !err) {
		if (f->resumes && !is_there(f, can_go_on))
			return;
		err = send_some(f);
	}
	end(f, err ?: kernel_sock_shutdown(f->sock, SHUT_WR));
}

static void begin_sending(struct feed *f)
{
	if (f->shares) {
		get_page(netwarp_zeros);
		f->frag = (struct page_frag){ .page = netwarp_zeros, .size = ZEROS_BYTES };
	}
	f->next = send_all;
	send_all(f);
}

static bool is_answered(const struct feed *f)
{
	return !((1 << f->sock->sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV));
}

static int try_to_connect(struct feed *f)
{
	struct netwarp_end *to = &pump_of(f)->order->to;

	return kernel_connect(f->sock, (void *)to->address, to->bytes, O_NONBLOCK);
}

static void end_connecting(struct feed *f, int err)
{
	struct pump *p = pump_of(f);

	if (err) {
		end(f, err);
		return;
	}
	p->state.connected_ns = ktime_get_ns();
	sleep_until(f, p->order->start_at_ns, begin_sending);
}

/* As __inet_stream_connect() goes on, except that shutdown(2) meanwhile has said what became of the socket. */
static void go_on_connecting(struct feed *f)
{
	if (!is_there(f, is_answered))
		return;
	if (f->sock->state == SS_CONNECTING)
		end_connecting(f, try_to_connect(f));
	else
		end_connecting(f, f->sock->state == SS_CONNECTED ? 0 : -ECONNABORTED);
}

static void connect(struct feed *f)
{
	int err = try_to_connect(f);

	if (err != -EINPROGRESS) {
		end_connecting(f, err);
		return;
	}
	f->next = go_on_connecting;
	go_on_connecting(f);
}

static void begin(struct feed *f)
{
	sleep_until(f, pump_of(f)->order->connect_at_ns, connect);
}

static void take(struct turn *turn)
{
	struct feed *f = container_of(turn, struct feed, turn);

	f->next(f);
}

/*
 * Whether its calls may sleep, as they do for a while without memory, and with TCP_NOTSENT_LOWAT where what they
 * pushed has made space (sk_stream_wait_memory()), and before the first data with TCP_FASTOPEN_CONNECT.
 */
static bool may_sleep(const struct sock *sk)
{
	return tcp_notsent_lowat(tcp_sk(sk)) != UINT_MAX || tcp_sk(sk)->fastopen_connect;
}

int netwarp_feed_start(struct pump *p, struct socket *sock)
{
	struct feed *f = &p->feed;
	int err;

	netwarp_turn_init(&f->turn, take);
	err = may_sleep(sock->sk) ? netwarp_turn_alone(&f->turn) : 0;
	if (err)
		return err;
	f->sock = sock;
	f->left = p->order->bytes;
	f->shares = shares_zeros(sock->sk);
	f->next = begin;
	netwarp_prepare_timer(&f->timer, on_timer, HRTIMER_MODE_ABS);
	init_waitqueue_func_entry(&f->event, on_event);
	add_wait_queue(sk_sleep(sock->sk), &f->event);
	netwarp_turn_wake(&f->turn);
	return 0;
}

static int __init netwarp_feed_init(void)
{
	netwarp_zeros = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO, get_order(ZEROS_BYTES));
	if (!netwarp_zeros)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(zeros); i++)
		zeros[i] = (struct kvec) { .iov_base = empty_zero_page, .iov_len = PAGE_SIZE };
	return 0;
}
core_initcall(netwarp_feed_init);

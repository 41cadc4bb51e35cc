// SPDX-License-Identifier: GPL-2.0-only
/*
 * A congestion control outside of the kernel: a program on the host decides.
 *
 * At the end of each monitoring interval, or at each ACK, the module writes a
 * record of the connection's state to a descriptor of User Mode Linux's process
 * and reads window and pacing rate from it. The host's read() blocks meanwhile,
 * so virtual time stands still however long the program computes.
 *
 * With over=cubic the kernel's own CUBIC decides, and the program changes its
 * window at the end of each interval, as setting a socket's window would.
 *
 * netwarp replaces "program" by a name made from the program's.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <netwarp.h>
#include "netwarp_policy.h"

/* arch/um/include/shared/os.h */
extern int os_read_file(int fd, void *buf, int len);
extern int os_write_file(int fd, const void *buf, int len);

#define MAX_CWND	(1U << 24)
#define MAX_RATE	(1ULL << 40)

static int fd = -1;
module_param(fd, int, 0444);
MODULE_PARM_DESC(fd, "the descriptor of this machine's process on the host (set by netwarp)");

static long t0_ns;
module_param(t0_ns, long, 0444);
MODULE_PARM_DESC(t0_ns, "the start of the run (set by netwarp)");

static bool per_ack;
module_param(per_ack, bool, 0444);
MODULE_PARM_DESC(per_ack, "ask at each ACK");

static unsigned int interval_us;
module_param(interval_us, uint, 0444);
MODULE_PARM_DESC(interval_us, "monitoring interval in microseconds (0: the smoothed RTT)");

static unsigned int initial_cwnd = TCP_INIT_CWND;
module_param(initial_cwnd, uint, 0444);
MODULE_PARM_DESC(initial_cwnd, "the window in the first state, in packets");

static char *over = "";
module_param(over, charp, 0444);
MODULE_PARM_DESC(over, "cubic: the kernel's CUBIC decides, and the program changes its window");

static atomic_t flows = ATOMIC_INIT(0);

/* With over=: what decides. */
static const struct tcp_congestion_ops *below;

/* What a connection has seen since the last record. */
struct monitor {
	struct netwarp_policy_state state;
	u64 begin_ns;
	u32 lost_before;
	u32 sent_before;
	u32 delivered_before;
	u32 next_us;	/* length of the interval that the program asked for */
};

#define BELOW_BYTES	64	/* CUBIC's struct bictcp has 60 in all of netwarp's series */

/* In inet_csk_ca(sk). */
struct control {
	u64 below[BELOW_BYTES / sizeof(u64)];	/* where the congestion control below has its state */
	struct monitor *monitor;
	u64 pacing_rate;
	u32 cwnd;
	u32 interval_us;
	u32 delivered;
	u32 lost;
	u32 rtt_mean_us;
	u32 records;
};

static void __noreturn failed(const char *what)
{
	panic("netwarp program %d: it %s", fd, what);
}

static void tell(const struct netwarp_policy_state *state)
{
	int put;

	do {
		put = os_write_file(fd, state, sizeof(*state));
	} while (put == -EINTR);
	if (put == -EAGAIN)
		failed("does not read what it is told");
	if (put != sizeof(*state))
		failed("has ended");
}

static void hear(struct netwarp_policy_action *action, u32 flow)
{
	u8 room[sizeof(*action) + 1];	/* so that longer records are seen */
	int got;

	do {
		got = os_read_file(fd, room, sizeof(room));
	} while (got == -EINTR);
	if (got == -EAGAIN)
		failed("did not answer in time");
	if (got <= 0)
		failed("has ended");
	memcpy(action, room, sizeof(*action));
	if (got != sizeof(*action))
		failed("answered with a record of another size than an action's");
	if (action->magic != NETWARP_POLICY_MAGIC)
		failed("answered with a record that does not begin as an action does");
	if (action->flow != flow)
		failed("answered for another connection than it was asked about");
	if (action->cwnd < 1 || action->cwnd > MAX_CWND)
		failed("answered with a window outside of 1 to 2^24 packets");
	if (action->pacing_rate > MAX_RATE)
		failed("answered with a pacing rate above 2^40 bytes/s");
}

/* Sets what the program decided: whatever the kernel did to the window meanwhile does not last. */
static void enforce(struct sock *sk)
{
	struct control *c = inet_csk_ca(sk);

	tcp_snd_cwnd_set(tcp_sk(sk), min(c->cwnd, tcp_sk(sk)->snd_cwnd_clamp));
	if (c->pacing_rate) {
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, c->pacing_rate, READ_ONCE(sk->sk_max_pacing_rate)));
	} else {
		WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
	}
}

static void begin_interval(struct sock *sk, u64 now_ns)
{
	struct monitor *m = ((struct control *)inet_csk_ca(sk))->monitor;
	struct netwarp_policy_state *s = &m->state;

	m->begin_ns = now_ns;
	m->lost_before = tcp_sk(sk)->lost;
	m->sent_before = tcp_sk(sk)->data_segs_out;
	m->delivered_before = tcp_sk(sk)->delivered;
	s->acks = s->delivered = 0;
	s->rtt_us = s->rtt_low_us = s->rtt_high_us = s->rtt_samples = 0;
	s->sum_r = s->sum_t = s->sum_tt = s->sum_tr = 0;
}

static void exchange(struct sock *sk, enum netwarp_policy_event event)
{
	struct control *c = inet_csk_ca(sk);
	struct netwarp_policy_state *s = &c->monitor->state;
	struct tcp_sock *tp = tcp_sk(sk);
	struct netwarp_policy_action action;
	u64 now_ns = ktime_get_ns();

	s->event = event;
	s->mss = tp->mss_cache;
	s->time_ns = (s64)now_ns - t0_ns;
	s->interval_ns = now_ns - c->monitor->begin_ns;
	s->lost = tp->lost - c->monitor->lost_before;
	s->sent = tp->data_segs_out - c->monitor->sent_before;
	s->srtt_us = tp->srtt_us >> 3;
	s->min_rtt_us = tcp_min_rtt(tp) == ~0U ? 0 : tcp_min_rtt(tp);
	s->inflight = tcp_packets_in_flight(tp);
	s->cwnd = below ? tcp_snd_cwnd(tp) : c->cwnd;
	s->pacing_rate = below ? READ_ONCE(sk->sk_pacing_rate) : c->pacing_rate;
	/* tcp_set_ca_state() calls set_state() before it stores the new state. */
	s->ca_state = event == NETWARP_POLICY_TIMEOUT ? TCP_CA_Loss : inet_csk(sk)->icsk_ca_state;
	s->total_delivered = tp->delivered;
	s->total_lost = tp->lost;
	tell(s);
	hear(&action, s->flow);
	c->cwnd = action.cwnd;
	c->pacing_rate = below ? s->pacing_rate : action.pacing_rate;
	c->monitor->next_us = action.interval_us;
	c->interval_us = div_u64(s->interval_ns, NSEC_PER_USEC);
	c->delivered = s->delivered;
	c->lost = s->lost;
	c->rtt_mean_us = s->rtt_samples ? div_u64(s->sum_r, s->rtt_samples) : 0;
	c->records++;
	begin_interval(sk, now_ns);
}

static void add_rtt(struct monitor *m, long rtt_us, u64 now_ns)
{
	struct netwarp_policy_state *s = &m->state;

	if (rtt_us > 0) {
		u32 r = rtt_us;
		u64 t = div_u64(now_ns - m->begin_ns, NSEC_PER_USEC);

		s->rtt_us = r;
		s->rtt_low_us = s->rtt_samples ? min(s->rtt_low_us, r) : r;
		s->rtt_high_us = max(s->rtt_high_us, r);
		s->rtt_samples++;
		s->sum_r += r;
		s->sum_t += t;
		s->sum_tt += t * t;
		s->sum_tr += t * r;
	}
}

static void add_ack(struct monitor *m, const struct rate_sample *rs, const struct tcp_sock *tp, u64 now_ns)
{
	struct netwarp_policy_state *s = &m->state;

	s->acks++;
	s->delivered += rs->acked_sacked;
	s->app_limited = rs->is_app_limited;
	if (rs->delivered > 0 && rs->interval_us > 0)
		s->delivery_rate = div_u64((u64)rs->delivered * tp->mss_cache * USEC_PER_SEC, rs->interval_us);
	add_rtt(m, rs->rtt_us, now_ns);
}

static u32 length_us(const struct sock *sk, const struct monitor *m)
{
	return m->next_us ?: interval_us ?: tcp_sk(sk)->srtt_us >> 3;
}

static bool is_over(const struct sock *sk, const struct monitor *m, u64 now_ns)
{
	return per_ack || now_ns - m->begin_ns >= (u64)length_us(sk, m) * NSEC_PER_USEC;
}

static NETWARP_CONG_CONTROL(program_main, sk, rs)
{
	struct control *c = inet_csk_ca(sk);
	struct monitor *m = c->monitor;
	u64 now_ns = ktime_get_ns();

	if (!m)		/* the SYN's ACK, before init */
		return;
	add_ack(m, rs, tcp_sk(sk), now_ns);
	if (is_over(sk, m, now_ns))
		exchange(sk, NETWARP_POLICY_INTERVAL);
	enforce(sk);
}

/* Changes the window of the congestion control below, if the program answered with another one. */
static void change(struct sock *sk)
{
	struct control *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (c->cwnd != tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, min(c->cwnd, tp->snd_cwnd_clamp));
}

/* With over=: at each ACK, before CUBIC changes its window. */
static void over_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct control *c = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct monitor *m = c->monitor;
	u64 now_ns = ktime_get_ns();
	struct netwarp_policy_state *s;

	if (!m)
		return;
	if (below->pkts_acked)
		below->pkts_acked(sk, sample);
	s = &m->state;
	s->acks++;
	s->delivered = tp->delivered - m->delivered_before;
	s->app_limited = tp->rate_app_limited;
	if (tp->rate_delivered && tp->rate_interval_us)
		s->delivery_rate = div_u64((u64)tp->rate_delivered * tp->mss_cache * USEC_PER_SEC, tp->rate_interval_us);
	add_rtt(m, sample->rtt_us, now_ns);
	if (!is_over(sk, m, now_ns))
		return;
	exchange(sk, NETWARP_POLICY_INTERVAL);
	change(sk);
}

static void program_init(struct sock *sk)
{
	struct control *c = inet_csk_ca(sk);

	memset(c, 0, sizeof(*c));
	if (below && below->init)
		below->init(sk);
	c->cwnd = initial_cwnd;
	c->monitor = kzalloc(sizeof(*c->monitor), GFP_ATOMIC);
	if (!c->monitor)
		panic("netwarp program %d: the machine has no memory for its connections", fd);
	c->monitor->state.magic = NETWARP_POLICY_MAGIC;
	c->monitor->state.flow = atomic_fetch_inc(&flows);
	c->monitor->state.local_port = inet_sk(sk)->inet_num;
	c->monitor->state.remote_port = ntohs(inet_sk(sk)->inet_dport);
	begin_interval(sk, ktime_get_ns());
	exchange(sk, NETWARP_POLICY_START);
	if (below)
		change(sk);
	else
		enforce(sk);
}

static void program_release(struct sock *sk)
{
	struct control *c = inet_csk_ca(sk);

	if (below && below->release)
		below->release(sk);

	if (c->monitor) {
		exchange(sk, NETWARP_POLICY_END);
		kfree(c->monitor);
		c->monitor = NULL;
	}
}

static void program_state(struct sock *sk, u8 state)
{
	struct control *c = inet_csk_ca(sk);

	if (below && below->set_state)
		below->set_state(sk, state);
	if (state == TCP_CA_Loss && c->monitor) {
		exchange(sk, NETWARP_POLICY_TIMEOUT);
		if (below)
			change(sk);
		else
			enforce(sk);
	}
}

static u32 program_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 program_undo(struct sock *sk)
{
	return ((struct control *)inet_csk_ca(sk))->cwnd;
}

static struct tcp_congestion_ops tcp_program = {
	.init		= program_init,
	.release	= program_release,
	.cong_control	= program_main,
	.set_state	= program_state,
	.ssthresh	= program_ssthresh,
	.undo_cwnd	= program_undo,
	.owner		= THIS_MODULE,
	.name		= "program",
};

NETWARP_EXPORT(tcp_program, struct control, pacing_rate, interval_us, delivered, lost, rtt_mean_us, records);

/* The kernel's congestion control of this name, as a socket gets it: modules cannot look it up. */
static const struct tcp_congestion_ops *find(char *name)
{
	const struct tcp_congestion_ops *found = NULL;
	struct socket *sock;

	if (sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock))
		return NULL;
	if (!sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(name), strlen(name)))
		found = inet_csk(sock->sk)->icsk_ca_ops;
	sock_release(sock);
	return found;
}

/* Takes all from what is below, but for what is seen or changed here. */
static int go_over(const struct tcp_congestion_ops *found)
{
	struct tcp_congestion_ops own = tcp_program;

	if (!found || found->cong_control)
		return -EINVAL;
	below = found;
	tcp_program = *found;
	tcp_program.init = own.init;
	tcp_program.release = own.release;
	tcp_program.set_state = own.set_state;
	tcp_program.pkts_acked = over_acked;
	tcp_program.owner = own.owner;
	memcpy(tcp_program.name, own.name, sizeof(own.name));
	return 0;
}

static int __init program_register(void)
{
	BUILD_BUG_ON(sizeof(struct control) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct netwarp_policy_state) != 152);
	if (fd < 0 || initial_cwnd < 1 || (*over && strcmp(over, "cubic")))
		return -EINVAL;
	if (*over && go_over(find(over)))
		return -EINVAL;
	return tcp_register_congestion_control(&tcp_program);
}

static void __exit program_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_program);
}

module_init(program_register);
module_exit(program_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A congestion control that a program on the host decides");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prague congestion control (draft-briscoe-iccrg-prague-congestion-control-04),
 * written from the draft for the hooks that Linux 6.12 has.
 *
 * The window shrinks by half of alpha, the share of packets that are marked
 * (CE), at most once a round trip, and grows by one packet a round trip. Round
 * trips count as 25 ms at least, so that near senders have no advantage.
 *
 * The kernel knows neither ECT(1) nor AccECN (RFC 9768). Packets of Prague's
 * sockets get ECT(1) in a netfilter hook, and feedback is that of DCTCP (RFC
 * 8257, section 3.2): each change of CE makes an ACK, so both ends need Prague.
 *
 *	modules = ["sch_dualpi2.c"], queue = "dualpi2", cc = "file:tcp_prague.c"
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <netwarp.h>

#ifndef TCP_ECN_OK	/* Linux 6.16 and later, which know AccECN as well */
#define TCP_ECN_OK	TCP_ECN_MODE_RFC3168
#endif

#define ONE		(1U << 20)	/* of the window in packets, and of alpha */
#define GAIN_SHIFT	4		/* g = 1/16 (section 2.3.2) */
#define MIN_CWND	2U

static unsigned int rtt_virt_min_us = 25000;
module_param(rtt_virt_min_us, uint, 0444);
MODULE_PARM_DESC(rtt_virt_min_us, "shorter round trips count as this long; 0: they count as they are");

static unsigned int transition_rounds = 500;
module_param(transition_rounds, uint, 0444);
MODULE_PARM_DESC(transition_rounds, "after so many rounds past slow start they do (D of section 2.4.4)");

struct prague {
	u64 cwnd;			/* packets, in units of 1/ONE */
	u64 prior_cwnd;			/* before the last reduction */
	u32 alpha;
	u32 delivered, delivered_ce;	/* up to the last ACK */
	u32 window_delivered, window_ce;	/* when alpha was updated last */
	u32 window_us, window_end;
	u32 reduced_us;			/* when the last reduction was */
	u32 rtt_virt_us;
	u32 rounds;			/* since slow start */
	u32 prior_rcv_nxt;		/* as a receiver: what the last packet was before */
	u8 slow_start, saw_ce;
	u8 ce;				/* as a receiver: whether the last packet was marked */
};

static struct tcp_congestion_ops prague_reno;

static u32 now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

static u32 srtt_us(const struct sock *sk)
{
	return max(tcp_sk(sk)->srtt_us >> 3, 1U);
}

static void prague_init(struct sock *sk)
{
	struct prague *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(tp->ecn_flags & TCP_ECN_OK) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE) {
		/* Section 2.2: without ECN it is a Classic congestion control. */
		inet_csk(sk)->icsk_ca_ops = &prague_reno;
		INET_ECN_dontxmit(sk);
		return;
	}
	memset(p, 0, sizeof(*p));
	p->cwnd = (u64)tcp_snd_cwnd(tp) * ONE;
	p->slow_start = 1;
	p->delivered = p->window_delivered = tp->delivered;
	p->delivered_ce = p->window_ce = tp->delivered_ce;
	p->window_end = tp->snd_nxt;
	p->window_us = p->reduced_us = now_us(sk);
	p->prior_rcv_nxt = tp->rcv_nxt;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* Section 2.4.4: the RTT that the sender behaves as if it had. */
static void choose_rtt(struct sock *sk, struct prague *p)
{
	p->rtt_virt_us = srtt_us(sk);
	if (p->rounds >= transition_rounds)
		p->rtt_virt_us = max(p->rtt_virt_us, rtt_virt_min_us);
}

/* Section 2.3.2: the moving average of marks, once a (virtual) round trip. */
static void end_round(struct sock *sk, struct prague *p)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - p->window_delivered;
	u32 marked = tp->delivered_ce - p->window_ce;

	if (before(tp->snd_una, p->window_end) || now_us(sk) - p->window_us < p->rtt_virt_us || !delivered)
		return;
	if (p->saw_ce)
		p->alpha += ((s64)div_u64((u64)marked * ONE, delivered) - (s64)p->alpha) >> GAIN_SHIFT;
	if (!p->slow_start)
		p->rounds++;
	p->window_delivered = tp->delivered;
	p->window_ce = tp->delivered_ce;
	p->window_us = now_us(sk);
	p->window_end = tp->snd_nxt;
	choose_rtt(sk, p);
}

/* Section 2.4.2: by alpha / 2, at most once a (virtual) round trip; the first mark has alpha 1. */
static void reduce(struct sock *sk, struct prague *p)
{
	if (!p->saw_ce) {
		p->saw_ce = 1;
		p->alpha = ONE;
	} else if (now_us(sk) - p->reduced_us < p->rtt_virt_us) {
		return;
	}
	p->slow_start = 0;
	p->prior_cwnd = p->cwnd;
	p->cwnd -= p->cwnd * p->alpha / ONE / 2;
	p->reduced_us = now_us(sk);
}

/* Section 2.4.3: (RTT / virtual RTT)^2 packets each round trip, for packets that were not marked. */
static void grow(struct sock *sk, struct prague *p, u32 unmarked)
{
	u64 step;

	/* After a timeout it grows while the losses are repaired, as tcp_cong_control() has it. */
	if (!tcp_is_cwnd_limited(sk) || inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		return;
	if (p->slow_start) {
		p->cwnd += (u64)unmarked * ONE;
		if (p->cwnd >= (u64)tcp_sk(sk)->snd_ssthresh * ONE)
			p->slow_start = 0;	/* after a timeout */
		return;
	}
	step = div_u64((u64)ONE * srtt_us(sk), p->rtt_virt_us);
	step = div_u64(step * srtt_us(sk), p->rtt_virt_us);
	p->cwnd += div64_u64(unmarked * step * ONE, p->cwnd);
}

static NETWARP_CONG_CONTROL(prague_main, sk, rs)
{
	struct prague *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 acked = tp->delivered - p->delivered, marked = tp->delivered_ce - p->delivered_ce;
	u64 rate;

	if (!p->cwnd)	/* the ACK that ends a passive open comes before .init */
		return;
	p->delivered = tp->delivered;
	p->delivered_ce = tp->delivered_ce;
	if (!p->rtt_virt_us)
		choose_rtt(sk, p);
	end_round(sk, p);
	grow(sk, p, acked - min(marked, acked));
	if (marked)
		reduce(sk, p);
	p->cwnd = clamp_t(u64, p->cwnd, (u64)MIN_CWND * ONE, (u64)tp->snd_cwnd_clamp * ONE);
	tcp_snd_cwnd_set(tp, div_u64(p->cwnd, ONE));
	/* Section 2.4.6: paced at the rate of the window, and at twice that in slow start. */
	rate = div_u64(div_u64(p->cwnd * tp->mss_cache, ONE) * USEC_PER_SEC, srtt_us(sk)) << p->slow_start;
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Section 2.4.2: a loss halves the window, together with what marks took off it in the same round trip. */
static void on_loss(struct sock *sk, struct prague *p)
{
	u64 from = now_us(sk) - p->reduced_us < srtt_us(sk) && p->prior_cwnd ? p->prior_cwnd : p->cwnd;

	p->prior_cwnd = from;
	p->cwnd = max_t(u64, min(p->cwnd, from / 2), (u64)MIN_CWND * ONE);
	p->slow_start = 0;
	p->reduced_us = now_us(sk);
	tcp_sk(sk)->snd_ssthresh = div_u64(p->cwnd, ONE);
}

static void prague_state(struct sock *sk, u8 state)
{
	struct prague *p = inet_csk_ca(sk);

	if (state == inet_csk(sk)->icsk_ca_state || !p->cwnd)
		return;
	if (state == TCP_CA_Recovery)
		on_loss(sk, p);
	if (state == TCP_CA_Loss) {
		on_loss(sk, p);
		p->cwnd = (u64)MIN_CWND * ONE;
		p->slow_start = 1;
	}
}

/* The window is prague_main's alone; TCP asks for this when ACKs carry ECE, and in losses. */
static u32 prague_ssthresh(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 prague_undo(struct sock *sk)
{
	struct prague *p = inet_csk_ca(sk);

	p->cwnd = max(p->cwnd, p->prior_cwnd);
	return div_u64(p->cwnd, ONE);
}

/* __tcp_send_ack() has flags in later kernels. */
static void send_ack2(void *function, struct sock *sk, u32 rcv_nxt)
{
	((void (*)(struct sock *, u32))function)(sk, rcv_nxt);
}

static void send_ack3(void *function, struct sock *sk, u32 rcv_nxt)
{
	((void (*)(struct sock *, u32, u16))function)(sk, rcv_nxt, 0);
}

#define send_ack(sk, rcv_nxt)							\
	_Generic(&__tcp_send_ack,						\
		 void (*)(struct sock *, u32): send_ack2,			\
		 void (*)(struct sock *, u32, u16): send_ack3)(__tcp_send_ack, sk, rcv_nxt)

static void echo(struct sock *sk, bool ce)
{
	if (ce)
		tcp_sk(sk)->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tcp_sk(sk)->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * RFC 8257, section 3.2, as the receiver: an ACK stands for packets that all
 * were marked or all were not. What waits for one is acknowledged by itself.
 */
static void prague_event(struct sock *sk, enum tcp_ca_event event)
{
	struct prague *p = inet_csk_ca(sk);
	bool ce = event == CA_EVENT_ECN_IS_CE;

	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	if (p->ce != ce) {
		if (inet_csk(sk)->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(sk, p->ce);
			send_ack(sk, p->prior_rcv_nxt);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	p->prior_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	p->ce = ce;
	echo(sk, ce);
}

static struct tcp_congestion_ops tcp_prague = {
	.init		= prague_init,
	.cong_control	= prague_main,
	.set_state	= prague_state,
	.cwnd_event	= prague_event,
	.ssthresh	= prague_ssthresh,
	.undo_cwnd	= prague_undo,
	.flags		= TCP_CONG_NEEDS_ECN,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static struct tcp_congestion_ops prague_reno = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "prague-reno",
};

NETWARP_EXPORT(tcp_prague, struct prague, alpha, cwnd, slow_start, rtt_virt_us, rounds);

/* RFC 9331, section 4.1: INET_ECN_xmit() has given ECT(0) to packets of these sockets; they are ECT(1)'s. */
static unsigned int identify(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = sk_to_full_sk(skb->sk);

	if (sk && sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP &&
	    inet_csk(sk)->icsk_ca_ops == &tcp_prague && !skb_ensure_writable(skb, skb_network_header_len(skb)))
		INET_ECN_set_ect1(skb);
	return NF_ACCEPT;
}

static const struct nf_hook_ops hooks[] = {
	{ .hook = identify, .pf = NFPROTO_IPV4, .hooknum = NF_INET_LOCAL_OUT, .priority = NF_IP_PRI_LAST },
	{ .hook = identify, .pf = NFPROTO_IPV6, .hooknum = NF_INET_LOCAL_OUT, .priority = NF_IP6_PRI_LAST },
};

static int __net_init hooks_of(struct net *net)
{
	return nf_register_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}

static void __net_exit no_hooks_of(struct net *net)
{
	nf_unregister_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}

static struct pernet_operations namespaces = { .init = hooks_of, .exit = no_hooks_of };

static int __init prague_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct prague) > ICSK_CA_PRIV_SIZE);
	error = register_pernet_subsys(&namespaces);
	if (error)
		return error;
	error = tcp_register_congestion_control(&tcp_prague);
	if (error)
		unregister_pernet_subsys(&namespaces);
	return error;
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_prague);
	unregister_pernet_subsys(&namespaces);
}

module_init(prague_register);
module_exit(prague_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Prague congestion control");

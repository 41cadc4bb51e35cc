// SPDX-License-Identifier: GPL-2.0-only
/*
 * DualPI2: the Dual-Queue Coupled AQM of RFC 9332 with PI2 for Classic
 * traffic, written from its Appendix A.
 *
 * Packets with ECT(1) or CE go to the L queue, all others to the C queue. A
 * PI controller of the queueing delay gives a base probability p'. Classic
 * packets are dropped, or marked if they have ECT(0), with p'^2; those of L4S
 * are marked with k p', or all of them while they wait for longer than a step.
 * So a Classic flow and an L4S flow have about the same rate, as the rate of
 * the one goes with the root of its losses and the other's with its marks.
 *
 *	modules = ["sch_dualpi2.c"], and in a link queue = "dualpi2"
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#define ONE		(1LL << 30)	/* of probabilities */
#define WEIGHTS		16		/* of the scheduler, in all */
#define MIN_PKTS	2		/* with fewer in the queue none is dropped, as in RFC 8033, section 4.1 */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
/* What is reported (tc -s, netwarp's queue_states), as in linux/pkt_sched.h since Linux 6.17. */
struct tc_dualpi2_xstats {
	__u32 prob;			/* p', in 2^32 - 1 */
	__u32 delay_c;			/* us */
	__u32 delay_l;			/* us */
	__u32 packets_in_c;
	__u32 packets_in_l;
	__u32 maxq;
	__u32 ecn_mark;
	__u32 step_marks;
	__s32 credit;
	__u32 memory_used;
	__u32 max_memory_used;
	__u32 memory_limit;		/* 0: none */
};
#endif

static uint limit = 10000;
module_param(limit, uint, 0444);
MODULE_PARM_DESC(limit, "packets in both queues");

static uint target_us = 15000;
module_param(target_us, uint, 0444);
MODULE_PARM_DESC(target_us, "delay of the C queue that the PI controller aims at");

static uint rtt_max_us = 100000;
module_param(rtt_max_us, uint, 0444);
MODULE_PARM_DESC(rtt_max_us, "the largest RTT for which the PI controller is stable");

static uint step_us = 1000;
module_param(step_us, uint, 0444);
MODULE_PARM_DESC(step_us, "delay of the L queue beyond which all of its packets are marked");

static uint coupling = 2;
module_param(coupling, uint, 0444);
MODULE_PARM_DESC(coupling, "k, how much more L4S is marked than p'");

static uint classic_weight = 1;
module_param(classic_weight, uint, 0444);
MODULE_PARM_DESC(classic_weight, "sixteenths of the link that the C queue has at least, 1 to 15");

struct subqueue {
	struct qdisc_skb_head packets;
	s64 count;			/* of recur(): the likelihoods so far */
};

struct dualpi2 {
	struct subqueue l, c;
	struct Qdisc *sch;
	struct timer_list timer;
	s64 base;			/* p' */
	u64 prev_us;			/* the delay at the last update */
	s64 credit;			/* bytes of the L queue before one of the C queue's must go */
	struct tc_dualpi2_xstats counts;
};

struct stamp {
	u64 ns;				/* when it came */
};

static struct stamp *stamp(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct stamp));
	return (struct stamp *)qdisc_skb_cb(skb)->data;
}

static u8 ecn_of(struct sk_buff *skb)
{
	int field = skb_get_dsfield(skb);

	return field < 0 ? INET_ECN_NOT_ECT : field & INET_ECN_MASK;
}

/* Figure 3 */
static int dualpi2_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct dualpi2 *q = qdisc_priv(sch);
	struct tc_dualpi2_xstats *counts = &q->counts;
	bool l4s = ecn_of(skb) & 1;	/* ECT(1) is 01 and CE is 11 */

	if (sch->q.qlen >= limit)
		return qdisc_drop(skb, sch, to_free);
	stamp(skb)->ns = ktime_get_ns();
	__qdisc_enqueue_tail(skb, l4s ? &q->l.packets : &q->c.packets);
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	counts->packets_in_l += l4s;
	counts->packets_in_c += !l4s;
	counts->maxq = max(counts->maxq, sch->q.qlen);
	counts->memory_used += skb->truesize;
	counts->max_memory_used = max(counts->max_memory_used, counts->memory_used);
	return NET_XMIT_SUCCESS;
}

/* How long the first packet of a queue has waited. */
static u64 delay_us(const struct subqueue *queue)
{
	const struct sk_buff *first = queue->packets.head;

	return first ? div_u64(ktime_get_ns() - stamp(first)->ns, NSEC_PER_USEC) : 0;
}

/* Figure 4: true as often as the likelihood says, at even distances. */
static bool recur(struct subqueue *queue, s64 likelihood)
{
	queue->count += min(likelihood, ONE);
	if (queue->count <= ONE)
		return false;
	queue->count -= ONE;
	return true;
}

/* Section 4.2.1: priority to the L queue, but for a share of the link; weighted round robin of bytes. */
static struct subqueue *schedule_queue(struct dualpi2 *q)
{
	const struct sk_buff *l = q->l.packets.head, *c = q->c.packets.head;
	u32 weight = clamp(classic_weight, 1U, WEIGHTS - 1U);

	if (!l || !c) {
		q->credit = 0;
		return l ? &q->l : &q->c;
	}
	if (q->credit >= 0) {
		q->credit -= (s64)qdisc_pkt_len(l) * weight;
		return &q->l;
	}
	q->credit += (s64)qdisc_pkt_len(c) * (WEIGHTS - weight);
	return &q->c;
}

static void mark(struct dualpi2 *q, struct sk_buff *skb)
{
	q->counts.ecn_mark += INET_ECN_set_ce(skb);
}

/* Figures 5 and 7: what becomes of a packet of the L queue; false: dropped. */
static bool pass_l(struct dualpi2 *q, struct sk_buff *skb, u64 waited_us)
{
	s64 coupled = coupling * q->base, classic = (q->base * q->base) / ONE;

	if (coupled < ONE) {
		/* The native AQM is a step, which a queue of one packet does not reach. */
		bool native = waited_us > step_us && q->l.packets.qlen;

		if (recur(&q->l, native ? ONE : coupled)) {
			mark(q, skb);
			q->counts.step_marks += native;
		}
		return true;
	}
	/* Overload: marks do not suffice, and L4S is dropped as Classic is. */
	if (q->sch->q.qlen >= MIN_PKTS && recur(&q->l, classic))
		return false;
	if (recur(&q->l, coupled))
		mark(q, skb);
	return true;
}

/* Likewise of the C queue. */
static bool pass_c(struct dualpi2 *q, struct sk_buff *skb)
{
	s64 classic = (q->base * q->base) / ONE;
	bool overload = coupling * q->base >= ONE;

	if (!recur(&q->c, classic))
		return true;
	if (!overload && ecn_of(skb) != INET_ECN_NOT_ECT) {
		mark(q, skb);
		return true;
	}
	return q->sch->q.qlen < MIN_PKTS;
}

static struct sk_buff *dualpi2_dequeue(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);
	u32 dropped = 0, bytes = 0;
	struct sk_buff *skb = NULL;

	while (sch->q.qlen) {
		struct subqueue *from = schedule_queue(q);
		u64 waited_us = delay_us(from);

		skb = __qdisc_dequeue_head(&from->packets);
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		q->counts.memory_used -= skb->truesize;
		if (from == &q->l ? pass_l(q, skb, waited_us) : pass_c(q, skb))
			break;
		dropped++;
		bytes += qdisc_pkt_len(skb);
		qdisc_qstats_drop(sch);
		kfree_skb_reason(skb, SKB_DROP_REASON_QDISC_DROP);
		skb = NULL;
	}
	if (dropped)
		qdisc_tree_reduce_backlog(sch, dropped, bytes);
	if (skb)
		qdisc_bstats_update(sch, skb);
	return skb;
}

/* Figure 2: p' += alpha (delay - target) + beta (delay - delay before), each Tupdate. */
static u32 tupdate_us(void)
{
	return clamp(min(target_us, rtt_max_us / 3), 1000U, 1000000U);
}

static void update(struct dualpi2 *q)
{
	s64 now_us = min_t(u64, max(delay_us(&q->l), delay_us(&q->c)), USEC_PER_SEC);
	/* The gains in 1/1000 Hz: 0.1 Tupdate / RTTmax^2 and 0.3 / RTTmax */
	s64 alpha = div64_u64((u64)tupdate_us() * 100 * USEC_PER_SEC, (u64)rtt_max_us * rtt_max_us);
	s64 beta = 300 * USEC_PER_SEC / rtt_max_us;
	s64 delta = alpha * (now_us - (s64)target_us) + beta * (now_us - (s64)q->prev_us);

	q->base = clamp_t(s64, q->base + div_s64(delta * ONE, NSEC_PER_SEC), 0, ONE);
	q->prev_us = now_us;
}

static void dualpi2_timer(struct timer_list *t)
{
	struct dualpi2 *q = container_of(t, struct dualpi2, timer);
	spinlock_t *lock;

	rcu_read_lock();
	lock = qdisc_lock(qdisc_root_sleeping(q->sch));
	spin_lock(lock);
	update(q);
	mod_timer(&q->timer, jiffies + max(usecs_to_jiffies(tupdate_us()), 1UL));
	spin_unlock(lock);
	rcu_read_unlock();
}

static int dualpi2_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct dualpi2 *q = qdisc_priv(sch);
	struct tc_dualpi2_xstats st = q->counts;

	st.prob = min_t(s64, q->base * ((1LL << 32) / ONE), U32_MAX);
	st.delay_c = delay_us(&q->c);
	st.delay_l = delay_us(&q->l);
	st.credit = clamp_t(s64, q->credit, S32_MIN, S32_MAX);
	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static int dualpi2_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct dualpi2 *q = qdisc_priv(sch);

	q->sch = sch;
	timer_setup(&q->timer, dualpi2_timer, 0);
	mod_timer(&q->timer, jiffies + 1);
	return 0;
}

static void dualpi2_reset(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);

	rtnl_kfree_skbs(q->l.packets.head, q->l.packets.tail);
	rtnl_kfree_skbs(q->c.packets.head, q->c.packets.tail);
	memset(&q->l, 0, sizeof(q->l));
	memset(&q->c, 0, sizeof(q->c));
	q->base = 0;
	q->prev_us = 0;
	q->credit = 0;
	q->counts.memory_used = 0;
}

static void dualpi2_destroy(struct Qdisc *sch)
{
	struct dualpi2 *q = qdisc_priv(sch);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	timer_shutdown_sync(&q->timer);
#else
	del_timer_sync(&q->timer);
#endif
}

static struct Qdisc_ops dualpi2_ops __read_mostly = {
	.id		= "dualpi2",
	.priv_size	= sizeof(struct dualpi2),
	.enqueue	= dualpi2_enqueue,
	.dequeue	= dualpi2_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= dualpi2_init,
	.reset		= dualpi2_reset,
	.destroy	= dualpi2_destroy,
	.dump_stats	= dualpi2_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init dualpi2_register(void)
{
	if (!rtt_max_us || !coupling)
		return -EINVAL;
	return register_qdisc(&dualpi2_ops);
}

static void __exit dualpi2_unregister(void)
{
	unregister_qdisc(&dualpi2_ops);
}

module_init(dualpi2_register);
module_exit(dualpi2_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("DualPI2 (RFC 9332)");

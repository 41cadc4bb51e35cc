// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: delivery opportunities, replayed from a trace as Mahimahi's
 * mm-link does (R. Netravali et al.: Mahimahi: Accurate Record-and-Replay for
 * HTTP, USENIX ATC 2015; src/frontend/link_queue.cc).
 *
 * An opportunity lets so many bytes pass at one instant. A packet leaves when
 * its last byte has passed, so it may span opportunities; several may leave
 * in one. Once the queue is empty, the rest of an opportunity is lost, and an
 * opportunity at an instant has passed for a packet that arrives at this very
 * instant. The trace begins anew, again and again, at the time of its last
 * line. Before its start everything passes.
 *
 * The queue stands beneath, as class 1:1. The packet whose first bytes have
 * passed is no longer in it, as in Mahimahi, but counts here.
 *
 * Set up over netlink: TCA_OPPORTUNITY_PARMS when it is created, then the
 * trace by TCA_OPPORTUNITY_TRACE in as many changes as it takes.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#define MAX_ENTRIES	(1 << 24)

enum {
	TCA_OPPORTUNITY_UNSPEC,
	TCA_OPPORTUNITY_PARMS,
	TCA_OPPORTUNITY_TRACE,
	__TCA_OPPORTUNITY_MAX,
};

#define TCA_OPPORTUNITY_MAX (__TCA_OPPORTUNITY_MAX - 1)

struct opportunity_parms {
	__u64	start_ns;	/* CLOCK_MONOTONIC: time 0 of the trace */
	__u64	period_ms;	/* when it begins anew */
	__u32	bytes;		/* of one opportunity */
	__s32	overhead;	/* bytes that a packet counts beyond its frame */
	__u32	entries;	/* of the whole trace */
	__u32	pad;
};

/* So many opportunities at this time of the trace; times never fall. */
struct opportunity_entry {
	__u32	at_ms;
	__u32	count;
};

struct opportunity_data {
	struct opportunity_parms parms;
	struct opportunity_entry *trace;
	u32	known;		/* entries of the trace that are here */
	u32	next;		/* the entry whose turn it is */
	u64	base_ns;	/* when this round of the trace began */
	struct sk_buff *transit;	/* the packet that is being delivered */
	u32	bytes_left;	/* of it */
	struct qdisc_skb_head ready;	/* packets that have passed; its lock is not used */
	struct Qdisc *qdisc;
	struct qdisc_watchdog watchdog;
};

static u64 next_ns(const struct opportunity_data *q)
{
	if (!q->known)
		return U64_MAX;
	return q->base_ns + q->trace[q->next].at_ms * (u64)NSEC_PER_MSEC;
}

static void step(struct opportunity_data *q)
{
	if (++q->next < q->known)
		return;
	q->next = 0;
	q->base_ns += q->parms.period_ms * NSEC_PER_MSEC;
}

static bool is_idle(const struct opportunity_data *q)
{
	return !q->transit && !q->qdisc->q.qlen;
}

/* What a packet takes of an opportunity; an aggregate, what its packets would. */
static u32 cost_of(const struct sk_buff *skb, const struct opportunity_data *q)
{
	s64 packets = max_t(s64, skb_shinfo(skb)->gso_segs, 1);

	return max_t(s64, qdisc_pkt_len(skb) + packets * q->parms.overhead, 1);
}

/* Let so many bytes pass: LinkQueue::rationalize(), the opportunities of one instant together. */
static void deliver(struct opportunity_data *q, u64 bytes)
{
	while (bytes) {
		u32 passed;

		if (!q->transit) {
			q->transit = qdisc_dequeue_peeked(q->qdisc);
			if (!q->transit)
				return;
			q->bytes_left = cost_of(q->transit, q);
		}
		passed = min_t(u64, bytes, q->bytes_left);
		bytes -= passed;
		q->bytes_left -= passed;
		if (!q->bytes_left) {
			__qdisc_enqueue_tail(q->transit, &q->ready);
			q->transit = NULL;
		}
	}
}

/* Use or lose every opportunity up to now. */
static void advance(struct opportunity_data *q, u64 now)
{
	u64 period_ns = q->parms.period_ms * NSEC_PER_MSEC;

	if (now < q->parms.start_ns) {
		deliver(q, U64_MAX);
		return;
	}
	/* Whole rounds that nobody wanted need no steps. */
	if (is_idle(q) && now > q->base_ns && now - q->base_ns >= period_ns) {
		q->base_ns += div64_u64(now - q->base_ns, period_ns) * period_ns;
		q->next = 0;
	}
	while (next_ns(q) <= now) {
		deliver(q, (u64)q->trace[q->next].count * q->parms.bytes);
		step(q);
	}
}

static int opportunity_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct opportunity_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	int ret;

	/* An opportunity of this instant is not for this packet. */
	advance(q, ktime_get_ns());
	ret = qdisc_enqueue(skb, q->qdisc, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		return ret;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *opportunity_dequeue(struct Qdisc *sch)
{
	struct opportunity_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	advance(q, ktime_get_ns());
	skb = __qdisc_dequeue_head(&q->ready);
	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	if (!is_idle(q) && q->known) {
		qdisc_qstats_overlimit(sch);
		qdisc_watchdog_schedule_ns(&q->watchdog, next_ns(q));
	}
	return NULL;
}

static void opportunity_reset(struct Qdisc *sch)
{
	struct opportunity_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_reset(q->qdisc);
	if (q->transit)
		rtnl_kfree_skbs(q->transit, q->transit);
	q->transit = NULL;
	if (q->ready.qlen)
		rtnl_kfree_skbs(q->ready.head, q->ready.tail);
	q->ready.head = q->ready.tail = NULL;
	q->ready.qlen = 0;
}

static const struct nla_policy opportunity_policy[TCA_OPPORTUNITY_MAX + 1] = {
	[TCA_OPPORTUNITY_PARMS] = NLA_POLICY_EXACT_LEN(sizeof(struct opportunity_parms)),
	[TCA_OPPORTUNITY_TRACE] = { .type = NLA_BINARY },
};

static int set_up(struct opportunity_data *q, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct opportunity_parms parms;
	u64 end_ns;

	nla_memcpy(&parms, attr, sizeof(parms));
	if (!parms.period_ms || !parms.bytes || parms.entries > MAX_ENTRIES ||
	    check_mul_overflow(parms.period_ms, 2 * (u64)NSEC_PER_MSEC, &end_ns)) {
		NL_SET_ERR_MSG(extack, "opportunities without bytes or period, or too many");
		return -EINVAL;
	}
	q->trace = kvcalloc(max(parms.entries, 1), sizeof(*q->trace), GFP_KERNEL);
	if (!q->trace)
		return -ENOMEM;
	q->parms = parms;
	q->base_ns = parms.start_ns;
	return 0;
}

static int append(struct Qdisc *sch, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct opportunity_data *q = qdisc_priv(sch);
	const struct opportunity_entry *more = nla_data(attr);
	u32 count = nla_len(attr) / sizeof(*more);
	u32 i, last = q->known ? q->trace[q->known - 1].at_ms : 0;

	if (nla_len(attr) % sizeof(*more) || count > q->parms.entries - q->known) {
		NL_SET_ERR_MSG(extack, "more opportunities than announced");
		return -EINVAL;
	}
	for (i = 0; i < count; last = more[i++].at_ms) {
		if (more[i].at_ms < last || more[i].at_ms > q->parms.period_ms) {
			NL_SET_ERR_MSG(extack, "times of opportunities fall, or lie behind the period");
			return -EINVAL;
		}
	}
	sch_tree_lock(sch);
	memcpy(q->trace + q->known, more, count * sizeof(*more));
	q->known += count;
	sch_tree_unlock(sch);
	return 0;
}

static int opportunity_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct opportunity_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_OPPORTUNITY_MAX + 1];
	int err;

	err = nla_parse_nested_deprecated(tb, TCA_OPPORTUNITY_MAX, opt, opportunity_policy, extack);
	if (!err && tb[TCA_OPPORTUNITY_PARMS])
		err = q->trace ? -EBUSY : set_up(q, tb[TCA_OPPORTUNITY_PARMS], extack);
	if (!err && !q->trace)
		err = -EINVAL;
	if (!err && tb[TCA_OPPORTUNITY_TRACE])
		err = append(sch, tb[TCA_OPPORTUNITY_TRACE], extack);
	return err;
}

static int opportunity_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct opportunity_data *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	q->qdisc = &noop_qdisc;
	return opt ? opportunity_change(sch, opt, extack) : -EINVAL;
}

static void opportunity_destroy(struct Qdisc *sch)
{
	struct opportunity_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->qdisc);
	kvfree(q->trace);
}

static int opportunity_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct opportunity_data *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put(skb, TCA_OPPORTUNITY_PARMS, sizeof(q->parms), &q->parms)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int opportunity_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct opportunity_data *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->qdisc->handle;
	return 0;
}

static int opportunity_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new, struct Qdisc **old,
			     struct netlink_ext_ack *extack)
{
	struct opportunity_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->qdisc);
	return 0;
}

static struct Qdisc *opportunity_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct opportunity_data *q = qdisc_priv(sch);

	return q->qdisc;
}

static unsigned long opportunity_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void opportunity_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops opportunity_class_ops = {
	.graft	= opportunity_graft,
	.leaf	= opportunity_leaf,
	.find	= opportunity_find,
	.walk	= opportunity_walk,
	.dump	= opportunity_dump_class,
};

static struct Qdisc_ops opportunity_qdisc_ops __read_mostly = {
	.cl_ops		= &opportunity_class_ops,
	.id		= "opportunity",
	.priv_size	= sizeof(struct opportunity_data),
	.enqueue	= opportunity_enqueue,
	.dequeue	= opportunity_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= opportunity_init,
	.reset		= opportunity_reset,
	.destroy	= opportunity_destroy,
	.change		= opportunity_change,
	.dump		= opportunity_dump,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("opportunity");

static int __init opportunity_module_init(void)
{
	return register_qdisc(&opportunity_qdisc_ops);
}

static void __exit opportunity_module_exit(void)
{
	unregister_qdisc(&opportunity_qdisc_ops);
}
module_init(opportunity_module_init)
module_exit(opportunity_module_exit)
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Delivery opportunities of a trace");

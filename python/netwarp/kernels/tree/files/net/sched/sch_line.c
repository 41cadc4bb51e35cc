// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the queue of an interface that would have none, where programs run for which computing takes no time. A veth
 * or a loopback would carry whatever they can send in no time, and a transfer that ends by the clock would never end.
 * So each is a link of one rate for the whole machine (/proc/netwarp, `rate`) and as many packets of room as its
 * txqueuelen: a packet leaves at once, and the next when its last bit has left.
 *
 * A discipline of anybody's own replaces it, as it replaces noqueue.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/netwarp.h>
#include <linux/string.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>

#define ROOM_PKTS	1000

u64 netwarp_rate;

struct line {
	struct qdisc_watchdog watchdog;
	u64 free_ns;		/* when the last packet has left */
};

static int line_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= (qdisc_dev(sch)->tx_queue_len ?: ROOM_PKTS))
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *line_dequeue(struct Qdisc *sch)
{
	struct line *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	if (!sch->q.qlen)
		return NULL;
	if (now < q->free_ns) {
		qdisc_watchdog_schedule_ns(&q->watchdog, q->free_ns);
		return NULL;
	}
	skb = qdisc_dequeue_head(sch);
	q->free_ns = now + DIV64_U64_ROUND_UP((u64)qdisc_pkt_len(skb) * 8 * NSEC_PER_SEC, netwarp_rate);
	return skb;
}

static int line_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct line *q = qdisc_priv(sch);

	if (!netwarp_rate)
		return -EOPNOTSUPP;
	qdisc_watchdog_init(&q->watchdog, sch);
	return 0;
}

static void line_reset(struct Qdisc *sch)
{
	struct line *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	q->free_ns = 0;
	if (q->watchdog.qdisc)
		qdisc_watchdog_cancel(&q->watchdog);
}

static struct Qdisc_ops line_ops __read_mostly = {
	.id		= "line",
	.priv_size	= sizeof(struct line),
	.enqueue	= line_enqueue,
	.dequeue	= line_dequeue,
	.peek		= qdisc_peek_head,
	.init		= line_init,
	.reset		= line_reset,
	.destroy	= line_reset,
	.owner		= THIS_MODULE,
};

/* Tunnels, bridges and the like hand over to what is beneath them. */
const struct Qdisc_ops *__netwarp_line(const struct net_device *dev)
{
	const char *kind = dev->rtnl_link_ops ? dev->rtnl_link_ops->kind : "";
	bool is_link = dev->flags & IFF_LOOPBACK || !strcmp(kind, "veth") || !strcmp(kind, "dummy");

	return is_link ? &line_ops : NULL;
}

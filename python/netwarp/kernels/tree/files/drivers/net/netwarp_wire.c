// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a wire as a device. Two Ethernet devices of the same cable are its
 * ends; each has the rate and the delay of the direction that leaves it.
 *
 * A device takes one frame and stops its queue until the last bit has left, as
 * a network card with a ring of one descriptor. So the device's root qdisc is
 * the queue of the link, and a frame waits nowhere else. The frame belongs to
 * its socket until then (TCP small queues), and arrives at the other end one
 * delay later. Both instants are exact; frames of a busy period are rounded
 * together, so that n of them take the time of their bytes, up to the next
 * whole nanosecond.
 *
 * Losses may be planned: every nth frame, frames by their numbers, those of an
 * interval of time. A lost frame takes its time on the wire, like any other.
 * Unicast frames count, from the first one that the device took; the kernel
 * sends the others by itself (MLD), and they are not lost.
 *
 * Made over netlink: `kind` is "wire", IFLA_WIRE_* are its attributes.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>

enum {
	IFLA_WIRE_UNSPEC,
	IFLA_WIRE_CABLE,	/* u32: two devices with the same one are joined */
	IFLA_WIRE_RATE,		/* u64: bit/s */
	IFLA_WIRE_DELAY,	/* u64: ns */
	IFLA_WIRE_LOSE_EVERY,	/* u32: n, of every nth frame */
	IFLA_WIRE_LOSE_FRAMES,	/* u64 numbers, the first frame is 1; ascending */
	IFLA_WIRE_LOSE_FROM,	/* u64: CLOCK_MONOTONIC at which a frame begins to leave */
	IFLA_WIRE_LOSE_UNTIL,	/* u64: the first instant after the interval */
	__IFLA_WIRE_MAX,
};

#define IFLA_WIRE_MAX (__IFLA_WIRE_MAX - 1)

/* Of the direction that leaves a device, in IFLA_INFO_XSTATS. */
struct wire_xstats {
	__u64	taken_frames;
	__u64	taken_bytes;
	__u64	delivered_frames;
	__u64	delivered_bytes;
	__u64	lost_frames;
	__u64	lost_bytes;
};

struct wire_plan {
	u32	every;		/* 0: none */
	u64	from_ns;
	u64	until_ns;
	u64	counted;	/* frames so far */
	u64	*frames;
	u32	number;		/* of these */
	u32	next;		/* the first that is still to come */
};

struct wire {
	struct net_device		*dev;
	struct net_device __rcu		*peer;
	struct list_head		others;
	u32				cable;
	u64				rate_bps;
	u64				delay_ns;
	struct wire_plan		plan;

	spinlock_t			lock;		/* of all that follows */
	struct hrtimer			timer;		/* for the earlier of the two below */
	struct sk_buff			*leaving;	/* until `free_at` */
	struct sk_buff_head		travelling;	/* in the order in which they arrive */
	ktime_t				free_at;
	u64				spare;		/* `free_at` is later than exact by spare / rate_bps ns */
	struct wire_xstats		sums;
};

struct wire_cb {
	ktime_t	due;		/* when it arrives */
	bool	lost;
};

static LIST_HEAD(wires);	/* under RTNL */

static struct wire_cb *wire_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct wire_cb) > sizeof_field(struct sk_buff, cb));
	return (struct wire_cb *)skb->cb;
}

static bool wire_plan_says(struct wire_plan *plan, const struct sk_buff *skb, u64 now_ns)
{
	if (is_multicast_ether_addr(skb->data))
		return false;
	plan->counted++;
	if (plan->next < plan->number && plan->frames[plan->next] == plan->counted) {
		plan->next++;
		return true;
	}
	if (plan->every) {
		u32 rest;

		div_u64_rem(plan->counted, plan->every, &rest);
		return !rest;
	}
	return now_ns >= plan->from_ns && now_ns < plan->until_ns;
}

/* The recorder has the losses of wires by this name, so the call must not be the last: it would be the caller's. */
static noinline void wire_lose(struct wire *w, struct sk_buff *skb)
{
	unsigned int bytes = skb->len;

	kfree_skb(skb);
	w->sums.lost_frames++;
	w->sums.lost_bytes += bytes;
}

/* How long a frame takes that begins to leave now. */
static u64 wire_time_ns(struct wire *w, unsigned int bytes, ktime_t now)
{
	u64 work = (u64)bytes * BITS_PER_BYTE * NSEC_PER_SEC;
	u64 spare = now == w->free_at ? w->spare : 0;
	u64 ns = work > spare ? DIV64_U64_ROUND_UP(work - spare, w->rate_bps) : 0;

	w->spare = ns * w->rate_bps + spare - work;
	return ns;
}

static void wire_arm(struct wire *w)
{
	struct sk_buff *next = skb_peek(&w->travelling);
	ktime_t at = KTIME_MAX;

	if (w->leaving)
		at = w->free_at;
	if (next)
		at = min(at, wire_cb(next)->due);
	if (at != KTIME_MAX)
		hrtimer_start(&w->timer, at, HRTIMER_MODE_ABS_PINNED_SOFT);
}

static netdev_tx_t wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);
	ktime_t now = ktime_get();

	spin_lock(&w->lock);
	skb_tx_timestamp(skb);
	wire_cb(skb)->lost = wire_plan_says(&w->plan, skb, ktime_to_ns(now));
	w->sums.taken_frames++;
	w->sums.taken_bytes += skb->len;
	w->free_at = ktime_add_ns(now, wire_time_ns(w, skb->len, now));
	w->leaving = skb;
	netif_stop_queue(dev);
	wire_arm(w);
	spin_unlock(&w->lock);
	return NETDEV_TX_OK;
}

/* The last bit has left. */
static void wire_left(struct wire *w)
{
	struct sk_buff *skb = w->leaving;

	w->leaving = NULL;
	skb_orphan(skb);
	if (wire_cb(skb)->lost) {
		wire_lose(w, skb);
	} else {
		wire_cb(skb)->due = ktime_add_ns(w->free_at, w->delay_ns);
		__skb_queue_tail(&w->travelling, skb);
	}
	netif_wake_queue(w->dev);
}

/* Hand over to the other end, at once and not by its backlog: this is a softirq already. */
static void wire_deliver(struct wire *w, struct sk_buff *skb)
{
	struct net_device *peer = rcu_dereference(w->peer);
	unsigned int bytes = skb->len;

	if (!peer || !is_skb_forwardable(peer, skb)) {
		wire_lose(w, skb);
		return;
	}
	w->sums.delivered_frames++;
	w->sums.delivered_bytes += bytes;
	if (__dev_forward_skb(peer, skb) == NET_RX_SUCCESS)
		netif_receive_skb(skb);
}

static enum hrtimer_restart wire_timer(struct hrtimer *timer)
{
	struct wire *w = container_of(timer, struct wire, timer);
	ktime_t now = ktime_get();
	struct sk_buff_head arrived;
	struct sk_buff *skb;

	__skb_queue_head_init(&arrived);
	rcu_read_lock();
	spin_lock(&w->lock);
	if (w->leaving && w->free_at <= now)
		wire_left(w);
	while ((skb = skb_peek(&w->travelling)) && wire_cb(skb)->due <= now)
		__skb_queue_tail(&arrived, __skb_dequeue(&w->travelling));
	wire_arm(w);
	spin_unlock(&w->lock);
	while ((skb = __skb_dequeue(&arrived)))
		wire_deliver(w, skb);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

static int wire_open(struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(w->peer);

	netif_start_queue(dev);
	if (peer && peer->flags & IFF_UP) {
		netif_carrier_on(dev);
		netif_carrier_on(peer);
	}
	return 0;
}

static int wire_stop(struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(w->peer);
	struct sk_buff *skb;

	netif_stop_queue(dev);
	netif_carrier_off(dev);
	if (peer)
		netif_carrier_off(peer);
	hrtimer_cancel(&w->timer);
	spin_lock_bh(&w->lock);
	if (w->leaving)
		wire_lose(w, w->leaving);
	w->leaving = NULL;
	while ((skb = __skb_dequeue(&w->travelling)))
		wire_lose(w, skb);
	spin_unlock_bh(&w->lock);
	return 0;
}

static void wire_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer;

	stats->tx_packets = w->sums.taken_frames;
	stats->tx_bytes = w->sums.taken_bytes;
	rcu_read_lock();
	peer = rcu_dereference(w->peer);
	if (peer) {
		w = netdev_priv(peer);
		stats->rx_packets = w->sums.delivered_frames;
		stats->rx_bytes = w->sums.delivered_bytes;
	}
	rcu_read_unlock();
}

static struct net_device *wire_get_peer_dev(struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);

	return rcu_dereference(w->peer);
}

static const struct net_device_ops wire_device_ops = {
	.ndo_open		= wire_open,
	.ndo_stop		= wire_stop,
	.ndo_start_xmit		= wire_xmit,
	.ndo_get_stats64	= wire_get_stats64,
	.ndo_get_peer_dev	= wire_get_peer_dev,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_set_mac_address	= eth_mac_addr,
};

static void wire_free(struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);

	kfree(w->plan.frames);
}

static void wire_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &wire_device_ops;
	dev->needs_free_netdev = true;
	dev->priv_destructor = wire_free;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;	/* as .ndo_get_peer_dev requires */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;		/* a frame stays in a list */
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features;
	dev->max_mtu = ETH_MAX_MTU;
}

static const struct nla_policy wire_policy[IFLA_WIRE_MAX + 1] = {
	[IFLA_WIRE_CABLE]	= { .type = NLA_U32 },
	[IFLA_WIRE_RATE]	= NLA_POLICY_MIN(NLA_U64, 1),
	[IFLA_WIRE_DELAY]	= { .type = NLA_U64 },
	[IFLA_WIRE_LOSE_EVERY]	= { .type = NLA_U32 },
	[IFLA_WIRE_LOSE_FRAMES]	= { .type = NLA_BINARY },
	[IFLA_WIRE_LOSE_FROM]	= { .type = NLA_U64 },
	[IFLA_WIRE_LOSE_UNTIL]	= { .type = NLA_U64 },
};

static int wire_validate(struct nlattr *tb[], struct nlattr *data[], struct netlink_ext_ack *extack)
{
	if (tb[IFLA_ADDRESS] && (nla_len(tb[IFLA_ADDRESS]) != ETH_ALEN ||
				 !is_valid_ether_addr(nla_data(tb[IFLA_ADDRESS]))))
		return -EADDRNOTAVAIL;
	if (!data || !data[IFLA_WIRE_CABLE] || !data[IFLA_WIRE_RATE]) {
		NL_SET_ERR_MSG(extack, "a wire needs the number of its cable and a rate");
		return -EINVAL;
	}
	if (data[IFLA_WIRE_LOSE_FRAMES] && nla_len(data[IFLA_WIRE_LOSE_FRAMES]) % sizeof(u64)) {
		NL_SET_ERR_MSG(extack, "numbers of frames have 64 bits");
		return -EINVAL;
	}
	return 0;
}

static u64 wire_u64(struct nlattr *data[], int attribute)
{
	return data[attribute] ? nla_get_u64(data[attribute]) : 0;
}

static int wire_read_plan(struct wire_plan *plan, struct nlattr *data[])
{
	struct nlattr *frames = data[IFLA_WIRE_LOSE_FRAMES];

	plan->every = data[IFLA_WIRE_LOSE_EVERY] ? nla_get_u32(data[IFLA_WIRE_LOSE_EVERY]) : 0;
	plan->from_ns = wire_u64(data, IFLA_WIRE_LOSE_FROM);
	plan->until_ns = wire_u64(data, IFLA_WIRE_LOSE_UNTIL);
	if (!frames)
		return 0;
	plan->frames = kmemdup(nla_data(frames), nla_len(frames), GFP_KERNEL);
	plan->number = nla_len(frames) / sizeof(u64);
	return plan->frames ? 0 : -ENOMEM;
}

/* The device at the other end of a cable; NULL if this is the first, an error if there are two already. */
static struct net_device *wire_other_end(u32 cable)
{
	struct wire *w;

	list_for_each_entry(w, &wires, others) {
		if (w->cable != cable)
			continue;
		return rtnl_dereference(w->peer) ? ERR_PTR(-EEXIST) : w->dev;
	}
	return NULL;
}

static int wire_create(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
		       struct netlink_ext_ack *extack)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer;
	int err;

	w->dev = dev;
	w->cable = nla_get_u32(data[IFLA_WIRE_CABLE]);
	w->rate_bps = nla_get_u64(data[IFLA_WIRE_RATE]);
	w->delay_ns = wire_u64(data, IFLA_WIRE_DELAY);
	spin_lock_init(&w->lock);
	__skb_queue_head_init(&w->travelling);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	w->timer.function = wire_timer;
#else
	hrtimer_setup(&w->timer, wire_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
#endif
	peer = wire_other_end(w->cable);
	if (IS_ERR(peer)) {
		NL_SET_ERR_MSG(extack, "this cable has two ends already");
		return PTR_ERR(peer);
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	err = wire_read_plan(&w->plan, data);
	if (err)
		return err;
	err = register_netdevice(dev);
	if (err)
		return err;	/* wire_free() was called */
	netif_carrier_off(dev);
	list_add(&w->others, &wires);
	if (peer) {
		rcu_assign_pointer(w->peer, peer);
		rcu_assign_pointer(((struct wire *)netdev_priv(peer))->peer, dev);
	}
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
static int wire_newlink(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
			struct nlattr *data[], struct netlink_ext_ack *extack)
{
	return wire_create(dev, tb, data, extack);
}
#else
static int wire_newlink(struct net_device *dev, struct rtnl_newlink_params *params,
			struct netlink_ext_ack *extack)
{
	return wire_create(dev, params->tb, params->data, extack);
}
#endif

static void wire_unlist(struct net_device *dev, struct list_head *head)
{
	struct wire *w = netdev_priv(dev);

	list_del(&w->others);
	RCU_INIT_POINTER(w->peer, NULL);
	unregister_netdevice_queue(dev, head);
}

/* A cable is taken away with both of its ends, as a veth's. */
static void wire_dellink(struct net_device *dev, struct list_head *head)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(w->peer);

	wire_unlist(dev, head);
	if (peer)
		wire_unlist(peer, head);
}

static size_t wire_get_xstats_size(const struct net_device *dev)
{
	return nla_total_size(sizeof(struct wire_xstats));
}

static int wire_fill_xstats(struct sk_buff *skb, const struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);

	return nla_put(skb, IFLA_INFO_XSTATS, sizeof(w->sums), &w->sums);
}

static struct rtnl_link_ops wire_link_ops __read_mostly = {
	.kind			= "wire",
	.priv_size		= sizeof(struct wire),
	.setup			= wire_setup,
	.maxtype		= IFLA_WIRE_MAX,
	.policy			= wire_policy,
	.validate		= wire_validate,
	.newlink		= wire_newlink,
	.dellink		= wire_dellink,
	.get_xstats_size	= wire_get_xstats_size,
	.fill_xstats		= wire_fill_xstats,
};
MODULE_ALIAS_RTNL_LINK("wire");

static int __init wire_init(void)
{
	return rtnl_link_register(&wire_link_ops);
}

static void __exit wire_exit(void)
{
	rtnl_link_unregister(&wire_link_ops);
}
module_init(wire_init);
module_exit(wire_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("netwarp: pairs of Ethernet devices with rate, delay and planned losses");

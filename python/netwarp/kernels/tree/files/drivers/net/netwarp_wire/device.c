// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a wire as a device. Two Ethernet devices of the same cable are its
 * ends; each has the properties of the direction that leaves it.
 *
 * A device takes as many frames as it has descriptors and stops its queue until
 * the last bit of the first one has left, as a network card does. With one
 * descriptor its root qdisc is the queue of the link, and a frame waits nowhere
 * else. A frame belongs to its socket until its last bit has left (TCP small
 * queues), and arrives at the other end one delay later. Both instants are
 * exact; frames of a busy period are rounded together, so that n of them take
 * the time of their bytes, up to the next whole nanosecond. If the rate
 * changes, the bits that have not left yet leave at the new rate.
 *
 * An aggregate is taken as its segments, each a frame of its own.
 *
 * A frame's fate is decided when it begins to leave (fate.c). A lost frame
 * takes its time on the wire, like any other. Frames arrive in the order in
 * which they left, whatever the jitter and changes of the delay, except those
 * that skip the delay. In place of a rate, a device may have a trace (trace.c).
 *
 * Made and changed over netlink (netlink.c): `kind` is "wire".
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/netwarp_timer.h>
#include <linux/rtnetlink.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif
#include "wire.h"

/* The recorder has the losses of wires by this name, so the call must not be the last: it would be the caller's. */
noinline void wire_lose(struct wire *w, struct sk_buff *skb)
{
	unsigned int bytes = skb->len;

	kfree_skb(skb);
	w->sums.lost_frames++;
	w->sums.lost_bytes += bytes;
}

/* How long a frame takes that begins to leave now, with the VLAN tag that is beside its data. */
static u64 wire_time_ns(struct wire *w, const struct sk_buff *skb, ktime_t now)
{
	unsigned int bytes = skb->len + (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0);
	u64 work = (u64)bytes * BITS_PER_BYTE * NSEC_PER_SEC;
	u64 spare = now == w->free_at ? w->spare : 0;
	u64 ns = work > spare ? DIV64_U64_ROUND_UP(work - spare, w->rate_bps) : 0;

	w->spare = ns * w->rate_bps + spare - work;
	return ns;
}

/* Start the timer for the earliest of what is to come. */
void wire_arm(struct wire *w)
{
	struct sk_buff *next = skb_peek(&w->travelling);
	ktime_t at = KTIME_MAX;

	if (!skb_queue_empty(&w->ring))
		at = w->free_at;
	if (next)
		at = min(at, wire_cb(next)->due);
	if (w->trace)
		at = min(at, wire_trace_next(w->trace));
	if (at != KTIME_MAX)
		hrtimer_start(&w->timer, at, HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* The first frame of the ring begins to leave. */
static void wire_begin(struct wire *w, ktime_t now)
{
	struct sk_buff *skb = skb_peek(&w->ring);

	if (!skb)
		return;
	w->begun_at = now;
	wire_judge(w, skb, ktime_to_ns(now));
	if (w->trace)
		wire_trace_begin(w, skb, now);
	else
		w->free_at = ktime_add_ns(now, wire_time_ns(w, skb, now));
}

/* The bits of the first frame that are still to leave do so at another rate. */
void wire_set_rate(struct wire *w, u64 rate_bps, ktime_t now)
{
	if (!skb_queue_empty(&w->ring) && w->free_at > now) {
		u64 work = (u64)ktime_sub(w->free_at, now) * w->rate_bps - w->spare;
		u64 ns = DIV64_U64_ROUND_UP(work, rate_bps);

		w->spare = ns * rate_bps - work;
		w->free_at = ktime_add_ns(now, ns);
	} else {
		w->spare = 0;
	}
	w->rate_bps = rate_bps;
}

/* From now on everything is lost, and so is the frame of which a part has not left. */
void wire_lose_leaving(struct wire *w, ktime_t now)
{
	struct sk_buff *skb = skb_peek(&w->ring);

	if (skb && w->free_at > now && wire_cb(skb)->number)
		wire_cb(skb)->lost = true;
}

static void wire_append(struct wire *w, struct sk_buff *skb)
{
	w->sums.taken_frames++;
	w->sums.taken_bytes += skb->len;
	if (w->descriptors > 1)
		netdev_sent_queue(w->dev, skb->len);
	wire_cb(skb)->twin = NULL;
	__skb_queue_tail(&w->ring, skb);
}

/* Take a frame, or the segments of an aggregate. */
static void wire_take(struct wire *w, struct sk_buff *skb)
{
	struct sk_buff *segments, *segment, *next;

	segments = skb_is_gso(skb) ? skb_gso_segment(skb, w->dev->features & ~NETIF_F_GSO_MASK) : NULL;
	if (!segments) {
		wire_append(w, skb);
		return;
	}
	if (IS_ERR(segments)) {
		wire_lose(w, skb);
		return;
	}
	consume_skb(skb);
	skb_list_walk_safe(segments, segment, next) {
		skb_mark_not_on_list(segment);
		wire_append(w, segment);
	}
}

static bool wire_may_take(const struct wire *w)
{
	if (w->trace && !wire_trace_is_open(w->trace))
		return false;
	return skb_queue_len(&w->ring) < w->descriptors;
}

/* Stop the queue, or let it run. */
static void wire_press_back(struct wire *w)
{
	if (!wire_may_take(w))
		netif_stop_queue(w->dev);
	else if (netif_queue_stopped(w->dev))
		netif_wake_queue(w->dev);
}

/*
 * When a frame arrives whose last bit has left. One that would overtake arrives
 * behind the one in front, after the time that it took to leave: frames are on
 * a line as fast as the wire, and never arrive all at once.
 */
static ktime_t wire_due(struct wire *w, const struct wire_cb *cb)
{
	ktime_t due = ktime_add_ns(w->free_at, wire_delay_ns(w, cb->number));

	if (cb->skips)
		return w->free_at;
	w->last_due = max(due, ktime_add(w->last_due, ktime_sub(w->free_at, w->begun_at)));
	return w->last_due;
}

/* A frame that skips the delay is before all others: none of them is due earlier than now. */
static void wire_travel(struct wire *w, struct sk_buff *skb)
{
	if (wire_cb(skb)->skips)
		__skb_queue_head(&w->travelling, skb);
	else
		__skb_queue_tail(&w->travelling, skb);
}

static void wire_copy(struct wire *w, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);

	if (!copy)
		return;
	w->sums.copied_frames++;
	w->sums.copied_bytes += copy->len;
	wire_travel(w, copy);
}

/* The last bit of the first frame has left. */
static void wire_left(struct wire *w)
{
	struct sk_buff *skb = __skb_dequeue(&w->ring);
	struct wire_cb *cb = wire_cb(skb);

	if (w->descriptors > 1)
		netdev_completed_queue(w->dev, 1, skb->len);
	skb_orphan(skb);
	if (cb->lost || (cb->flipped && wire_flip(w, skb))) {
		wire_lose(w, skb);
		return;
	}
	cb->due = wire_due(w, cb);
	if (wire_is_over(w)) {
		wire_send_over(w, skb);
		return;
	}
	if (cb->copied)
		wire_copy(w, skb);
	wire_travel(w, skb);
}

/* Every frame leaves whose last bit has left by now. */
static void wire_serialise(struct wire *w, ktime_t now)
{
	while (!skb_queue_empty(&w->ring) && w->free_at <= now) {
		wire_left(w);
		wire_begin(w, now);
	}
}

static netdev_tx_t wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);
	ktime_t now = ktime_get();
	bool was_idle;

	/* Its node is in another kernel, which sends this as well. */
	if (wire_stands_in(w)) {
		consume_skb(skb);
		return NETDEV_TX_OK;
	}
	spin_lock(&w->lock);
	skb_tx_timestamp(skb);
	was_idle = skb_queue_empty(&w->ring);
	wire_take(w, skb);
	if (was_idle)
		wire_begin(w, now);
	wire_serialise(w, now);
	/*
	 * More that is to follow at once are segments of the same packet, cut on
	 * its way here (validate_xmit_skb()): with one descriptor, a queue gives
	 * no second packet. They are taken like those of an aggregate, and not
	 * put back into a queue that would count them again.
	 */
	if (w->descriptors > 1 || !netdev_xmit_more())
		wire_press_back(w);
	wire_arm(w);
	spin_unlock(&w->lock);
	return NETDEV_TX_OK;
}

/* Hand over to the other end, at once and not by its backlog: this is a softirq already. */
static void wire_deliver(struct wire *w, struct sk_buff *skb)
{
	struct net_device *peer = rcu_dereference(w->peer);
	struct sk_buff *twin = wire_cb(skb)->twin;
	unsigned int bytes = skb->len;

	if (!peer || !is_skb_forwardable(peer, skb)) {
		wire_lose(w, skb);
		consume_skb(twin);
		return;
	}
	w->sums.delivered_frames++;
	w->sums.delivered_bytes += bytes;
	if (__dev_forward_skb(peer, skb) == NET_RX_SUCCESS)
		netif_receive_skb(skb);
	consume_skb(twin);
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
	if (w->trace)
		wire_trace_advance(w, now);
	wire_serialise(w, now);
	wire_press_back(w);
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

	if (w->descriptors > 1)
		netdev_reset_queue(dev);
	if (w->trace)
		wire_trace_open(w->trace, ktime_get());
	netif_start_queue(dev);
	spin_lock_bh(&w->lock);
	wire_press_back(w);
	wire_arm(w);
	spin_unlock_bh(&w->lock);
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
	while ((skb = __skb_dequeue(&w->ring)))
		wire_lose(w, skb);
	while ((skb = __skb_dequeue(&w->travelling))) {
		consume_skb(wire_cb(skb)->twin);
		wire_lose(w, skb);
	}
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

static void wire_free_plan(struct wire_plan *plan)
{
	kfree(plan->numbers);
	kfree(plan->flows);
}

static void wire_free(struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);

	wire_free_plan(&w->lose);
	wire_free_plan(&w->copy);
	wire_free_plan(&w->skip);
	wire_trace_free(w->trace);
	kfree(w->table);
}

void wire_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &wire_device_ops;
	dev->needs_free_netdev = true;
	dev->priv_destructor = wire_free;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;	/* as .ndo_get_peer_dev requires */
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;		/* a frame stays in a list */
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA |
			NETIF_F_GSO_SOFTWARE;
	dev->hw_features = dev->features;
	/* A VLAN tag stays beside the data, so that a frame has as many bytes here as in its queue. */
	dev->features |= NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_STAG_TX;
	dev->max_mtu = ETH_MAX_MTU;
}

void wire_prepare(struct wire *w)
{
	spin_lock_init(&w->lock);
	__skb_queue_head_init(&w->ring);
	__skb_queue_head_init(&w->travelling);
	netwarp_prepare_timer(&w->timer, wire_timer, HRTIMER_MODE_ABS_PINNED_SOFT);
}

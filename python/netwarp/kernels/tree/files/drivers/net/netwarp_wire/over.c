// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a wire between parts of a network that are in different kernels
 * (netwarp_join.c). Each kernel has both devices. The one whose node is here
 * serialises its frames, which go to the other kernel. There the same device
 * stands in for it: what comes travels on it to its peer, whose node is there.
 */
#include <linux/netdevice.h>
#include <linux/netwarp_join.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include "wire.h"

static LIST_HEAD(stand_ins);	/* changed under RTNL */

/* Whether its frames leave this kernel. */
bool wire_is_over(const struct wire *w)
{
	return w->part != WIRE_HERE && w->part != netwarp_part();
}

bool wire_stands_in(const struct wire *w)
{
	return w->part != WIRE_HERE && w->part == netwarp_part();
}

/* The other kernel has the frame from now on. */
void wire_send_over(struct wire *w, struct sk_buff *skb)
{
	const struct wire_cb *cb = wire_cb(skb);

	netwarp_send_over(w->part, w->dev->ifindex, ktime_to_ns(cb->due), skb);
	if (cb->copied) {
		w->sums.copied_frames++;
		w->sums.copied_bytes += skb->len;
		netwarp_send_over(w->part, w->dev->ifindex, ktime_to_ns(cb->due), skb);
	}
	consume_skb(skb);
}

static struct wire *stand_in(u32 ifindex)
{
	struct wire *w;

	list_for_each_entry_rcu(w, &stand_ins, stand_ins)
		if (w->dev->ifindex == ifindex)
			return w;
	return NULL;
}

static void wire_arrives(u32 ifindex, u64 due_ns, struct sk_buff *skb, struct sk_buff *twin)
{
	struct wire *w;

	rcu_read_lock();
	w = stand_in(ifindex);
	wire_cb(skb)->due = ns_to_ktime(due_ns);
	wire_cb(skb)->skips = false;
	wire_cb(skb)->twin = twin;
	if (!w) {
		consume_skb(twin);
		kfree_skb(skb);
	} else {
		skb->dev = w->dev;
		spin_lock(&w->lock);
		if (netif_running(w->dev)) {
			__skb_queue_tail(&w->travelling, skb);
			wire_arm(w);
		} else {
			consume_skb(twin);
			wire_lose(w, skb);
		}
		spin_unlock(&w->lock);
	}
	rcu_read_unlock();
}

void wire_join(struct wire *w, u32 part)
{
	w->part = part;
	INIT_LIST_HEAD(&w->stand_ins);
	if (wire_stands_in(w))
		list_add_tail_rcu(&w->stand_ins, &stand_ins);
}

/* Twice, if the namespaces of both ends go at once. */
void wire_part(struct wire *w)
{
	if (!list_empty(&w->stand_ins)) {
		list_del_rcu(&w->stand_ins);
		synchronize_net();
		INIT_LIST_HEAD(&w->stand_ins);
	}
}

void wire_listen(bool listens)
{
	netwarp_hear(listens ? wire_arrives : NULL);
}

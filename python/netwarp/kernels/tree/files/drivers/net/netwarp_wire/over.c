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

	if (cb->copied) {
		w->sums.copied_frames++;
		w->sums.copied_bytes += skb->len;
	}
	netwarp_send_over(w->part, w->dev->ifindex, ktime_to_ns(cb->due), cb->copied, skb);
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

/* As wire_left() does: the copy is before the frame, with which it shares its data. */
static void wire_go_on(struct wire *w, const struct netwarp_arrival_over *a)
{
	struct sk_buff *copy = a->twice ? skb_clone(a->skb, GFP_ATOMIC) : NULL;

	if (copy)
		__skb_queue_tail(&w->travelling, copy);
	wire_cb(a->skb)->twin = a->twin;
	__skb_queue_tail(&w->travelling, a->skb);
	wire_arm(w);
}

static void wire_lose_both(struct wire *w, const struct netwarp_arrival_over *a)
{
	consume_skb(a->twin);
	if (a->twice) {
		struct sk_buff *copy = skb_clone(a->skb, GFP_ATOMIC);

		if (copy)
			wire_lose(w, copy);
	}
	wire_lose(w, a->skb);
}

static void wire_arrives(const struct netwarp_arrival_over *a)
{
	struct wire_cb *cb = wire_cb(a->skb);
	struct wire *w;

	rcu_read_lock();
	w = stand_in(a->ifindex);
	cb->due = ns_to_ktime(a->due_ns);
	cb->skips = false;
	cb->twin = NULL;
	if (w) {
		a->skb->dev = w->dev;
		spin_lock(&w->lock);
		if (netif_running(w->dev))
			wire_go_on(w, a);
		else
			wire_lose_both(w, a);
		spin_unlock(&w->lock);
	} else {
		consume_skb(a->twin);
		kfree_skb(a->skb);
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

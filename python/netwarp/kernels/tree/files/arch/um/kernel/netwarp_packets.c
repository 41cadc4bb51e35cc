// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: where packets are. Each carries the place at which it was seen last
 * (enum netwarp_place), so that wherever it ends, it is known what became of
 * it, and what passed an interface can be held against what came to the next.
 */
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/netdevice.h>
#include <linux/netwarp.h>
#include <linux/sctp.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <trace/events/qdisc.h>
#include <trace/events/skb.h>
#include <netwarp_record.h>

#define INTERFACES	65536
#define FUNCTIONS	256

/* Of a packet, in skb->netwarp_flags. */
#define CAME		1	/* is in `received` of an interface, and in none of the three that follow */
#define ELSEWHERE	2	/* is in `elsewhere` of that interface */
#define ONE_PLACE	4	/* its segments are not in `extra` of its queue's interface */
#define WAITS		8	/* is in `waiting` of that interface, or in `unsent` if it is the node's own */

struct interface {
	struct netwarp_counts counts;
	/*
	 * Of the aggregates in the root queue, which the qdisc counts as one
	 * packet each, the segments beyond one. What a qdisc splits on arrival
	 * it counts as the wire does.
	 */
	s32 extra;
};

static struct interface *interfaces[INTERFACES];
static bool watching;
static u32 last_id;
static u32 split_id;

/* How records name an interface: as the lab does, whose indices are unique, or by a number of its own. */
static u32 number_of(const struct net_device *dev)
{
	return netwarp_everything ? dev->netwarp_number : dev->ifindex;
}

static struct interface *interface_of(u32 ifindex)
{
	return ifindex < INTERFACES ? interfaces[ifindex] : NULL;
}

int netwarp_watch(unsigned int ifindex)
{
	struct interface *at;

	if (ifindex >= INTERFACES)
		return -EINVAL;
	at = interfaces[ifindex] ?: kzalloc(sizeof(*at), GFP_KERNEL);
	if (!at)
		return -ENOMEM;
	at->counts.type = NETWARP_COUNTS;
	at->counts.size = sizeof(at->counts);
	at->counts.ifindex = ifindex;
	interfaces[ifindex] = at;
	watching = true;
	return 0;
}

void netwarp_emit_counts(void)
{
	unsigned int i;

	for (i = 0; i < INTERFACES; i++) {
		if (!interfaces[i])
			continue;
		interfaces[i]->counts.time_ns = netwarp_record_time();
		netwarp_emit(&interfaces[i]->counts, sizeof(interfaces[i]->counts));
	}
}

static u32 segments(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? max_t(u32, 1, skb_shinfo(skb)->gso_segs) : 1;
}

/* Of each segment of an aggregate, with the Ethernet header, as qdisc_pkt_len_init() has it. */
static u32 header_bytes(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	const u8 *transport = skb->encapsulation ? skb_inner_transport_header(skb) : skb_transport_header(skb);
	u32 bytes = skb_mac_header_was_set(skb) ? transport - skb_mac_header(skb) :
						  transport - skb_network_header(skb) + ETH_HLEN;
	const struct tcphdr *tcp;
	struct tcphdr room;

	if (shared->gso_type & SKB_GSO_UDP_L4)
		return bytes + sizeof(struct udphdr);
	if (shared->gso_type & SKB_GSO_SCTP)
		return bytes + sizeof(struct sctphdr);
	if (!(shared->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)))
		return bytes;
	tcp = skb_header_pointer(skb, transport - skb->data, sizeof(room), &room);
	return tcp ? bytes + __tcp_hdrlen(tcp) : bytes;
}

static u32 wire_bytes(const struct sk_buff *skb)
{
	u32 bytes = skb->len, segs = segments(skb);

	if (skb_mac_header_was_set(skb))
		bytes += skb->data - skb_mac_header(skb);
	else if (skb->protocol)
		bytes += ETH_HLEN - skb_network_offset(skb);
	return segs > 1 ? bytes + (segs - 1) * header_bytes(skb) : bytes;
}

static void be_at(struct sk_buff *skb, enum netwarp_place place, u32 ifindex, u8 flags)
{
	skb->netwarp_place = place;
	skb->netwarp_ifindex = ifindex;
	skb->netwarp_flags = flags;
}

static void leave_elsewhere(struct sk_buff *skb)
{
	struct interface *at = interface_of(skb->netwarp_ifindex);

	if (!(skb->netwarp_flags & ELSEWHERE) || !at)
		return;
	skb->netwarp_flags &= ~ELSEWHERE;
	at->counts.elsewhere -= segments(skb);
}

static void wait_no_more(struct sk_buff *skb)
{
	struct interface *at = interface_of(skb->netwarp_ifindex);

	if (!(skb->netwarp_flags & WAITS) || !at)
		return;
	skb->netwarp_flags &= ~WAITS;
	if (skb->netwarp_flags & CAME)
		at->counts.waiting -= segments(skb);
	else
		at->counts.unsent -= segments(skb);
}

void __netwarp_waits(struct sk_buff *skb, const struct net_device *dev)
{
	bool came = skb->netwarp_flags & CAME;
	u32 ifindex = !came && dev ? number_of(dev) : skb->netwarp_ifindex;
	struct interface *at = interface_of(ifindex);

	if (!at || (!came && !dev) || (skb->netwarp_flags & (WAITS | ELSEWHERE)))
		return;
	skb->netwarp_flags |= WAITS;
	skb->netwarp_ifindex = ifindex;
	if (came)
		at->counts.waiting += segments(skb);
	else
		at->counts.unsent += segments(skb);
}

/* Where a packet goes that has come in; `sum` is one of the sums of its interface. */
#define account(skb, sum)							\
do {										\
	struct interface *__at = interface_of((skb)->netwarp_ifindex);		\
										\
	wait_no_more(skb);							\
	leave_elsewhere(skb);							\
	if (((skb)->netwarp_flags & CAME) && __at)				\
		__at->counts.sum += segments(skb);				\
	(skb)->netwarp_flags &= ~CAME;						\
} while (0)

void __netwarp_output(struct sk_buff *skb)
{
	struct interface *at = interface_of(skb->netwarp_ifindex);

	if (!watching)
		return;
	wait_no_more(skb);
	if (interface_of(number_of(skb->dev))) {
		u8 came = skb->netwarp_flags & CAME;

		/* What comes in by one interface and is dropped at another counts where it is dropped. */
		leave_elsewhere(skb);
		be_at(skb, NETWARP_OUTPUT, number_of(skb->dev), came);
		return;
	}
	if (skb->netwarp_place == NETWARP_QUEUED)
		skb->netwarp_place = NETWARP_OUTPUT;	/* redirected by a filter in a queue */
	if (at && (skb->netwarp_flags & CAME) && !(skb->netwarp_flags & ELSEWHERE)) {
		skb->netwarp_flags |= ELSEWHERE;
		at->counts.elsewhere += segments(skb);
	}
}

void __netwarp_packet(struct sk_buff *skb, struct netwarp_enqueue *e)
{
	if (!interface_of(number_of(skb->dev)))
		return;
	account(skb, forwarded);
	be_at(skb, NETWARP_QUEUED, number_of(skb->dev), 0);
	if (!++last_id)
		++last_id;
	skb->netwarp_id = last_id;
	memset(e, 0, sizeof(*e));
	e->type = NETWARP_ENQUEUE;
	e->size = sizeof(*e);
	e->ifindex = number_of(skb->dev);
	e->time_ns = netwarp_record_time();
	e->id = skb->netwarp_id;
	e->bytes = wire_bytes(skb);
	e->segs = segments(skb);
	netwarp_read_tuple(skb, &e->tuple);
}

void __netwarp_segmented(struct sk_buff *skb)
{
	if (skb->netwarp_place != NETWARP_QUEUED)
		return;
	skb->netwarp_flags |= ONE_PLACE;
	split_id = skb->netwarp_id;
}

static void forget_extra(struct interface *at, struct sk_buff *skb)
{
	if (at && !(skb->netwarp_flags & ONE_PLACE))
		at->extra -= segments(skb) - 1;
	skb->netwarp_flags |= ONE_PLACE;
}

void __netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict,
			struct sk_buff *to_free)
{
	struct interface *at = interface_of(e->ifindex);
	s32 extra = e->id == split_id ? 0 : e->segs - 1;
	struct sk_buff *skb;

	for (skb = to_free; skb; skb = skb->next) {
		if (skb->netwarp_id == e->id)
			extra = 0;
		else if (skb->netwarp_id)
			forget_extra(at, skb);
		skb->netwarp_flags |= ONE_PLACE;
	}
	at->extra += extra;
	e->qlen = qdisc_qlen_sum(q) + at->extra;
	e->backlog = q->qstats.backlog;
	e->tuple.verdict = (verdict & NET_XMIT_MASK) | (verdict & __NET_XMIT_STOLEN ? NETWARP_STOLEN : 0);
	netwarp_emit(e, sizeof(*e));
}

static void dequeued(struct sk_buff *skb, const struct Qdisc *q, struct interface *at)
{
	struct netwarp_dequeue d = {
		.type = NETWARP_DEQUEUE, .size = sizeof(d), .ifindex = at->counts.ifindex,
		.time_ns = netwarp_record_time(), .id = skb->netwarp_id,
		.backlog = q->qstats.backlog, .tos = netwarp_read_tos(skb),
		.segs = segments(skb), .bytes = wire_bytes(skb),
	};

	/* One without a number came before recording began. */
	if (skb->netwarp_id)
		forget_extra(at, skb);
	d.qlen = qdisc_qlen_sum(q) + at->extra;
	at->counts.sent += d.segs;
	at->counts.sent_bytes += d.bytes;
	be_at(skb, NETWARP_SENT, d.ifindex, 0);
	skb->netwarp_id = 0;
	netwarp_emit(&d, sizeof(d));
}

void __netwarp_bypassed(struct sk_buff *skb, const struct Qdisc *q)
{
	struct netwarp_enqueue e = {};

	__netwarp_packet(skb, &e);
	if (!e.type)
		return;
	e.qlen = e.segs;
	e.backlog = e.bytes;
	netwarp_emit(&e, sizeof(e));
	skb->netwarp_flags |= ONE_PLACE;
	dequeued(skb, q, interface_of(e.ifindex));
}

/*
 * Whether it has left the queue before, and its device had no room for it (dev_requeue_skb()): a segment of a packet
 * that was cut up on its way to the device (validate_xmit_skb()).
 */
static bool was_put_back(const struct sk_buff *skb, const struct interface *at)
{
	return skb->netwarp_place == NETWARP_SENT && skb->netwarp_ifindex == at->counts.ifindex;
}

static void on_dequeue(void *data, struct Qdisc *q, const struct netdev_queue *txq,
		       int packets, struct sk_buff *skb)
{
	struct interface *at;

	if (!netwarp_recording || !skb)
		return;
	at = interface_of(number_of(txq->dev));
	for (; at && skb && packets > 0; skb = skb->next, packets--)
		if (!was_put_back(skb, at))
			dequeued(skb, q, at);
}

/* Whether it has come over the interface's own link, and not through the node, as from an ifb or out of a tunnel. */
static bool is_from_link(const struct sk_buff *skb)
{
	const struct net_device_ops *ops = skb->dev->netdev_ops;
	struct net_device *peer;

	if (!netwarp_everything)
		return true;
	peer = ops->ndo_get_peer_dev ? ops->ndo_get_peer_dev(skb->dev) : skb->dev;
	return peer && skb->netwarp_ifindex == number_of(peer);
}

void __netwarp_received(struct sk_buff *skb)
{
	struct interface *at = interface_of(number_of(skb->dev));

	if (!at)
		return;
	/* Back from an interface that is not recorded, such as an ifb. */
	if (skb->netwarp_flags & CAME) {
		leave_elsewhere(skb);
		return;
	}
	if (skb->netwarp_place == NETWARP_SENT && is_from_link(skb)) {
		at->counts.arrived += segments(skb);
		at->counts.arrived_bytes += wire_bytes(skb);
	}
	at->counts.received += segments(skb);
	be_at(skb, NETWARP_RECEIVED, number_of(skb->dev), CAME);
	skb->netwarp_id = 0;
	if (skb->protocol != htons(ETH_P_IP) && skb->protocol != htons(ETH_P_IPV6))
		__netwarp_delivered(skb);
}

void __netwarp_delivered(struct sk_buff *skb)
{
	if (!(skb->netwarp_flags & CAME))
		return;
	account(skb, delivered);
	skb->netwarp_place = NETWARP_DELIVERED;
}

void __netwarp_settled(struct sk_buff *skb)
{
	skb->netwarp_place = NETWARP_SETTLED;
}

/* What becomes of several that were put together is recorded of the whole. */
void __netwarp_parts(const struct sk_buff *whole)
{
	bool arrived = whole->netwarp_place == NETWARP_DELIVERED || whole->netwarp_place == NETWARP_SETTLED;
	struct sk_buff *part;

	for (part = skb_shinfo(whole)->frag_list; part; part = part->next) {
		if (arrived)
			account(part, delivered);
		else
			account(part, dropped);
		part->netwarp_place = NETWARP_SETTLED;
	}
}

/* The fragments are new packets. */
void __netwarp_fragmented(struct sk_buff *skb)
{
	account(skb, forwarded);
}

/* An interface of the namespace in which a packet is that was at none so far. */
static u32 any_interface(const struct sock *sk)
{
	struct net_device *dev;
	u32 found = 0;

	if (!sk)
		return 0;
	rcu_read_lock();
	for_each_netdev_rcu(sock_net(sk), dev) {
		if (interface_of(number_of(dev))) {
			found = number_of(dev);
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static void name_function(unsigned long address)
{
	static unsigned long named[FUNCTIONS];
	static unsigned int count;
	struct netwarp_symbol s = {
		.type = NETWARP_SYMBOL, .size = sizeof(s), .time_ns = netwarp_record_time(),
		.function = address,
	};
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	for (i = 0; i < count; i++)
		if (named[i] == address)
			return;
	if (count < FUNCTIONS)
		named[count++] = address;
	sprint_symbol_no_offset(name, address);
	strscpy(s.name, name, sizeof(s.name));
	netwarp_emit(&s, sizeof(s));
}

/* A copy for a packet socket is not the packet. */
static bool is_copy(const struct sock *sk)
{
	return sk && sk->sk_family == AF_PACKET;
}

static void dropped(struct sk_buff *skb, unsigned long location, u32 reason, const struct sock *rx_sk)
{
	struct interface *at = interface_of(skb->netwarp_ifindex);
	const struct sock *sk = rx_sk ?: skb->sk;
	struct netwarp_drop d = {
		.type = NETWARP_DROP, .size = sizeof(d), .reason = reason,
		.time_ns = netwarp_record_time(), .function = location,
		.ifindex = skb->netwarp_ifindex, .place = skb->netwarp_place,
		.segs = segments(skb),
	};

	if (d.place == NETWARP_SETTLED || is_copy(rx_sk) || is_copy(skb->sk))
		return;
	if (skb->protocol == htons(ETH_P_IP) || skb->protocol == htons(ETH_P_IPV6)) {
		netwarp_read_tuple(skb, &d.tuple);
	} else if (d.place == NETWARP_LOCAL) {
		/* It has no header yet; what is no Internet socket's is none of the network's. */
		if (!sk || !sk_fullsock(sk) || (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
			return;
		netwarp_read_socket(sk, &d.tuple);
	}
	if (d.place == NETWARP_LOCAL)
		d.ifindex = any_interface(sk);
	d.bytes = wire_bytes(skb);
	if (d.place == NETWARP_SENT && at) {
		at->counts.lost += d.segs;
		at->counts.lost_bytes += d.bytes;
	}
	account(skb, dropped);
	name_function(location);
	netwarp_emit(&d, sizeof(d));
}

static void ended(struct sk_buff *skb, u32 reason)
{
	struct netwarp_free f = {
		.type = NETWARP_FREE, .size = sizeof(f), .reason = reason,
		.time_ns = netwarp_record_time(), .id = skb->netwarp_id,
		.segs = segments(skb), .bytes = wire_bytes(skb),
	};

	forget_extra(interface_of(skb->netwarp_ifindex), skb);
	netwarp_emit(&f, sizeof(f));
}

static void on_free(void *data, struct sk_buff *skb, void *location,
		    enum skb_drop_reason reason, struct sock *rx_sk)
{
	/* skb->dev cannot be asked: in many places it is something else (struct sk_buff). */
	if (!netwarp_recording || !watching)
		return;
	if (skb->netwarp_place == NETWARP_QUEUED)
		ended(skb, reason);
	else
		dropped(skb, (unsigned long)location, reason, rx_sk);
}

/* cake's filter of ACKs, for one, says nothing of what it takes out. */
static void on_consume(void *data, struct sk_buff *skb, void *location)
{
	if (netwarp_recording && skb->netwarp_place == NETWARP_QUEUED &&
	    !(skb_is_gso(skb) && (skb->netwarp_flags & ONE_PLACE)))
		ended(skb, SKB_CONSUMED);
}

static int __init netwarp_packets_init(void)
{
	/* Without its type: the receiver is const in later kernels. */
	return register_trace_qdisc_dequeue(on_dequeue, NULL) ?:
	       register_trace_kfree_skb((void *)on_free, NULL) ?:
	       register_trace_consume_skb(on_consume, NULL);
}
late_initcall(netwarp_packets_init);

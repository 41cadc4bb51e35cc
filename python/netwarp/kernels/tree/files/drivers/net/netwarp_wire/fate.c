// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what becomes of the frames of a wire, by plan or by chance.
 *
 * Unicast frames have numbers, from the first one that began to leave; the
 * kernel sends the others by itself (MLD), and nothing happens to them. Each
 * draw is a function of seed, property and number alone, so that no property
 * and no change moves the draws of another.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/math64.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include "wire.h"

enum wire_stream {
	WIRE_STATE,
	WIRE_LOSS,
	WIRE_COPY,
	WIRE_FLIP,
	WIRE_BIT,
	WIRE_SKIP,
	WIRE_JITTER,
};

/* What a plan may ask of a packet. */
struct wire_headers {
	struct wire_flow	flow;
	enum wire_kind		kind;
};

#define GAMMA 0x9e3779b97f4a7c15ULL

/*
 * SplitMix64: G. L. Steele, D. Lea, C. H. Flood: Fast Splittable Pseudorandom
 * Number Generators, OOPSLA 2014.
 */
static u64 mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static u32 draw(const struct wire *w, enum wire_stream stream, u64 number)
{
	u64 first = mix(w->seed + (stream + 1) * GAMMA);

	return mix(first + number * GAMMA) >> 32;
}

static u32 draw_below(const struct wire *w, enum wire_stream stream, u64 number, u64 limit)
{
	return mul_u64_u32_shr(limit, draw(w, stream, number), 32);
}

/* The probability is checked first, so that a wire without the property draws nothing. */
static bool happens(const struct wire *w, enum wire_stream stream, u64 number, u64 probability)
{
	return probability && draw(w, stream, number) < probability;
}

static bool chain_loses(struct wire *w, u64 number)
{
	u32 moved, next = 0;

	if (!w->random)
		return false;
	moved = draw(w, WIRE_STATE, number);
	while (next < WIRE_STATES - 1 && moved >= w->chain.below[w->state][next])
		next++;
	w->state = next;
	return happens(w, WIRE_LOSS, number, w->chain.loses[next]);
}

bool wire_loses_all(const struct wire *w)
{
	return w->random && w->chain.below[0][0] >= WIRE_CERTAIN && w->chain.loses[0] >= WIRE_CERTAIN;
}

static void read_tcp(const struct sk_buff *skb, int offset, struct wire_headers *found)
{
	struct tcphdr room, *tcp = skb_header_pointer(skb, offset, sizeof(room), &room);

	if (!tcp)
		return;
	if (skb->len > offset + __tcp_hdrlen(tcp))
		found->kind = WIRE_DATA;
	else
		found->kind = tcp->syn || tcp->fin || tcp->rst ? WIRE_ANY : WIRE_ACK;
}

static void read_transport(const struct sk_buff *skb, int offset, struct wire_headers *found)
{
	__be16 room[2], *ports;

	switch (found->flow.protocol) {
	case IPPROTO_TCP:
		read_tcp(skb, offset, found);
		break;
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
	case IPPROTO_DCCP:
		break;
	default:
		return;
	}
	ports = skb_header_pointer(skb, offset, sizeof(room), room);
	if (!ports)
		return;
	found->flow.source_port = ntohs(ports[0]);
	found->flow.destination_port = ntohs(ports[1]);
}

static void read_headers(const struct sk_buff *skb, struct wire_headers *found)
{
	int offset = skb_network_offset(skb);

	memset(found, 0, sizeof(*found));
	found->kind = WIRE_DATA;
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr room, *ip = skb_header_pointer(skb, offset, sizeof(room), &room);

		if (!ip)
			return;
		found->flow.family = 4;
		found->flow.protocol = ip->protocol;
		memcpy(found->flow.source, &ip->saddr, sizeof(ip->saddr));
		memcpy(found->flow.destination, &ip->daddr, sizeof(ip->daddr));
		if (!(ip->frag_off & htons(IP_OFFSET)))
			read_transport(skb, offset + ip->ihl * 4, found);
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr room, *ip = skb_header_pointer(skb, offset, sizeof(room), &room);
		__be16 fragment;
		int at;

		if (!ip)
			return;
		found->flow.family = 6;
		found->flow.protocol = ip->nexthdr;
		memcpy(found->flow.source, &ip->saddr, sizeof(ip->saddr));
		memcpy(found->flow.destination, &ip->daddr, sizeof(ip->daddr));
		at = ipv6_skip_exthdr(skb, offset + sizeof(*ip), &found->flow.protocol, &fragment);
		if (at >= 0 && !(fragment & htons(IP6_OFFSET)))
			read_transport(skb, at, found);
	}
}

static bool is_same_end(const u8 *address, u16 port, const u8 *other, u16 other_port)
{
	return !memcmp(address, other, 16) && (!port || port == other_port);
}

/* Whether a packet is a flow's, in either direction. */
static bool is_of(const struct wire_flow *flow, const struct wire_flow *packet)
{
	if (flow->family != packet->family || flow->protocol != packet->protocol)
		return false;
	if (is_same_end(flow->source, flow->source_port, packet->source, packet->source_port) &&
	    is_same_end(flow->destination, flow->destination_port, packet->destination, packet->destination_port))
		return true;
	return is_same_end(flow->source, flow->source_port, packet->destination, packet->destination_port) &&
	       is_same_end(flow->destination, flow->destination_port, packet->source, packet->source_port);
}

/* Whether a plan is about a packet, which then counts. */
static bool concerns(const struct wire_plan *plan, const struct sk_buff *skb)
{
	struct wire_headers found;
	u32 i;

	if (plan->kind == WIRE_ANY && !plan->flow_number)
		return true;
	read_headers(skb, &found);
	if (plan->kind != WIRE_ANY && plan->kind != found.kind)
		return false;
	for (i = 0; i < plan->flow_number; i++)
		if (is_of(&plan->flows[i], &found.flow))
			return true;
	return !plan->flow_number;
}

static bool plan_says(struct wire_plan *plan, const struct sk_buff *skb, u64 now_ns)
{
	if (!plan->exists || !concerns(plan, skb))
		return false;
	plan->counted++;
	if (plan->next < plan->number && plan->numbers[plan->next] == plan->counted) {
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

/* Decide about a frame that begins to leave. */
void wire_judge(struct wire *w, struct sk_buff *skb, u64 now_ns)
{
	struct wire_cb *cb = wire_cb(skb);

	memset(cb, 0, sizeof(*cb));
	if (is_multicast_ether_addr(skb->data))
		return;
	cb->number = ++w->counted;
	cb->copied = plan_says(&w->copy, skb, now_ns) || happens(w, WIRE_COPY, cb->number, w->copies);
	cb->skips = plan_says(&w->skip, skb, now_ns) || happens(w, WIRE_SKIP, cb->number, w->skips);
	cb->flipped = happens(w, WIRE_FLIP, cb->number, w->flips);
	cb->lost = plan_says(&w->lose, skb, now_ns);
	if (chain_loses(w, cb->number) && !(w->marks && INET_ECN_set_ce(skb)))
		cb->lost = true;
}

/* Change one bit of a frame, any of them with the same probability. */
int wire_flip(const struct wire *w, struct sk_buff *skb)
{
	u32 bit = draw_below(w, WIRE_BIT, wire_cb(skb)->number, (u64)skb->len * BITS_PER_BYTE);
	int err = 0;

	if (skb->ip_summed == CHECKSUM_PARTIAL)
		err = skb_checksum_help(skb);
	if (!err)
		err = skb_ensure_writable(skb, skb->len);
	if (err)
		return err;
	skb->ip_summed = CHECKSUM_NONE;
	skb->data[bit / BITS_PER_BYTE] ^= BIT(bit % BITS_PER_BYTE);
	return 0;
}

/* The delay of a frame with this number, at least 0. */
s64 wire_delay_ns(const struct wire *w, u64 number)
{
	s64 off = 0;

	if (w->jitter_ns && number) {
		if (w->table) {
			off = w->table[draw_below(w, WIRE_JITTER, number, w->table_size)];
			off = div_s64(off * w->jitter_ns, WIRE_TABLE_ONE);
		} else {
			off = mul_u64_u32_shr(2 * w->jitter_ns + 1, draw(w, WIRE_JITTER, number), 32);
			off -= w->jitter_ns;
		}
	}
	return max_t(s64, (s64)w->delay_ns + off, 0);
}

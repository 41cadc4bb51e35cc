// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: payload that reached the socket it was sent to. See include/linux/netwarp.h.
 *
 * A sender learns of it a good while later, and all at once after a repair: what a cumulative ACK acknowledges was
 * delivered at other times. Here is the receiver itself, behind its checksum and before anything merges segments.
 *
 * What has arrived may still wait for what was lost before it. Of TCP the numbers tell what a reader can take; SCTP's
 * receiver has a second hook, where it puts in order what it held back.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netwarp.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/sctp/structs.h>
#include <net/sctp/ulpevent.h>
#include <net/tcp.h>
#include <netwarp_record.h>

bool netwarp_arrivals;

/* In the data's direction; TCP and UDP have their ports at the same offset. */
static void read_headers(const struct sk_buff *skb, struct netwarp_tuple *t)
{
	const struct udphdr *ports = udp_hdr(skb);

	t->sport = ntohs(ports->source);
	t->dport = ntohs(ports->dest);
	if (skb->protocol == htons(ETH_P_IPV6)) {
		t->family = 6;
		memcpy(t->saddr, &ipv6_hdr(skb)->saddr, 16);
		memcpy(t->daddr, &ipv6_hdr(skb)->daddr, 16);
	} else {
		t->family = 4;
		memcpy(t->saddr, &ip_hdr(skb)->saddr, 4);
		memcpy(t->daddr, &ip_hdr(skb)->daddr, 4);
	}
}

static void read_address(const union sctp_addr *from, u8 *family, u8 *address, u16 *port)
{
	*port = ntohs(from->v4.sin_port);
	if (from->sa.sa_family == AF_INET6) {
		*family = 6;
		memcpy(address, &from->v6.sin6_addr, 16);
	} else {
		*family = 4;
		memcpy(address, &from->v4.sin_addr, 4);
	}
}

/* The packet's headers may have gone from the event's buffer; its chunk keeps their addresses. */
static void read_event(const struct sctp_ulpevent *event, struct netwarp_tuple *t)
{
	read_address(&event->chunk->source, &t->family, t->saddr, &t->sport);
	read_address(&event->chunk->dest, &t->family, t->daddr, &t->dport);
}

static struct netwarp_arrival begin(const struct sock *sk)
{
	return (struct netwarp_arrival) {
		.type = NETWARP_ARRIVAL, .size = sizeof(struct netwarp_arrival),
		.time_ns = netwarp_record_time(),
		.netns = netwarp_netns(sk), .owner = sk->sk_netwarp_owner,
		.tuple.protocol = sk->sk_protocol,
	};
}

static void emit(const struct netwarp_arrival *a)
{
	if (netwarp_arrivals && (a->bytes || a->in_order))
		netwarp_emit(a, sizeof(*a));
}

void __netwarp_tcp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
	struct netwarp_arrival a = begin(sk);

	a.tuple.protocol = IPPROTO_TCP;	/* a subflow's socket may call itself one of Multipath TCP */
	a.seq = cb->seq;
	a.rcv_nxt = tcp_sk(sk)->rcv_nxt;
	a.bytes = cb->end_seq - cb->seq - !!(cb->tcp_flags & TCPHDR_FIN);
	read_headers(skb, &a.tuple);
	emit(&a);
}

void __netwarp_udp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
	struct netwarp_arrival a = begin(sk);

	a.bytes = skb->len;
	a.in_order = skb->len;
	read_headers(skb, &a.tuple);
	emit(&a);
}

void __netwarp_sctp_arrived(const struct sock *sk, const struct sctp_ulpevent *event)
{
	struct netwarp_arrival a = begin(sk);

	a.bytes = sctp_event2skb(event)->len;
	read_event(event, &a.tuple);
	emit(&a);
}

void __netwarp_sctp_in_order(const struct sock *sk, const struct sk_buff_head *events)
{
	struct netwarp_arrival a = begin(sk);
	struct sk_buff *skb;

	skb_queue_walk(events, skb) {
		if (sctp_ulpevent_is_notification(sctp_skb2event(skb)))
			return;
		read_event(sctp_skb2event(skb), &a.tuple);
		a.in_order += skb->len;
	}
	emit(&a);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: payload that reached the socket it was sent to. See include/linux/netwarp.h.
 *
 * A sender learns of it a good while later, and all at once after a repair: what a cumulative ACK acknowledges was
 * delivered at other times. Here is the receiver itself, behind its checksum and before anything merges segments.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netwarp.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/tcp.h>
#include <netwarp_record.h>

bool netwarp_arrivals;

/* In the data's direction; TCP and UDP have their ports in one place. */
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

static void arrived(const struct sock *sk, const struct sk_buff *skb, u8 protocol, u32 bytes, u32 seq, u32 rcv_nxt)
{
	struct netwarp_arrival a = {
		.type = NETWARP_ARRIVAL, .size = sizeof(a), .bytes = bytes,
		.time_ns = netwarp_record_time(), .seq = seq, .rcv_nxt = rcv_nxt,
		.netns = netwarp_netns(sk), .owner = sk->sk_netwarp_owner,
	};

	if (!netwarp_arrivals || !bytes)
		return;
	a.tuple.protocol = protocol;
	read_headers(skb, &a.tuple);
	memcpy(netwarp_reserve(sizeof(a)), &a, sizeof(a));
	netwarp_commit();
}

void __netwarp_tcp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
	u32 bytes = cb->end_seq - cb->seq - !!(cb->tcp_flags & TCPHDR_FIN);

	arrived(sk, skb, IPPROTO_TCP, bytes, cb->seq, tcp_sk(sk)->rcv_nxt);
}

void __netwarp_udp_arrived(const struct sock *sk, const struct sk_buff *skb)
{
	arrived(sk, skb, IPPROTO_UDP, skb->len, 0, 0);
}

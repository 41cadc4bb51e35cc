// SPDX-License-Identifier: GPL-2.0
/* netwarp: whose a packet is. */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netwarp.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <netwarp_record.h>

static void read_ports(const struct sk_buff *skb, int offset, struct netwarp_tuple *t)
{
	__be16 ports[4], *p;

	p = skb_header_pointer(skb, offset, sizeof(ports), ports);
	if (!p)
		return;
	switch (t->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_SCTP:
	case IPPROTO_DCCP:
		t->sport = ntohs(p[0]);
		t->dport = ntohs(p[1]);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		t->sport = ntohs(p[2]);
		break;
	}
}

void netwarp_read_tuple(const struct sk_buff *skb, struct netwarp_tuple *t)
{
	int offset = skb_network_offset(skb);

	memset(t, 0, sizeof(*t));
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr buf, *ip = skb_header_pointer(skb, offset, sizeof(buf), &buf);

		if (!ip)
			return;
		t->family = 4;
		t->protocol = ip->protocol;
		t->tos = ip->tos;
		memcpy(t->saddr, &ip->saddr, 4);
		memcpy(t->daddr, &ip->daddr, 4);
		if (!(ip->frag_off & htons(IP_OFFSET)))
			read_ports(skb, offset + ip->ihl * 4, t);
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr buf, *ip = skb_header_pointer(skb, offset, sizeof(buf), &buf);
		__be16 frag_off;
		u8 next;
		int at;

		if (!ip)
			return;
		t->family = 6;
		t->tos = ipv6_get_dsfield(ip);
		memcpy(t->saddr, &ip->saddr, 16);
		memcpy(t->daddr, &ip->daddr, 16);
		next = ip->nexthdr;
		at = ipv6_skip_exthdr(skb, offset + sizeof(buf), &next, &frag_off);
		t->protocol = next;
		if (at >= 0 && !(frag_off & htons(0xfff8)))
			read_ports(skb, at, t);
	}
}

unsigned char netwarp_read_tos(const struct sk_buff *skb)
{
	int offset = skb_network_offset(skb);

	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr buf, *ip = skb_header_pointer(skb, offset, sizeof(buf), &buf);

		return ip ? ip->tos : 0;
	}
	if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr buf, *ip = skb_header_pointer(skb, offset, sizeof(buf), &buf);

		return ip ? ipv6_get_dsfield(ip) : 0;
	}
	return 0;
}

void netwarp_read_socket(const struct sock *sk, struct netwarp_tuple *t)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(t, 0, sizeof(*t));
	t->protocol = sk->sk_protocol;
	t->sport = ntohs(inet->inet_sport);
	t->dport = ntohs(inet->inet_dport);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		t->family = 6;
		memcpy(t->saddr, &sk->sk_v6_rcv_saddr, 16);
		memcpy(t->daddr, &sk->sk_v6_daddr, 16);
		return;
	}
#endif
	t->family = 4;
	memcpy(t->saddr, &inet->inet_rcv_saddr, 4);
	memcpy(t->daddr, &inet->inet_daddr, 4);
}

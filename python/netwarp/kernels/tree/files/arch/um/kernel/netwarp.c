// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the recorder. See include/linux/netwarp.h for what it writes.
 *
 * /proc/netwarp takes lines:
 *   interface <ifindex>	record this interface's root queue
 *   acks			record every processed ACK
 *   arrivals			record all payload that reaches a socket
 *   start			begin to record
 *   stop			end, and hand everything over
 */
#include <linux/bitmap.h>
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/netwarp.h>
#include <linux/proc_fs.h>
#include <linux/skbuff.h>
#include <linux/sock_diag.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include <trace/events/qdisc.h>
#include <trace/events/skb.h>
#include <netwarp_os.h>
#include <netwarp_record.h>

#define INTERFACES	65536
#define BUFFER_BYTES	(256 * 1024)

bool netwarp_recording;

static bool netwarp_acks;
static bool watching;
static DECLARE_BITMAP(watched, INTERFACES);
static u8 buffer[BUFFER_BYTES] __aligned(8);
static unsigned int used;
static unsigned long reserved_flags;
static int record_fd = -1;
static u64 boot_offset;		/* of CLOCK_MONOTONIC, from virtual time */

unsigned long long netwarp_record_time(void)
{
	/* Not ktime_get(): recording must not even read the clock. */
	return netwarp_now() - boot_offset;
}

static bool is_watched(const struct net_device *dev)
{
	return dev && dev->ifindex < INTERFACES && test_bit(dev->ifindex, watched);
}

static void flush(void)
{
	int err = 0;

	if (used)
		err = netwarp_write_all(record_fd, buffer, used);
	used = 0;
	if (err)
		panic("netwarp: the stream of records broke: error %d", err);
}

unsigned char *netwarp_reserve(unsigned int size)
{
	unsigned char *room;
	unsigned long flags;

	local_irq_save(flags);
	reserved_flags = flags;
	if (used + size > BUFFER_BYTES)
		flush();
	room = buffer + used;
	used += size;
	return room;
}

void netwarp_commit(void)
{
	local_irq_restore(reserved_flags);
}

static void emit(const void *record, unsigned int size)
{
	memcpy(netwarp_reserve(size), record, size);
	netwarp_commit();
}

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

static void read_tuple(const struct sk_buff *skb, struct netwarp_tuple *t)
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

static u8 read_tos(const struct sk_buff *skb)
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

void __netwarp_packet(const struct sk_buff *skb, struct netwarp_enqueue *e)
{
	if (!is_watched(skb->dev))
		return;
	memset(e, 0, sizeof(*e));
	e->type = NETWARP_ENQUEUE;
	e->size = sizeof(*e);
	e->ifindex = skb->dev->ifindex;
	e->time_ns = netwarp_record_time();
	e->skb = (unsigned long)skb;
	e->bytes = skb->len;
	read_tuple(skb, &e->tuple);
}

void __netwarp_enqueued(struct netwarp_enqueue *e, const struct Qdisc *q, int verdict)
{
	e->qlen = qdisc_qlen_sum(q);
	e->backlog = q->qstats.backlog;
	e->tuple.verdict = verdict;
	emit(e, sizeof(*e));
}

static void dequeued(const struct sk_buff *skb, const struct Qdisc *q, u32 ifindex)
{
	struct netwarp_dequeue d = {
		.type = NETWARP_DEQUEUE, .size = sizeof(d), .ifindex = ifindex,
		.time_ns = netwarp_record_time(), .skb = (unsigned long)skb,
		.qlen = qdisc_qlen_sum(q), .backlog = q->qstats.backlog, .tos = read_tos(skb),
	};

	emit(&d, sizeof(d));
}

void __netwarp_bypassed(const struct sk_buff *skb, const struct Qdisc *q)
{
	struct netwarp_enqueue e = {};

	__netwarp_packet(skb, &e);
	if (!e.type)
		return;
	e.qlen = 1;
	e.backlog = skb->len;
	emit(&e, sizeof(e));
	dequeued(skb, q, e.ifindex);
}

static void on_dequeue(void *data, struct Qdisc *q, const struct netdev_queue *txq,
		       int packets, struct sk_buff *skb)
{
	if (!netwarp_recording || !skb || !is_watched(txq->dev))
		return;
	for (; skb && packets > 0; skb = skb->next, packets--)
		dequeued(skb, q, txq->dev->ifindex);
}

static void on_free(void *data, struct sk_buff *skb, void *location,
		    enum skb_drop_reason reason, struct sock *rx_sk)
{
	struct netwarp_free f = {
		.type = NETWARP_FREE, .size = sizeof(f), .reason = reason,
		.time_ns = netwarp_record_time(), .skb = (unsigned long)skb,
	};

	/*
	 * Every packet that ends this way, few as they are: skb->dev cannot be
	 * asked, in a UDP receive queue it is no device (dev_scratch). Who
	 * reads the records knows which packets were in a queue.
	 */
	if (netwarp_recording && watching)
		emit(&f, sizeof(f));
}

static void read_socket(const struct sock *sk, struct netwarp_tuple *t)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(t, 0, sizeof(*t));
	t->protocol = IPPROTO_TCP;
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

/* BBR tells its model through the same door that `ss -i` uses. */
static void read_bbr(struct sock *sk, struct netwarp_ack *a)
{
	const struct tcp_congestion_ops *ca = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info;
	int attr = 0;

	if (!ca->get_info || !ca->get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info) ||
	    attr != INET_DIAG_BBRINFO)
		return;
	a->has_bbr = 1;
	a->bbr_bw = ((u64)info.bbr.bbr_bw_hi << 32) | info.bbr.bbr_bw_lo;
	a->bbr_pacing_gain = info.bbr.bbr_pacing_gain;
	a->bbr_cwnd_gain = info.bbr.bbr_cwnd_gain;
}

void __netwarp_acked(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct netwarp_ack a = {
		.type = NETWARP_ACK, .size = sizeof(a), .time_ns = netwarp_record_time(),
		.cookie = sock_gen_cookie(sk), .rtt_us = rs->rtt_us,
		.bytes_acked = tp->bytes_acked,
		.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
		.snd_cwnd = tcp_snd_cwnd(tp), .snd_ssthresh = tp->snd_ssthresh,
		.srtt_us = tp->srtt_us >> 3, .rttvar_us = tp->mdev_us >> 2,
		.min_rtt_us = tcp_min_rtt(tp),
		.in_flight = tcp_packets_in_flight(tp), .lost = tp->lost_out,
		.retrans_out = tp->retrans_out, .total_retrans = tp->total_retrans,
		.delivered = tp->delivered, .delivered_ce = tp->delivered_ce,
		.snd_wnd = tp->snd_wnd, .rcv_wnd = tp->rcv_wnd, .mss = tp->mss_cache,
		.ca_state = inet_csk(sk)->icsk_ca_state, .app_limited = !!tp->app_limited,
	};

	if (!netwarp_acks)
		return;
	read_socket(sk, &a.tuple);
	read_bbr(sk, &a);
	emit(&a, sizeof(a));
}

static int command(char *line)
{
	unsigned long flags;
	unsigned int index;

	if (sscanf(line, "interface %u", &index) == 1 && index < INTERFACES) {
		set_bit(index, watched);
		watching = true;
	} else if (!strcmp(line, "acks")) {
		netwarp_acks = true;
	} else if (!strcmp(line, "arrivals")) {
		netwarp_arrivals = true;
	} else if (!strcmp(line, "start")) {
		if (record_fd < 0)
			return -ENODEV;
		netwarp_recording = true;
	} else if (!strcmp(line, "stop")) {
		netwarp_recording = false;
		local_irq_save(flags);
		flush();
		local_irq_restore(flags);
	} else {
		return -EINVAL;
	}
	return 0;
}

static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *text, *rest, *line;
	int err = 0;

	if (size > PAGE_SIZE * 16)
		return -E2BIG;
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	while (!err && (line = strsep(&rest, "\n")))
		if (*line)
			err = command(line);
	kfree(text);
	return err ? err : size;
}

static const struct proc_ops netwarp_proc = { .proc_write = on_write };

static int __init netwarp_init(void)
{
	record_fd = netwarp_record_fd();
	boot_offset = netwarp_now() - ktime_get_ns();
	if (!proc_create("netwarp", 0200, NULL, &netwarp_proc))
		return -ENOMEM;
	return register_trace_qdisc_dequeue(on_dequeue, NULL) ?:
	       register_trace_kfree_skb(on_free, NULL);
}
late_initcall(netwarp_init);

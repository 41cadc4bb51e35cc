// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the recorder. See include/linux/netwarp.h for what it writes.
 *
 * /proc/netwarp takes lines:
 *   interface <ifindex>	record this interface: its root queue, and what passes it
 *   acks			record every processed ACK
 *   arrivals			record all payload that reaches a socket
 *   network			record what namespaces and interfaces there are, whoever makes them
 *   everything			likewise, and record all these interfaces
 *   rate <bit/s>		of links that nobody gives another: see sch_line.c
 *   owner <number>		for whom what this thread starts from now on runs
 *   start			begin to record
 *   stop			end, and hand everything over
 */
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/netwarp.h>
#include <linux/proc_fs.h>
#include <linux/sock_diag.h>
#include <linux/uaccess.h>
#include <net/tcp.h>
#include <netwarp_os.h>
#include <netwarp_record.h>

#define BUFFER_BYTES	(256 * 1024)

bool netwarp_recording;

static bool netwarp_acks;
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

void netwarp_emit(const void *record, unsigned int size)
{
	memcpy(netwarp_reserve(size), record, size);
	netwarp_commit();
}

void netwarp_emit_with(void *record, unsigned int size, const void *more, unsigned int length)
{
	unsigned int padded = ALIGN(length, 8);
	u8 *room;

	((u16 *)record)[1] = size + padded;
	room = netwarp_reserve(size + padded);
	memcpy(room, record, size);
	memcpy(room + size, more, length);
	memset(room + size + length, 0, padded - length);
	netwarp_commit();
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

/* Nothing is sent then until a timer fires, and nothing else says why. */
static void check_window(const struct sock *sk)
{
	const struct tcp_congestion_ops *ca = inet_csk(sk)->icsk_ca_ops;

	if (likely(tcp_snd_cwnd(tcp_sk(sk))))
		return;
	pr_warn_once("BUG: the congestion control %s has set a window of 0 packets: %pS\n", ca->name,
		     ca->cong_control ? (void *)ca->cong_control : (void *)ca->cong_avoid);
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
		.netns = netwarp_netns(sk), .owner = sk->sk_netwarp_owner,
	};

	check_window(sk);
	if (!netwarp_acks)
		return;
	netwarp_read_socket(sk, &a.tuple);
	read_bbr(sk, &a);
	netwarp_emit(&a, sizeof(a));
	netwarp_emit_state(sk, a.time_ns, &a.tuple);
	if (unlikely(netwarp_probing))
		__netwarp_probe(sk, &a);
}

static int command(char *line)
{
	unsigned long flags;
	unsigned int index;
	u64 rate;

	if (sscanf(line, "interface %u", &index) == 1) {
		return netwarp_watch(index);
	} else if (!strcmp(line, "acks")) {
		netwarp_acks = true;
	} else if (!strcmp(line, "arrivals")) {
		netwarp_arrivals = true;
	} else if (!strcmp(line, "network")) {
		return netwarp_record_network(false);
	} else if (!strcmp(line, "everything")) {
		return netwarp_record_network(true);
	} else if (sscanf(line, "rate %llu", &rate) == 1) {
		netwarp_rate = rate;
	} else if (sscanf(line, "owner %u", &current->thread.netwarp.owner) == 1) {
		return 0;
	} else if (!strcmp(line, "start")) {
		if (record_fd < 0)
			return -ENODEV;
		netwarp_recording = true;
	} else if (!strcmp(line, "stop")) {
		if (netwarp_recording) {
			netwarp_emit_interfaces();
			netwarp_emit_counts();
		}
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
	return 0;
}
late_initcall(netwarp_init);

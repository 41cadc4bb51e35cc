// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: /proc/netwarp_probe, conditions on the state of senders.
 *
 * An open file takes one line, `<sport> <dport> <variable> <relation> <value>`,
 * and becomes readable at the first ACK of that connection after which the
 * condition holds; reading it gives the time of that ACK. The variables are columns
 * of acks.arrows, and what the connection's congestion control exports
 * (netwarp_state.c).
 */
#include <linux/init.h>
#include <linux/list.h>
#include <linux/netwarp.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <net/tcp.h>
#include <netwarp_record.h>

#define LINE_BYTES	160
#define NAME_BYTES	64

bool netwarp_probing;

struct probe {
	struct list_head waiting;	/* empty: not set, or it has held */
	wait_queue_head_t wait;
	u16 sport, dport;
	char variable[NAME_BYTES];
	char relation[3];
	s64 value;
	u64 held_ns;			/* 0: not yet */
};

static LIST_HEAD(probes);
static DEFINE_SPINLOCK(lock);

#define PROBED(column, field, times_) {							\
	.name = column, .offset = offsetof(struct netwarp_ack, field),			\
	.size = sizeof_field(struct netwarp_ack, field), .times = times_,			\
}

/* Columns of acks.arrows, in their units; rates are in bytes/s here. */
static const struct {
	const char *name;
	unsigned int offset, size, times;
} probed[] = {
	PROBED("bytes_acked", bytes_acked, 1),
	PROBED("snd_cwnd_pkts", snd_cwnd, 1),
	PROBED("snd_ssthresh_pkts", snd_ssthresh, 1),
	PROBED("rtt_us", rtt_us, 1),
	PROBED("srtt_us", srtt_us, 1),
	PROBED("rttvar_us", rttvar_us, 1),
	PROBED("min_rtt_us", min_rtt_us, 1),
	PROBED("in_flight_pkts", in_flight, 1),
	PROBED("lost_pkts", lost, 1),
	PROBED("retrans_out_pkts", retrans_out, 1),
	PROBED("retransmits", total_retrans, 1),
	PROBED("delivered_pkts", delivered, 1),
	PROBED("delivered_ce_pkts", delivered_ce, 1),
	PROBED("ca_state", ca_state, 1),
	PROBED("pacing_rate_bps", pacing_rate, 8),
	PROBED("bbr_bw_bps", bbr_bw, 8),
	PROBED("bbr_pacing_gain", bbr_pacing_gain, 1),
	PROBED("bbr_cwnd_gain", bbr_cwnd_gain, 1),
};

/* Like an absent value of that column: not BBR, an ACK without an RTT sample, no pacing. */
static bool is_absent(const struct netwarp_ack *a, const char *name)
{
	return (!a->has_bbr && !strncmp(name, "bbr_", 4)) || (a->rtt_us < 0 && !strcmp(name, "rtt_us")) ||
	       (a->pacing_rate == ~0ULL && !strcmp(name, "pacing_rate_bps"));
}

static bool read_variable(struct sock *sk, const struct netwarp_ack *a, const char *name, s64 *value)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probed); i++) {
		const void *at = (const void *)a + probed[i].offset;

		if (strcmp(name, probed[i].name))
			continue;
		if (is_absent(a, name))
			return false;
		*value = probed[i].size == 8 ? *(const u64 *)at : probed[i].size == 4 ? *(const u32 *)at :
			 probed[i].size == 2 ? *(const u16 *)at : *(const u8 *)at;
		*value *= probed[i].times;
		return true;
	}
	return netwarp_read_exported(sk, name, value);
}

static bool relates(s64 value, const char *relation, s64 other)
{
	bool equal = value == other;

	switch (relation[0]) {
	case '<':
		return value < other || (relation[1] && equal);
	case '>':
		return value > other || (relation[1] && equal);
	case '!':
		return !equal;
	}
	return equal;
}

void __netwarp_probe(struct sock *sk, const struct netwarp_ack *a)
{
	struct probe *p, *next;
	unsigned long flags;
	s64 value;

	spin_lock_irqsave(&lock, flags);
	list_for_each_entry_safe(p, next, &probes, waiting) {
		if (p->sport != a->tuple.sport || p->dport != a->tuple.dport ||
		    !read_variable(sk, a, p->variable, &value) || !relates(value, p->relation, p->value))
			continue;
		list_del_init(&p->waiting);
		p->held_ns = a->time_ns;
		wake_up_interruptible(&p->wait);
	}
	netwarp_probing = !list_empty(&probes);
	spin_unlock_irqrestore(&lock, flags);
}

static int on_open(struct inode *inode, struct file *file)
{
	struct probe *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	INIT_LIST_HEAD(&p->waiting);
	init_waitqueue_head(&p->wait);
	file->private_data = p;
	return 0;
}

static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct probe *p = file->private_data;
	char line[LINE_BYTES] = "";

	if (p->sport)
		return -EBUSY;
	if (size >= sizeof(line))
		return -E2BIG;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	if (sscanf(line, "%hu %hu %63s %2s %lld", &p->sport, &p->dport, p->variable, p->relation, &p->value) != 5)
		return -EINVAL;
	spin_lock_irq(&lock);
	list_add_tail(&p->waiting, &probes);
	netwarp_probing = true;
	spin_unlock_irq(&lock);
	return size;
}

static ssize_t on_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct probe *p = file->private_data;
	char text[24];
	int err;

	err = wait_event_interruptible(p->wait, READ_ONCE(p->held_ns));
	if (err)
		return err;
	return simple_read_from_buffer(to, size, at, text, scnprintf(text, sizeof(text), "%llu\n", p->held_ns));
}

static __poll_t on_poll(struct file *file, poll_table *table)
{
	struct probe *p = file->private_data;

	poll_wait(file, &p->wait, table);
	return READ_ONCE(p->held_ns) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int on_release(struct inode *inode, struct file *file)
{
	struct probe *p = file->private_data;

	spin_lock_irq(&lock);
	list_del(&p->waiting);
	netwarp_probing = !list_empty(&probes);
	spin_unlock_irq(&lock);
	kfree(p);
	return 0;
}

static const struct proc_ops probe_proc = {
	.proc_open = on_open, .proc_write = on_write, .proc_read = on_read, .proc_poll = on_poll,
	.proc_release = on_release, .proc_lseek = noop_llseek,
};

static int __init netwarp_probe_init(void)
{
	return proc_create("netwarp_probe", 0600, NULL, &probe_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_probe_init);
